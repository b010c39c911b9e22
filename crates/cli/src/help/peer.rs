//! `--help` by the name of redis-benchmark or valkey-benchmark: the options that the tool itself has, one on a line
//! that begins with it. Scripts look there for what a version can do, such as `--enable-tracking`.

use clap::Command;
use report::{REDIS_BENCHMARK, VALKEY_BENCHMARK};

/// Options of both tools, in the order of their help.
const COMMON_OPTIONS: &[&str] = &[
    "h",
    "p",
    "s",
    "a",
    "user",
    "u",
    "c",
    "n",
    "d",
    "dbnum",
    "3",
    "threads",
    "cluster",
    "enable-tracking",
    "k",
    "r",
    "P",
    "q",
    "precision",
    "csv",
    "l",
    "t",
    "I",
    "x",
    "tls",
    "sni",
    "cacert",
    "cacertdir",
    "insecure",
    "cert",
    "key",
    "tls-ciphers",
    "tls-ciphersuites",
    "help",
    "version",
];
const VALKEY_OPTIONS: &[&str] = &[
    "rfr",
    "sequential",
    "seed",
    "rps",
    "duration",
    "warmup",
    "num-functions",
    "num-keys-in-fcall",
    "dataset",
    "maxdocs",
    "xml-root-element",
    "mptcp",
];

/// Column at which the text about an option begins.
const COLUMN: usize = 28;
/// Columns of the page.
const WIDTH: usize = 100;

/// The options of the tool that has this name; `None` if it is none of the two.
pub(super) fn options(name: &str) -> Option<impl Iterator<Item = &'static str> + use<>> {
    let more = match name {
        _ if name == REDIS_BENCHMARK.program => &[],
        _ if name == VALKEY_BENCHMARK.program => VALKEY_OPTIONS,
        _ => return None,
    };
    Some(COMMON_OPTIONS.iter().chain(more).copied())
}

/// The page.
pub(super) fn page(
    name: &str,
    options: impl Iterator<Item = &'static str>,
    command: &Command,
) -> String {
    let lines: String = options.filter_map(|option| line(option, command)).collect();
    format!(
        "Usage: {name} [OPTIONS] [COMMAND ARGS...]\n\nOptions:\n{lines}\n\
         This is keystorm, called as {name}. It has more options: {name} --help all\n"
    )
}

/// An option and the first sentence of its help.
fn line(option: &str, command: &Command) -> Option<String> {
    let arg = command.get_arguments().find(|arg| match (option.chars().next(), option.len()) {
        (Some(short), 1) => arg.get_short() == Some(short),
        _ => arg.get_long() == Some(option),
    })?;
    let dashes = if option.len() == 1 { "-" } else { "--" };
    let takes = arg.get_num_args().is_none_or(|count| count.takes_values());
    let value = arg.get_value_names().filter(|_| takes).and_then(<[_]>::first);
    let value = value.map_or(String::new(), |name| format!(" <{}>", name.to_lowercase()));
    let typed = format!("{dashes}{option}{value}");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = help.split_once(". ").map_or(help.as_str(), |(first, _)| first);
    let room = WIDTH - COLUMN;
    let short: String = sentence.chars().take(room).collect();
    // A sentence that is too long ends with a whole word.
    let short = match (short.len() < sentence.len(), short.rsplit_once(' ')) {
        (true, Some((whole, _))) => whole.trim_end_matches(',').to_owned(),
        _ => short,
    };
    Some(format!(" {typed:<width$} {short}\n", width = COLUMN - 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;

    #[test]
    fn every_option_of_the_tools_has_its_line() {
        let command = run::vocabulary();
        for name in [REDIS_BENCHMARK.program, VALKEY_BENCHMARK.program] {
            let page = page(name, options(name).unwrap(), &command);
            for option in options(name).unwrap() {
                let dashes = if option.len() == 1 { "-" } else { "--" };
                let begin = format!(" {dashes}{option} ");
                assert_eq!(
                    page.lines().filter(|line| line.starts_with(&begin)).count(),
                    1,
                    "{begin}"
                );
            }
            assert!(page.lines().all(|line| line.chars().count() <= WIDTH), "{page}");
        }
        assert!(options("keystorm").is_none());
    }
}
