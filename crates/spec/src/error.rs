//! Why a load that was asked for has no plans.

use naming::{OPTIONS, OptionId, Text};
use serde::Serialize;

/// Reason why a load makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SpecError {
    /// The option that is wrong, if it is one.
    pub option: Option<OptionId>,
    /// Text that says what is wrong with it, and what to do.
    pub why: Text,
}

impl<T: Into<Text>> From<T> for SpecError {
    fn from(why: T) -> Self {
        let why = why.into();
        let option = why.options().next();
        Self { option, why }
    }
}

/// The first option of a group that is given.
pub(crate) fn first_given<G: Serialize + Default>(group: &G) -> Option<OptionId> {
    let of = serde_json::to_value(group).ok()?;
    let default = serde_json::to_value(G::default()).ok()?;
    OPTIONS.iter().copied().find(|option| {
        let key = option.key();
        of.get(&key) != default.get(&key)
    })
}
