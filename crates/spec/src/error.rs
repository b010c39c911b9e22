//! Why a load that was asked for has no plans.

use std::fmt;

use naming::{OptionId, Text};

/// Reason why a load makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for SpecError {}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::write::{PrintedOption, vocabulary};

    /// Fields of other options than those of a load.
    const OTHERS: [&str; 20] = [
        "on",
        "probe",
        "slo",
        "clock",
        "json",
        "hdr",
        "html",
        "svg",
        "keep",
        "live",
        "metrics",
        "receiver_threads",
        "writers",
        "drain",
        "groups",
        "slow",
        "wait",
        "waitaof",
        "between_clients",
        "ring",
    ];

    #[test]
    fn messages_name_options_as_they_are_typed() {
        let command = vocabulary();
        for named in naming::OPTIONS {
            let field = named.field();
            let option = command.get_arguments().find(|option| option.get_id().as_str() == field);
            match option.cloned() {
                Some(option) => {
                    let typed = PrintedOption { option, value: Value::Null }.name();
                    assert_eq!(typed, named.word(), "{field}");
                }
                None => assert!(OTHERS.contains(&field.as_str()), "there is no option {field}"),
            }
        }
    }
}
