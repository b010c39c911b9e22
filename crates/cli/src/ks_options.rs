//! keystorm's own options in another tool's command line, prefixed with `--ks-`.

use spec::write::settings;

use super::Output;
use super::run::vocabulary;

/// Prefix of these options there.
pub const PREFIX: &str = "--ks-";

/// Refuses `--ks-json -`: standard output has the other tool's report.
///
/// # Errors
/// Returns advice if the results would go to standard output.
pub(super) fn check_output(output: &Output) -> Result<(), String> {
    match output.format {
        "json" => Err(format!(
            "{PREFIX}json -: standard output is taken by the report; name a \
            file"
        )),
        _ => Ok(()),
    }
}

/// A word of keystorm's, or words, with its options behind the prefix.
pub(super) fn behind_prefix(words: &str) -> String {
    let prefixed = |word: &str| match word.strip_prefix("--") {
        Some(name) => format!("{PREFIX}{name}"),
        None => word.to_owned(),
    };
    words.replace("--set ", "--").split(' ').map(prefixed).collect::<Vec<_>>().join(" ")
}

/// Returns whether an option of keystorm's takes a value; `None` if there is no option of that name.
pub fn takes_value(name: &str) -> Option<bool> {
    let command = vocabulary();
    let option = command.get_arguments().find(|option| option.get_long() == Some(name))?;
    Some(option.get_action().takes_values() && !option.is_require_equals_set())
}

/// The words of keystorm's own command line for such an option; `next` is the word behind it.
///
/// # Errors
/// Returns an error if there is no option with its name, or its value is missing.
pub fn option(word: &str, next: impl FnOnce() -> Option<String>) -> Result<Vec<String>, String> {
    let named = word.strip_prefix(PREFIX).unwrap_or(word);
    let (name, joined) =
        named.split_once('=').map_or((named, None), |(name, value)| (name, Some(value)));
    let takes = takes_value(name)
        .ok_or_else(|| format!("{PREFIX}{name}: keystorm has no option --{name}"))?;
    let value = match joined {
        None if takes => Some(next().ok_or_else(|| format!("{word}: the value is missing"))?),
        joined => joined.map(str::to_owned),
    };
    Ok(match (value, settings().contains(&name)) {
        (Some(value), true) => vec!["--set".to_owned(), format!("{name}={value}")],
        (Some(value), false) if joined.is_some() => vec![format!("--{name}={value}")],
        (Some(value), false) => vec![format!("--{name}"), value],
        (None, true) => vec!["--set".to_owned(), name.to_owned()],
        (None, false) => vec![format!("--{name}")],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use spec::write::PrintedOption;

    use super::*;

    /// Options that only `compare` and deliveries have.
    const OTHER_FIELDS: [&str; 17] = [
        "fail_on_regression",
        "metric",
        "errors",
        "inconclusive",
        "name_a",
        "name_b",
        "tables",
        "cores",
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
                None => assert!(OTHER_FIELDS.contains(&field.as_str()), "no option is {field}"),
            }
        }
    }

    #[test]
    fn words_of_options_stand_behind_the_prefix_elsewhere() {
        for (ours, theirs) in [
            ("--spawn", "--ks-spawn"),
            ("--set join", "--ks-join"),
            ("-c", "-c"),
            ("add --tls", "add --ks-tls"),
        ] {
            assert_eq!(behind_prefix(ours), theirs);
        }
    }
}
