//! Error replies: the number of each kind, and the first texts in full. Bounded, whatever a server answers.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Error replies by kind, and the first texts in full.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "SavedErrors")]
pub struct ErrorCounts {
    by_kind: Vec<(String, u64)>,
    examples: Vec<String>,
}

/// Texts kept in full.
const EXAMPLES_MAX: usize = 5;
/// Kinds of errors that are counted separately; all others count as one kind.
const KINDS_MAX: usize = 64;
const OTHER: &str = "other";

impl ErrorCounts {
    /// Counts one error reply of this kind (`WRONGTYPE`, `OOM`, …) with this text.
    pub fn add(&mut self, kind: &str, text: &str) {
        if self.examples.len() < EXAMPLES_MAX && !self.examples.iter().any(|e| e == text) {
            self.examples.push(text.to_owned());
        }
        self.add_n(kind, 1);
    }

    fn add_n(&mut self, kind: &str, count: u64) {
        if let Some((_, n)) = self.by_kind.iter_mut().find(|(k, _)| k == kind) {
            *n = n.saturating_add(count);
        } else if self.by_kind.len() < KINDS_MAX || kind == OTHER {
            self.by_kind.push((kind.to_owned(), count));
        } else {
            self.add_n(OTHER, count);
        }
    }

    /// Returns the number of errors of a kind.
    pub fn of_kind(&self, kind: &str) -> u64 {
        self.by_kind.iter().find(|(known, _)| known == kind).map_or(0, |(_, n)| *n)
    }

    /// All errors.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().fold(0, |sum: u64, (_, n)| sum.saturating_add(*n))
    }

    /// Kinds and their counts, in order of first occurrence.
    pub fn by_kind(&self) -> &[(String, u64)] {
        &self.by_kind
    }

    /// The first few different texts, unescaped.
    pub fn examples(&self) -> &[String] {
        &self.examples
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { by_kind, examples } = other;
        by_kind.iter().for_each(|(kind, n)| self.add_n(kind, *n));
        for text in examples {
            if self.examples.len() < EXAMPLES_MAX && !self.examples.contains(text) {
                self.examples.push(text.clone());
            }
        }
    }
}

/// Error counts in documents: the number of each kind, in order of first occurrence.
#[derive(Deserialize)]
struct SavedErrors {
    #[serde(deserialize_with = "in_order")]
    by_kind: Vec<(String, u64)>,
    #[serde(default)]
    examples: Vec<String>,
}

impl From<SavedErrors> for ErrorCounts {
    fn from(SavedErrors { by_kind, examples }: SavedErrors) -> Self {
        let mut counts = Self::default();
        counts.merge(&Self { by_kind, examples });
        counts
    }
}

impl Serialize for ErrorCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct ByKind<'c>(&'c [(String, u64)]);
        impl Serialize for ByKind<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(kind, count)| (kind, count)))
            }
        }
        let mut fields = serializer.serialize_struct("ErrorCounts", 3)?;
        fields.serialize_field("total", &self.total())?;
        fields.serialize_field("by_kind", &ByKind(&self.by_kind))?;
        fields.serialize_field("examples", &self.examples)?;
        fields.end()
    }
}

fn in_order<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<(String, u64)>, D::Error> {
    struct Kinds;
    impl<'de> Visitor<'de> for Kinds {
        type Value = Vec<(String, u64)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of counts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut kinds = Vec::new();
            while let Some(entry) = entries.next_entry()? {
                kinds.push(entry);
            }
            Ok(kinds)
        }
    }
    source.deserialize_map(Kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_error_kinds_is_bounded() {
        let mut errors = ErrorCounts::default();
        (0..1000).for_each(|n| errors.add(&format!("KIND{n}"), &format!("text {n}")));
        assert_eq!(errors.total(), 1000);
        assert!(errors.by_kind().len() <= KINDS_MAX + 1);
        assert_eq!(errors.examples().len(), EXAMPLES_MAX);
    }
}
