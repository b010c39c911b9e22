//! The command line: a file, and options of keystorm.

use std::ffi::OsString;

use cli::ks_options;

use super::fault::{Fault, rule};

/// A command line, read.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) file: Option<String>,
    pub(super) help: bool,
    pub(super) version: bool,
    pub(super) print_plan: bool,
    pub(super) as_keystorm: bool,
    pub(super) convert: bool,
    /// Destination of verdicts.
    pub(super) verdict: Option<OsString>,
    /// Options of keystorm's own, without their `--ks-`.
    pub(super) own: Vec<String>,
}

impl Words {
    /// Reads words.
    pub(super) fn read(args: Vec<OsString>) -> Result<Self, Fault> {
        let mut read = Self::default();
        let words = args
            .into_iter()
            .map(|word| word.into_string().map_err(|word| rule(format!("{word:?} is not UTF-8"))))
            .collect::<Result<Vec<String>, Fault>>()?;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| rule(format!("{word}: the value is missing")));
            match word.as_str() {
                "-h" | "--help" => read.help = true,
                "-V" | "--version" => read.version = true,
                "--convert" => read.convert = true,
                "--print-plan" | "--ks-print-plan" => read.print_plan = true,
                "--ks-verdict" => read.verdict = Some(value()?.into()),
                "--as" | "--ks-as" => match value()?.as_str() {
                    "keystorm" => read.as_keystorm = true,
                    other => return Err(rule(format!("--as {other}: only --as keystorm exists"))),
                },
                "replay" if read.file.is_some() => {
                    return Err(rule(
                        "replay: log replay is not supported; keystorm replays keys with \
                         --key-dist file:PATH",
                    ));
                }
                _ if word.starts_with(ks_options::PREFIX) => {
                    read.own.extend(ks_options::option(&word, || words.next()).map_err(rule)?);
                }
                _ if word.starts_with('-') && word.len() > 1 => {
                    return Err(rule(format!(
                        "{word}: rpc-perf has no such option; everything is set in its file. \
                         keystorm options begin with {}",
                        ks_options::PREFIX
                    )));
                }
                _ if read.file.is_some() => {
                    return Err(rule(format!("{word}: only one file can be run at a time")));
                }
                _ => read.file = Some(word),
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Words, Fault> {
        Words::read(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn a_file_comes_with_options_of_keystorm_behind_a_prefix() {
        let words = read("a.toml --ks-json run.json --ks-insecure --ks-verdict off --print-plan");
        let words = words.unwrap();
        assert_eq!(words.file.as_deref(), Some("a.toml"));
        assert_eq!(words.own, ["--json", "run.json", "--insecure"]);
        assert!(words.print_plan && words.verdict == Some("off".into()));
    }

    #[test]
    fn what_is_not_carried_out_is_refused_by_name() {
        for (line, why) in [
            ("a.toml replay", "not supported"),
            ("a.toml b.toml", "b.toml: only one file"),
            ("a.toml --endpoint x", "--endpoint: rpc-perf has no such option"),
            ("a.toml --ks-what", "no option --what"),
            ("a.toml --as python", "--as keystorm"),
            ("a.toml --ks-json", "missing"),
        ] {
            let Fault::Usage(error) = read(line).unwrap_err() else { panic!("{line}") };
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
