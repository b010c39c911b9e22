//! Options of keystorm's own that stand in another tool's command line, behind `--ks-`.

use spec::write::settings;

use super::Output;
use super::run::vocabulary;

/// Prefix of these options there.
pub const PREFIX: &str = "--ks-";

/// Options of what is sent, where to and how often, that no other tool's command line takes beside its own;
/// so are the settings, except [`SIZES`].
const OF_THE_LOAD: [&str; 5] = ["pool", "per-connection", "time-limit", "replay", "set"];

/// The setting that adds to every tool's sizes.
const SIZES: &str = "size-by";

/// Returns whether another tool's own options set what this option sets; `by_tool` are those that this tool sets in
/// addition to the usual ones.
pub fn is_set_by_tool(name: &str, by_tool: &[&str]) -> bool {
    let is_setting = settings().contains(&name) && name != SIZES;
    by_tool.contains(&name) || OF_THE_LOAD.contains(&name) || is_setting
}

/// Refuses `--ks-json -`: standard output has the other tool's report.
///
/// # Errors
/// What to do instead.
pub fn check_output(output: &Output) -> Result<(), String> {
    match output.format {
        "json" => Err(format!(
            "{PREFIX}json -: standard output is taken by the report; name a \
            file"
        )),
        _ => Ok(()),
    }
}

/// Returns whether an option of keystorm's takes a value; `None` if there is no option of that name.
pub fn takes_value(name: &str) -> Option<bool> {
    let command = vocabulary();
    let option = command.get_arguments().find(|option| option.get_long() == Some(name))?;
    Some(option.get_action().takes_values() && !option.is_require_equals_set())
}

/// The words of keystorm's own command line for such an option. `by_tool` are the options that are not taken,
/// without dashes, and what sets them instead; `next` is the word behind it.
///
/// # Errors
/// It is one of those, there is none of its name, or its value is missing.
pub fn option(
    word: &str,
    by_tool: (&[&str], &str),
    next: impl FnOnce() -> Option<String>,
) -> Result<Vec<String>, String> {
    let named = word.strip_prefix(PREFIX).unwrap_or(word);
    let (name, joined) =
        named.split_once('=').map_or((named, None), |(name, value)| (name, Some(value)));
    if is_set_by_tool(name, by_tool.0) {
        return Err(format!("{PREFIX}{name}: set this with {} instead", by_tool.1));
    }
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
        (None, _) => vec![format!("--{name}")],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_comes_in_behind_set() {
        let words = |word: &str| option(word, (&["c"], "-c"), || Some("turns".to_owned()));
        for word in ["--ks-set", "--ks-set=order=turns", "--ks-order", "--ks-renew=1", "--ks-c"] {
            assert!(words(word).unwrap_err().contains("instead"), "{word}");
        }
        assert_eq!(words("--ks-size-by").unwrap(), ["--set", "size-by=turns"]);
    }
}
