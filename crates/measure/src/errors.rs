//! Error replies: how many of each kind, and a few in full. Bounded, whatever a server answers.

/// Error replies by kind, and the first texts in full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    by_kind: Vec<(String, u64)>,
    examples: Vec<String>,
}

/// Texts kept in full.
const EXAMPLES_MAX: usize = 5;
/// Kinds of errors that are counted separately; the rest is counted as one kind.
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

    /// Counts as they were saved. Beyond the bounds on kinds and texts the rest is put together, as
    /// when they are counted one by one.
    #[must_use]
    pub fn restore(by_kind: Vec<(String, u64)>, examples: Vec<String>) -> Self {
        let mut restored = Self::default();
        restored.merge(&Self { by_kind, examples });
        restored
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

    /// Those of a kind.
    #[must_use]
    pub fn of_kind(&self, kind: &str) -> u64 {
        self.by_kind.iter().find(|(known, _)| known == kind).map_or(0, |(_, n)| *n)
    }

    /// All errors.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_kind.iter().fold(0, |sum: u64, (_, n)| sum.saturating_add(*n))
    }

    /// Kinds and their counts, in the order in which they first came.
    #[must_use]
    pub fn by_kind(&self) -> &[(String, u64)] {
        &self.by_kind
    }

    /// The first few different texts, unescaped.
    #[must_use]
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
