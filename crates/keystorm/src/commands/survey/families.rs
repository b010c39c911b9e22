//! Shapes of the keys that plans write: their names, derived from a plan before it runs.

use workload::argument::{TAG_PLACEHOLDER, placeholder};
use workload::{Arg, Piece, Plan};

/// Keys of one shape.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Family(Vec<Part>);

/// A stretch of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text(Vec<u8>),
    /// A number below this one, with a fixed number of digits.
    Number {
        below: u64,
        digits: usize,
    },
    /// `{tag}`, with its replacement in a cluster.
    Tag,
}

impl Family {
    /// The keys of an argument; `None` if the plan alone does not determine them.
    pub(super) fn from_key(key: &Arg, plan: &Plan) -> Option<Self> {
        let mut parts: Vec<Part> = Vec::new();
        for piece in &key.pieces {
            let part = match (piece, plan.data.keys.range) {
                (Piece::Bytes(bytes), _) => Part::Text(bytes.clone()),
                (Piece::Number(slot), None) => Part::Text(placeholder(*slot).as_bytes().to_vec()),
                (Piece::Number(_), Some(range)) if !parts.iter().any(Part::is_number) => {
                    Part::Number { below: range.max(1), digits: plan.data.keys.digits() }
                }
                (Piece::Tag, _) => Part::Tag,
                _ => return None,
            };
            match (parts.last_mut(), part) {
                (Some(Part::Text(text)), Part::Text(more)) => text.extend(more),
                (_, part) => parts.push(part),
            }
        }
        Some(Self(parts))
    }

    /// Returns whether all keys of `other` are among these.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let covers = |(ours, theirs): (&Part, &Part)| match (ours, theirs) {
            (Part::Number { below, digits }, Part::Number { below: b, digits: d }) => {
                below >= b && digits == d
            }
            _ => ours == theirs,
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(covers)
    }

    /// Returns the number of keys; those that differ only in their tag count once.
    pub(super) fn count(&self) -> u64 {
        let numbers = self.0.iter().map(|part| match part {
            Part::Number { below, .. } => *below,
            Part::Text(_) | Part::Tag => 1,
        });
        numbers.product()
    }

    /// Returns whether the tag differs from key to key.
    pub(super) fn has_tags(&self) -> bool {
        self.0.contains(&Part::Tag)
    }

    /// The key with this number.
    pub(super) fn key(&self, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => key.extend_from_slice(text),
                Part::Number { digits, .. } => {
                    key.extend_from_slice(format!("{number:0digits$}").as_bytes());
                }
                Part::Tag => key.extend_from_slice(TAG_PLACEHOLDER),
            }
        }
        key
    }

    /// Returns whether a key has this shape.
    pub(super) fn matches(&self, key: &[u8]) -> bool {
        let rest = self.0.iter().try_fold(key, |rest, part| match part {
            Part::Text(text) => rest.strip_prefix(text.as_slice()),
            Part::Number { below, digits } => {
                let (number, rest) = rest.split_at_checked(*digits)?;
                let number: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
                (number < *below).then_some(rest)
            }
            Part::Tag => {
                let (tag, rest) = rest.split_at_checked(TAG_PLACEHOLDER.len())?;
                (tag[0] == b'{' && tag.ends_with(b"}")).then_some(rest)
            }
        });
        rest.is_some_and(<[u8]>::is_empty)
    }

    /// Describes the keys for a person: the key, or the first and the last.
    pub(super) fn describe(&self) -> String {
        let key = |number| String::from_utf8_lossy(&self.key(number)).into_owned();
        match self.count() {
            1 => key(0),
            count => format!("{} to {}", key(0), key(count - 1)),
        }
    }
}

impl Part {
    fn is_number(&self) -> bool {
        matches!(self, Self::Number { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family() -> Family {
        let (below, digits) = (1000, 12);
        Family(vec![Part::Text(b"key:".to_vec()), Part::Tag, Part::Number { below, digits }])
    }

    #[test]
    fn a_key_has_the_shape_it_was_made_of() {
        let family = family();
        assert_eq!(family.describe(), "key:{tag}000000000000 to key:{tag}000000000999");
        assert!(family.matches(&family.key(999)) && family.matches(b"key:{0aZ}000000000007"));
        for other in [
            "key:{0aZ}000000001000",
            "key:{0aZ}00000000007",
            "key:{0aZ}0000000000070",
            "key:(0aZ)000000000007",
            "key:",
            "",
        ] {
            assert!(!family.matches(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_larger_range_covers_a_smaller() {
        let mut larger = family();
        larger.0[2] = Part::Number { below: 1001, digits: 12 };
        assert!(larger.covers(&family()) && !family().covers(&larger));
        assert!(family().covers(&family()));
        assert!(!larger.covers(&Family(vec![Part::Text(b"key:".to_vec())])));
    }
}
