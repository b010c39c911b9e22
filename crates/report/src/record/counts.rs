//! Counts in a saved run: errors of each kind, hits and misses, and keys that were asked for.

use std::fmt;

use measure::{ErrorCounts, KeyCounts};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Lookups;

/// Error replies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ErrorRecord {
    total: u64,
    by_kind: ByKind,
    /// The first few different texts, as the server sent them.
    #[serde(default)]
    examples: Vec<String>,
}

/// Keys of requests whose replies tell how many of theirs were there.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct KeyRecord {
    requests: u64,
    asked: u64,
    found: u64,
}

impl KeyRecord {
    /// `None` if no reply said how many keys there were.
    pub(super) fn from_keys(keys: &KeyCounts) -> Option<Self> {
        let KeyCounts { requests, asked, found } = *keys;
        (asked > 0).then_some(Self { requests, asked, found })
    }

    pub(super) fn counts(self) -> KeyCounts {
        KeyCounts { requests: self.requests, asked: self.asked, found: self.found }
    }
}

/// Hits and misses of what looks something up. Loading computes them anew.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct LookupRecord {
    hits: u64,
    misses: u64,
}

impl LookupRecord {
    pub(super) fn from_lookups(lookups: Lookups) -> Self {
        let Lookups { hits, misses } = lookups;
        Self { hits, misses }
    }
}

/// An object of kinds, in the order in which they first came.
#[derive(Debug, Clone)]
struct ByKind(Vec<(String, u64)>);

impl ErrorRecord {
    pub(super) fn from_errors(errors: &ErrorCounts) -> Self {
        Self {
            total: errors.total(),
            by_kind: ByKind(errors.by_kind().to_vec()),
            examples: errors.examples().to_vec(),
        }
    }

    pub(super) fn counts(self) -> ErrorCounts {
        ErrorCounts::restore(self.by_kind.0, self.examples)
    }
}

impl Serialize for ByKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(kind, count)| (kind, count)))
    }
}

impl<'de> Deserialize<'de> for ByKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Kinds;

        impl<'de> Visitor<'de> for Kinds {
            type Value = ByKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of counts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ByKind, A::Error> {
                let mut kinds = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    kinds.push(entry);
                }
                Ok(ByKind(kinds))
            }
        }

        deserializer.deserialize_map(Kinds)
    }
}
