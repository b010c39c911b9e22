//! Its command line as words: GNU long options by any prefix that names one, and clusters of short
//! ones.

use std::ffi::OsString;

use spec::write::settings;

use super::option_list::{OptionNames, known, ours};

/// An option that was given, with its value if it takes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedOption {
    pub(super) name: &'static str,
    pub(super) value: Option<String>,
}

/// Words of a command line, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) given: Vec<TypedOption>,
    /// keystorm's own options, as words of its command line.
    pub(super) ours: Vec<String>,
    /// Destination of verdicts, if there are any.
    pub(super) verdict: Option<OsString>,
    /// Words that are no option, which have no effect.
    pub(super) others: Vec<String>,
}

/// The prefix of our options: they are those of keystorm behind it.
const PREFIX: &str = "ks-";
/// Ours that is no option of keystorm's own command line.
const VERDICT: &str = "ks-verdict";

/// Characters that text editors and pages make of a hyphen.
const DASHES: [char; 7] =
    ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}'];

/// Reads words. Words that are no option have no effect, as in memtier_benchmark. `takes_value` tells whether one of
/// keystorm's options takes a value.
///
/// # Errors
/// Returns getopt's line, or an error if a word begins with another kind of dash than options.
pub(super) fn read(
    words: &[String],
    takes_value: impl Fn(&str) -> Option<bool>,
) -> Result<Words, String> {
    let mut read = Words::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            read.others.extend(words.cloned());
            break;
        }
        if word.starts_with(DASHES) {
            let typed = word.replace(DASHES, "-");
            return Err(format!(
                "unrecognized option '{word}': its dash is not the one of the keyboard; write {typed}"
            ));
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            if name == VERDICT {
                read.verdict = Some(value.map_or("stderr".into(), OsString::from));
                continue;
            }
            if let Some(ours) = name.strip_prefix(PREFIX) {
                let takes = takes_value(ours).ok_or_else(|| {
                    format!("unrecognized option '--{name}'; keystorm has no option --{ours}")
                })?;
                let value = match value {
                    None if takes => Some(next_of(&mut words, name)?),
                    value => value,
                };
                read.ours.push(of_keystorm(ours, value));
                continue;
            }
            let known = named(name)?;
            let value = match (known.takes, value) {
                (true, None) => Some(next_of(&mut words, known.name)?),
                (false, Some(_)) => {
                    return Err(format!("option '--{}' doesn't allow an argument", known.name));
                }
                (_, value) => value,
            };
            read.given.push(TypedOption { name: known.name, value });
        } else if let Some(shorts) = word.strip_prefix('-').filter(|shorts| !shorts.is_empty()) {
            let mut rest = shorts;
            while let Some(short) = rest.chars().next() {
                rest = &rest[short.len_utf8()..];
                let known = known().find(|known| known.short == Some(short));
                let known = known.ok_or_else(|| format!("invalid option -- '{short}'"))?;
                // All that is attached is the value; else the next word is.
                let value = match rest {
                    _ if !known.takes => None,
                    "" => {
                        let missing = format!("option requires an argument -- '{short}'");
                        Some(words.next().cloned().ok_or(missing)?)
                    }
                    attached => Some(attached.to_owned()),
                };
                rest = if known.takes { "" } else { rest };
                read.given.push(TypedOption { name: known.name, value });
            }
        } else {
            read.others.push(word.clone());
        }
    }
    Ok(read)
}

/// Writes an option of keystorm as its own command line has it; a setting follows `--set` there.
fn of_keystorm(name: &str, value: Option<String>) -> String {
    let set = if settings().contains(&name) { "set=" } else { "" };
    value.map_or(format!("--{set}{name}"), |value| format!("--{set}{name}={value}"))
}

fn next_of<'w>(words: &mut impl Iterator<Item = &'w String>, name: &str) -> Result<String, String> {
    let next = words.next().cloned();
    next.ok_or_else(|| format!("option '--{name}' requires an argument"))
}

/// The option of that name, or the only one that begins so. Ours have to be written in full, so that
/// they take no prefix from others.
fn named(name: &str) -> Result<OptionNames, String> {
    if let Some(known) = known().chain(ours()).find(|known| known.name == name) {
        return Ok(known);
    }
    let found: Vec<OptionNames> = known().filter(|known| known.name.starts_with(name)).collect();
    match &found[..] {
        [known] => Ok(*known),
        [] => Err(format!("unrecognized option '--{name}'")),
        several => {
            let names: Vec<_> = several.iter().map(|known| format!("'--{}'", known.name)).collect();
            let names = names.join(" ");
            Err(format!("option '--{name}' is ambiguous; possibilities: {names}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Words, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words, |name| match name {
            "json" => Some(true),
            "sample" => Some(false),
            _ => None,
        })
    }

    fn given(line: &str) -> Vec<(&'static str, Option<String>)> {
        words(line).unwrap().given.into_iter().map(|given| (given.name, given.value)).collect()
    }

    #[test]
    fn long_options_go_by_prefix_and_short_ones_in_clusters() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(given("--rate-limit=100"), [("rate-limiting", some("100"))]);
        assert_eq!(given("--print-perc 50"), [("print-percentiles", some("50"))]);
    }

    #[test]
    fn short_options_take_what_is_attached_or_follows() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            given("-c50 -RD -t 2 word --tls -h ::1"),
            [
                ("clients", some("50")),
                ("random-data", None),
                ("debug", None),
                ("threads", some("2")),
                ("tls", None),
                ("host", some("::1")),
            ]
        );
    }

    #[test]
    fn faults_are_those_of_getopt() {
        for (line, says) in [
            ("--nope", "unrecognized option '--nope'"),
            ("-h", "option requires an argument -- 'h'"),
            ("-q", "invalid option -- 'q'"),
            ("--port", "option '--port' requires an argument"),
            ("--tls=1", "option '--tls' doesn't allow an argument"),
            ("--key-p k", "ambiguous; possibilities: '--key-prefix' '--key-pattern'"),
            ("--ks-nope", "keystorm has no option --nope"),
            ("--print-pla", "unrecognized"),
        ] {
            let error = words(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn words_that_are_no_option_are_told_and_pasted_dashes_refused() {
        assert_eq!(words("a -c 1 b -- c").unwrap().others, ["a", "b", "c"]);
        for pasted in ["\u{2013}-test-time=1", "\u{2014}test-time=1", "\u{2212}c 1"] {
            let error = words(pasted).unwrap_err();
            assert!(error.contains("unrecognized option") && error.contains("write -"), "{error}");
        }
    }

    #[test]
    fn ours_go_on_to_ours() {
        let words = words("--ks-json f -c 1 --ks-sample --ks-json=g").unwrap();
        assert_eq!(words.ours, ["--json=f", "--sample", "--json=g"]);
    }
}
