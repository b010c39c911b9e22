//! What warnings of a run are about, beside their texts.

use serde::{Deserialize, Serialize};

use crate::{Warning, WarningKind};

/// The kind of a warning, and which of several of that kind it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WarningKindRecord {
    #[serde(default = "unknown", deserialize_with = "known")]
    kind: WarningKind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    about: String,
}

fn unknown() -> WarningKind {
    WarningKind::Unknown
}

/// A kind of a later version is unknown here.
fn known<'de, D: serde::Deserializer<'de>>(from: D) -> Result<WarningKind, D::Error> {
    let name = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(name).unwrap_or(WarningKind::Unknown))
}

impl WarningKindRecord {
    pub(super) fn from_warning(warning: &Warning) -> Self {
        Self { kind: warning.kind, about: warning.about.clone() }
    }
}

/// Warnings of these texts; files of earlier versions have no kinds.
pub(super) fn loaded(texts: Vec<String>, kinds: Vec<WarningKindRecord>) -> Vec<Warning> {
    let mut kinds = kinds.into_iter();
    let each = texts.into_iter().map(|text| match kinds.next() {
        Some(WarningKindRecord { kind, about }) if kind != WarningKind::Unknown => {
            Warning { kind, about, text }
        }
        _ => Warning::unknown(text),
    });
    each.collect()
}
