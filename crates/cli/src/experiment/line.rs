//! Command lines with options of a run beside others: misplaced words, and the line as it may be shown.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use clap::{Arg, Command};
use naming::{PASSWORD, SPAWN_ARGS};
use workload::secret;

use super::typed_line::{Arity, TypedLine, TypedOption};
use crate::UsageError;
use crate::suggestions::named;

/// Parts of a command line.
pub(crate) struct SplitLine {
    /// The words of the command's own options.
    pub(crate) own: Vec<OsString>,
    /// The rest, a line of a run.
    pub(crate) line: TypedLine,
    /// The whole, as it may be shown.
    pub(crate) command_line: String,
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
pub(super) fn misplaced(line: &TypedLine, own: &Command) -> Result<(), UsageError> {
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
        let of_run = crate::run::vocabulary();
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
