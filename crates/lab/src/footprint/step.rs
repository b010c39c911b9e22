//! Sizes at which a server changes the encoding of a growing key.

use serde::{Deserialize, Serialize};

use super::{Item, Type};

/// Dimension in which an item grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// The number of elements.
    Elements,
    /// Bytes of an element.
    Bytes,
}

/// A key that grows from 1 until its encoding changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Item before it grows.
    pub item: Item,
    /// Dimension that grows.
    pub axis: Axis,
    /// Settings of servers that decide on it: the first one that a server has counts.
    pub settings: &'static [&'static str],
}

impl Growth {
    /// The item at a length.
    pub fn at(&self, length: u32) -> Item {
        match self.axis {
            Axis::Elements => Item { elements: length, ..self.item },
            Axis::Bytes => Item { size: Some(length), ..self.item },
        }
    }

    /// Describes the growth.
    pub fn describe(&self) -> String {
        let Item { of, size, .. } = self.item;
        let name = Item { elements: 1, size: Some(1), of, expires: false }.to_string();
        let name = name.split(':').next().unwrap_or_default().to_owned();
        match (self.axis, size) {
            (Axis::Elements, None) => format!("{name} of integers"),
            (Axis::Elements, Some(size)) => format!("{name}, elements of {size} bytes"),
            (Axis::Bytes, _) if of == Type::String => format!("{name}, bytes"),
            (Axis::Bytes, _) => format!("{name}, bytes of one element"),
        }
    }
}

/// All measured kinds of growth.
pub fn growths() -> Vec<Growth> {
    let growth = |of, size, axis, settings| Growth {
        item: Item { of, elements: 1, size, expires: false },
        axis,
        settings,
    };
    // Long enough to differ however many there are, short enough for any limit.
    let member = Some(8);
    vec![
        growth(Type::String, Some(1), Axis::Bytes, &[]),
        growth(
            Type::Hash,
            member,
            Axis::Elements,
            &["hash-max-listpack-entries", "hash-max-ziplist-entries"],
        ),
        growth(
            Type::Hash,
            Some(1),
            Axis::Bytes,
            &["hash-max-listpack-value", "hash-max-ziplist-value"],
        ),
        growth(
            Type::List,
            member,
            Axis::Elements,
            &["list-max-listpack-size", "list-max-ziplist-size"],
        ),
        growth(Type::Set, None, Axis::Elements, &["set-max-intset-entries"]),
        growth(Type::Set, member, Axis::Elements, &["set-max-listpack-entries"]),
        growth(Type::Set, Some(2), Axis::Bytes, &["set-max-listpack-value"]),
        growth(
            Type::Zset,
            member,
            Axis::Elements,
            &["zset-max-listpack-entries", "zset-max-ziplist-entries"],
        ),
        growth(
            Type::Zset,
            Some(2),
            Axis::Bytes,
            &["zset-max-listpack-value", "zset-max-ziplist-value"],
        ),
    ]
}

/// A change of encoding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStep {
    /// Number of the server.
    pub server: usize,
    /// Growth, in words.
    pub growth: String,
    /// Dimension of the growth.
    pub axis: Axis,
    /// The encoding up to the step.
    pub from: String,
    /// The encoding after the step.
    pub to: String,
    /// The greatest length with the first encoding.
    pub last: u32,
    /// The setting that decides on it, and its value.
    pub setting: Option<(String, String)>,
    /// `MEMORY USAGE` of a key of that length, and of one that is longer by one.
    pub bytes: Option<[u64; 2]>,
}

/// The last length with the encoding of `low`, if one up to `high` has another: doubles, then halves.
/// `encoding` stores a key of a length and returns its encoding.
///
/// # Errors
/// Returns the errors of `encoding`.
pub fn last_before_step<E>(
    low: u32,
    high: u32,
    encoding: &mut dyn FnMut(u32) -> Result<String, E>,
) -> Result<Option<(u32, String, String)>, E> {
    let first = encoding(low)?;
    let (mut same, mut other) = (low, None);
    while other.is_none() && same < high {
        let next = same.saturating_mul(2).min(high);
        let found = encoding(next)?;
        if found == first {
            same = next;
        } else {
            other = Some((next, found));
        }
    }
    let Some((mut differs, mut to)) = other else { return Ok(None) };
    while differs - same > 1 {
        let middle = same + (differs - same) / 2;
        let found = encoding(middle)?;
        if found == first {
            same = middle;
        } else {
            (differs, to) = (middle, found);
        }
    }
    Ok(Some((same, first, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_wherever_it_is() {
        for limit in [1, 2, 3, 64, 127, 128, 129, 511, 512] {
            let mut asked = 0;
            let mut encoding = |length: u32| {
                asked += 1;
                Ok::<_, ()>(if length <= limit { "listpack" } else { "hashtable" }.to_owned())
            };
            let found = last_before_step(1, 1024, &mut encoding).unwrap().unwrap();
            assert_eq!(found, (limit, "listpack".to_owned(), "hashtable".to_owned()));
            assert!(asked < 24, "{asked}");
        }
        let mut flat = |_| Ok::<_, ()>("quicklist".to_owned());
        assert_eq!(last_before_step(1, 1000, &mut flat), Ok(None));
    }

    #[test]
    fn every_length_has_its_item() {
        for growth in growths() {
            let item = growth.at(20);
            let text = item.to_string();
            assert_eq!(Item::parse(&text), Ok(item), "{text}: {}", growth.describe());
        }
    }
}
