//! Command lines with options of a run beside others: which options are whose, and the line as it may be shown.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use clap::{Arg, Command, Parser};
use naming::{OptionId, PASSWORD, SPAWN_ARGS};
use workload::secret;

use super::typed_line::{Arity, TypedLine, TypedOption, words_of};
use crate::front::{command, with_options};
use crate::suggestions::{named, no_option, shorten_names};
use crate::{Intent, UsageError, run};

/// Parts of a command line.
pub(crate) struct SplitLine {
    /// The words of the command's own options.
    pub(crate) own: Vec<OsString>,
    /// The rest, a line of a run.
    pub(crate) line: TypedLine,
    /// The whole, as it may be shown.
    pub(crate) command_line: String,
}

/// Splits a line without other words than those of a command for a server, as [`split`] does.
///
/// # Errors
/// Returns an error if the words make no sense, or `meaning` refuses them.
pub(crate) fn with_own_options<O: Parser>(
    args: Vec<OsString>,
    refused: &[(OptionId, &str)],
    meaning: impl FnOnce(O, TypedLine) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    let (own, of_run) = (command::<O>(), run::vocabulary());
    let find = |name: &str| named(&own, name).or_else(|| named(&of_run, name));
    let line = TypedLine::parse(args, |name| find(name).map(takes));
    let SplitLine { own, line, .. } = split(&own, &of_run, find, line, None, refused)?;
    with_options(own, |options| meaning(options, line))
}

/// Splits a line into a command's own options and the line of a run. `find` has the options of both and others that
/// are allowed; `words` are those of the command, if it has some, and `refused` are the options of a run that it cannot
/// have, and why.
///
/// # Errors
/// Returns an error if an option is unknown or refused, or a word is misplaced.
pub(crate) fn split<'c>(
    own: &Command,
    of_run: &Command,
    find: impl Fn(&str) -> Option<&'c Arg>,
    mut line: TypedLine,
    words: Option<Vec<OsString>>,
    refused: &[(OptionId, &str)],
) -> Result<SplitLine, UsageError> {
    if let Some(given) = line.options.iter().find(|given| find(&given.name).is_none()) {
        return Err(no_option(&given.name, own, of_run));
    }
    shorten_names(&mut line, find);
    match words {
        Some(words) => line.rest = words,
        None => misplaced(&line, own)?,
    }
    let command_line = command_line(own.get_bin_name().unwrap_or("keystorm"), &line);
    let typed = line.take(|given: &TypedOption| named(own, &given.name).is_some());
    if let Some((name, why)) = refused.iter().find(|(name, _)| line.has(name)) {
        return Err(UsageError(format!("{name} {why}")));
    }
    Ok(SplitLine { own: words_of(&typed), line, command_line })
}

/// Refuses a word that is the address of a server.
///
/// # Errors
/// Returns the options that name the server.
pub fn refuse_address(word: &str, name: &str) -> Result<(), UsageError> {
    match word.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() && !host.is_empty() => {
            let quoted = shell_words::quote(word);
            Err(UsageError(format!(
                "unexpected word {quoted}: {name} takes one server, as -h {host} -p {port}"
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses a first word that is surely no command for a server: a program or an address of a server, or one with
/// options of the experiment behind it.
fn misplaced(line: &TypedLine, own: &Command) -> Result<(), UsageError> {
    let Some(first) = line.rest.first().filter(|word| *word != "--") else { return Ok(()) };
    let (word, name) = (first.to_string_lossy(), own.get_bin_name().unwrap_or("keystorm"));
    let quoted = shell_words::quote(&word);
    if SERVERS.contains(&word.rsplit('/').next().unwrap_or_default()) {
        return Err(UsageError(format!(
            "unexpected word {quoted}: {name} takes one server, as --spawn={quoted} to start it, or \
             with -h and -p, or -s"
        )));
    }
    refuse_address(&word, name)?;
    let is_own = |word: &&OsString| {
        let word = word.to_string_lossy();
        let option = word.split('=').next().unwrap_or_default();
        option.starts_with("--") && option.len() > 2 && named(own, option).is_some()
    };
    match line.rest.iter().skip(1).find(is_own) {
        Some(option) => Err(UsageError(format!(
            "unexpected word {quoted} before {}: words after it would be sent to the server; put \
             the options of {name} first, or -- before a command",
            option.to_string_lossy()
        ))),
        None => Ok(()),
    }
}

/// Programs that are servers, and no server's commands.
const SERVERS: [&str; 6] =
    ["redis-server", "valkey-server", "keydb-server", "memcached", "dragonfly", "garnet"];

/// Returns what the option of a command takes, if it has one of that name.
pub(crate) fn takes_of(command: &Command, name: &str) -> Option<Arity> {
    named(command, name).map(takes)
}

/// Returns what an option takes.
pub(crate) fn takes(option: &Arg) -> Arity {
    match (option.get_action().takes_values(), option.is_require_equals_set()) {
        (false, _) => Arity::Nothing,
        (true, true) => Arity::Attached,
        (true, false) => Arity::Value,
    }
}

/// The command line of an experiment to print and keep: with `***` for what could be a password.
pub(crate) fn command_line(name: &str, line: &TypedLine) -> String {
    let mut shown = line.clone();
    for TypedOption { name, value } in &mut shown.options {
        let Some(text) = value.as_ref().map(|value| value.to_string_lossy().into_owned()) else {
            continue;
        };
        match (name.as_str(), masked_uri(&text)) {
            (name, _) if name == PASSWORD.word() => *value = Some(secret::HIDDEN.into()),
            (name, _) if name == SPAWN_ARGS.word() => {
                let args = shell_words::split(&text).unwrap_or_default();
                *value = Some(shell_words::join(secret::shown_arguments(&args)).into());
            }
            (_, Some(uri)) => *value = Some(uri.into()),
            _ => {}
        }
    }
    let rest = std::mem::take(&mut shown.rest).into_iter().map(OsString::into_vec);
    let rest = secret::shown_sequence(&rest.collect::<Vec<_>>());
    shown.rest = rest.into_iter().map(OsString::from_vec).collect();
    let words = shown.words();
    let words = shell_words::join(words.iter().map(|word| word.to_string_lossy()));
    format!("{name} {words}").trim_end().to_owned()
}

/// A URI without who logs in, if it is one that says so.
pub(crate) fn masked_uri(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    Some(format!("{scheme}://***@{}", rest.rsplit_once('@')?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let of_run = run::vocabulary();
        for line in [
            "-a hunter2 -c 1,2",
            "-ahunter2",
            "-qa hunter2",
            "-qahunter2",
            "-u redis://me:hunter2@h:1/2",
            "-uredis://:hun@ter2@h",
            "--spawn --spawn-args '--requirepass_hunter2_--io-threads_2'",
            "-q -- multi ; auth hunter2",
            "-q config set requirepass hunter2",
            "-t get -- set k v",
        ] {
            let word = |word: &str| OsString::from(word.trim_matches('\'').replace('_', " "));
            let words = line.split(' ').map(word).collect();
            let shown = command_line(
                "keystorm sweep",
                &TypedLine::parse(words, |name| named(&of_run, name).map(takes)),
            );
            assert!(!shown.contains("hun") && !shown.contains("ter2"), "{line}: {shown}");
            assert!(shown.starts_with("keystorm sweep -"), "{shown}");
        }
    }
}
