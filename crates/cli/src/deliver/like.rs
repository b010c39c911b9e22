//! `keystorm deliver --like NAME`: the commands of job libraries, as words of kinds.

use std::ffi::OsString;

use clap::{Arg, ArgAction};

use crate::{UsageError, suggestions};

/// A library, and the words of a delivery that imitate it. Options after them on a command line take
/// precedence.
type Preset = (&'static str, &'static [&'static str]);

/// The libraries. Each sends a job with more commands than the one that puts it in its queue: those are left out.
const PRESETS: [Preset; 4] = [
    // One BRPOP for all queues, for two seconds (`Sidekiq::BasicFetch`).
    (
        "sidekiq",
        &["list", "--push", "lpush", "--keys", "3", "--keys-per-receiver", "all", "--block", "2s"],
    ),
    // One BRPOP for the four priorities of a queue, for a second (kombu's transport).
    (
        "celery",
        &["list", "--push", "lpush", "--keys", "4", "--keys-per-receiver", "all", "--block", "1s"],
    ),
    // BZPOPMIN of a marker; the scripts that move a job are not sent.
    ("bullmq", &["zset", "--zpop", "bzpopmin", "--block", "5s"]),
    // LPOP of one queue after another, and five seconds of sleep when all are empty.
    ("resque", &["list", "--push", "rpush", "--pop", "lpop", "--poll", "5s", "--drain", "15s"]),
];

/// The option, for help.
pub(super) fn arg() -> Arg {
    Arg::new("like")
        .long("like")
        .value_name("NAME")
        .help_heading("Messages")
        .action(ArgAction::Set)
        .help("Instead of a kind: the queue commands of sidekiq, celery, bullmq or resque")
}

/// The line with the words that `--like NAME` stands for in front; `None` if it begins with a kind, or has no such
/// option.
///
/// # Errors
/// Returns an error if there is no library with that name.
pub(super) fn expanded(args: &[OsString]) -> Result<Option<Vec<OsString>>, UsageError> {
    let word = |arg: &OsString| arg.to_string_lossy().into_owned();
    let begins_with_option = args.first().is_some_and(|arg| word(arg).starts_with('-'));
    let like =
        args.iter().position(|arg| word(arg) == "--like" || word(arg).starts_with("--like="));
    let Some(at) = like.filter(|_| begins_with_option) else {
        return Ok(None);
    };
    let (name, end) = match word(&args[at]).split_once('=') {
        Some((_, name)) => (name.to_owned(), at + 1),
        None => (args.get(at + 1).map(word).unwrap_or_default(), at + 2),
    };
    if name.is_empty() {
        return Err(UsageError("--like: a name is missing".to_owned()));
    }
    let names = PRESETS.map(|(name, _)| name);
    let Some((_, words)) = PRESETS.iter().find(|(known, _)| *known == name) else {
        return Err(UsageError(suggestions::one_of("library", &name, &names)));
    };
    let rest = args[..at].iter().chain(&args[end..]);
    Ok(Some(words.iter().map(OsString::from).chain(rest.cloned()).collect()))
}
