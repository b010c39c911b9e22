//! Values that only workload files have: commands, lists of them, weights, and conditions of steps.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;
use workload::StepCondition;

/// A list and its items.
pub(crate) type List<T> = Spanned<Vec<Spanned<T>>>;

/// A table, whose order is that of the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Table<T>(pub(crate) BTreeMap<Spanned<String>, T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Table<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in the order of the file.
    pub(crate) fn entries(&self) -> Vec<(&Spanned<String>, &T)> {
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        entries
    }
}

impl<T: Serialize> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.entries())
    }
}

/// Weight of an operation beside others.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "i64")]
pub(crate) struct Weight(pub(crate) u32);

impl Default for Weight {
    fn default() -> Self {
        Self(1)
    }
}

impl TryFrom<i64> for Weight {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let weight = u32::try_from(number).ok().filter(|weight| *weight > 0);
        weight
            .map(Self)
            .ok_or_else(|| format!("a weight must be a whole number from 1 to {}", u32::MAX))
    }
}

/// Condition of a step.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct When(pub(crate) StepCondition);

impl TryFrom<String> for When {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let condition = match (&*text, text.strip_prefix("cursor:").map(str::parse)) {
            ("always", _) => StepCondition::Always,
            ("miss", _) => StepCondition::OnMiss,
            ("each", _) => StepCondition::ForEach,
            ("cursor", _) => StepCondition::OnCursor { most: None },
            // Repeated in place of the step before it while replies have a cursor, up to this many times in a
            // row.
            (_, Some(Ok(most))) => StepCondition::OnCursor { most: Some(most) },
            (other, _) => {
                return Err(format!(
                    "a step is sent always, on a \"miss\", for \"each\" string of a list or on a \
                     \"cursor\" (\"cursor:9\" nine times in a row), not on {other:?}"
                ));
            }
        };
        Ok(Self(condition))
    }
}

impl Serialize for When {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text = match self.0 {
            StepCondition::Always => "always",
            StepCondition::OnMiss => "miss",
            StepCondition::ForEach => "each",
            StepCondition::OnCursor { most: None } => "cursor",
            StepCondition::OnCursor { most: Some(most) } => &format!("cursor:{most}"),
        };
        to.serialize_str(text)
    }
}

/// Words of a command: one text, cut as a shell would, or a list of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Command;

        impl<'de> Visitor<'de> for Command {
            type Value = Vec<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command: a string such as \"get user:__key__\", or a list of words")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Self::Value, E> {
                let words = shell_words::split(line);
                filled(words.map_err(|_| E::custom("a quotation mark is not closed"))?)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let words = std::iter::from_fn(|| seq.next_element().transpose());
                filled(words.collect::<Result<_, _>>()?)
            }
        }

        from.deserialize_any(Command).map(Self)
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&shell_words::join(&self.0))
    }
}

fn filled<E: de::Error>(words: Vec<String>) -> Result<Vec<String>, E> {
    if words.is_empty() { Err(E::custom("a command cannot be empty")) } else { Ok(words) }
}
