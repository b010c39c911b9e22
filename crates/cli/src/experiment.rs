//! Command lines of experiments: options of their own beside those of a run, and options for results.
//!
//! The front end of runs parses all options that are not an experiment's own, so that none is defined twice.

mod output;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Arg, Command, Parser};
use lab::words::{TypedOption, words_of};
use lab::{Arity, TypedLine};
use naming::{
    ARRIVALS, CALLED, CLOCK, CONNECTIONS as CLIENTS, CONTENT, CPUS, DATASET, DURATION, FILL, HDR,
    IDLE, KEEP, KEEP_ALIVE, KEY_DIST, KEY_RANGE, MAXDOCS, ON, OptionId, PASSWORD, PIPELINE,
    PRINT_WORKLOAD, PROBE, RATE, REPEAT, REPLAY, REQUESTS, SEED, SEQUENTIAL, SHARD, SIZE, SLO,
    SPAWN_ARGS, START_AT, STDIN_ARG, TESTS, WARMUP, WINDOW, WORKLOAD,
};
use spec::LoadSpec;
use workload::secret;

pub use self::output::{ExperimentOptions, LiveOption};
use super::front::{command, with_options};
use super::run::{self, ParsedArgs};
use super::suggestions::{named, no_option, shorten_names};
use super::{Action, Intent, Job, UsageError, connect, deliver};

/// Options of a run that no experiment can have, and why.
pub const REFUSED: [(OptionId, &str); 10] = [
    (PROBE, "works with single runs only"),
    (CLOCK, "works with single runs only"),
    (IDLE, "opens connections and measures nothing"),
    (REPEAT, "never ends; use --repeat"),
    (CALLED, "works with single runs only"),
    (START_AT, "works with a single test only"),
    (HDR, "works with single runs only; --json saves all histograms"),
    (KEEP, "works with single runs only; name a file in the folder with --json"),
    (STDIN_ARG, "reads standard input, which several runs cannot share"),
    (PRINT_WORKLOAD, "works with single runs only"),
];

/// Options of a run that say what load it is, for experiments that decide that themselves.
pub const LOAD_OPTIONS: [OptionId; 28] = [
    CLIENTS, REQUESTS, PIPELINE, SIZE, CONTENT, KEY_RANGE, TESTS, KEEP_ALIVE, REPEAT, IDLE,
    STDIN_ARG, DURATION, WARMUP, RATE, SLO, ARRIVALS, WINDOW, SEQUENTIAL, KEY_DIST, HDR, DATASET,
    MAXDOCS, START_AT, SHARD, WORKLOAD, FILL, ON, CPUS,
];

/// Splits a command line into `O`'s options and the line of a run, and calls `meaning` with both and the whole
/// as it may be shown. Returns a text to print instead, such as help, if the words ask for it.
///
/// # Errors
/// Returns an error if the words make no sense, or `meaning` refuses them.
pub fn with_split<O: Parser>(
    args: Vec<OsString>,
    meaning: impl FnOnce(O, TypedLine, String) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    with_line(args, false, &REFUSED, meaning)
}

/// Splits like [`with_split`] a command line without a command for a server, whose other words, such as files, may
/// be anywhere among the options; they are the rest of the line. `refused` are the options of a run that it cannot
/// have, and why.
///
/// # Errors
/// Returns an error if the words make no sense, or `meaning` refuses them.
pub fn with_words<O: Parser>(
    args: Vec<OsString>,
    refused: &[(OptionId, &str)],
    meaning: impl FnOnce(O, TypedLine, String) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    with_line(args, true, refused, meaning)
}

/// Splits a command line. With `has_words`, words of the command's own may be anywhere among the options. `refused`
/// are the options of a run that it cannot have, and why.
pub(super) fn with_line<O: Parser>(
    args: Vec<OsString>,
    has_words: bool,
    refused: &[(OptionId, &str)],
    meaning: impl FnOnce(O, TypedLine, String) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    let SplitLine { own, line, command_line } = split(&command::<O>(), args, has_words, refused)?;
    with_options(own, |options| meaning(options, line, command_line))
}

/// Parts of a command line.
struct SplitLine {
    /// The words of the experiment's own options.
    own: Vec<OsString>,
    /// The rest, a line of a run.
    line: TypedLine,
    /// The whole, as it may be shown.
    command_line: String,
}

/// Splits a command line, without a type parameter so that it is compiled once.
fn split(
    own: &Command,
    args: Vec<OsString>,
    has_words: bool,
    refused: &[(OptionId, &str)],
) -> Result<SplitLine, UsageError> {
    if !has_words {
        return split_line(own, args, None, refused);
    }
    let of_run = run::vocabulary();
    let find = |name: &str| named(own, name).or_else(|| named(&of_run, name)).map(takes);
    let (mut left, mut options, mut words) = (args, Vec::new(), Vec::new());
    loop {
        let TypedLine { options: some, mut rest } = TypedLine::parse(left, find);
        options.extend(some);
        if rest.is_empty() {
            break;
        }
        let word = rest.remove(0);
        if word == "--" {
            words.extend(rest);
            break;
        }
        words.push(word);
        left = rest;
    }
    split_line(own, TypedLine { options, rest: Vec::new() }.words(), Some(words), refused)
}

fn split_line(
    own: &Command,
    args: Vec<OsString>,
    words: Option<Vec<OsString>>,
    refused: &[(OptionId, &str)],
) -> Result<SplitLine, UsageError> {
    let of_run = run::vocabulary();
    let of_kinds = deliver::is_named(&args).then(deliver::command);
    let find = |name: &str| {
        let of_kind = || of_kinds.as_ref().and_then(|kinds| named(kinds, name));
        named(own, name).or_else(|| named(&of_run, name)).or_else(of_kind)
    };
    let line = TypedLine::parse(args, |name| find(name).map(takes));
    let line = connect::hoisted(line, |name| find(name).map(takes));
    let mut line = deliver::hoisted(line, |name| find(name).map(takes))?;
    if let Some(given) = line.options.iter().find(|given| find(&given.name).is_none()) {
        return Err(no_option(&given.name, own, &of_run));
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

/// Gives all runs of an experiment that fills its server the same values to write: then one fill is
/// enough for all.
pub fn one_seed(line: &mut TypedLine) {
    if line.has(FILL) && !line.has(SEED) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        line.options.push(TypedOption::new(SEED, now.as_micros().to_string()));
    }
}

/// Returns what the option of a command takes, if it has one of that name.
pub(super) fn takes_of(command: &clap::Command, name: &str) -> Option<Arity> {
    named(command, name).map(takes)
}

/// Returns what an option takes.
fn takes(option: &Arg) -> Arity {
    match (option.get_action().takes_values(), option.is_require_equals_set()) {
        (false, _) => Arity::Nothing,
        (true, true) => Arity::Attached,
        (true, false) => Arity::Value,
    }
}

/// The options of an experiment, and behind them those of a run that it takes too: all but those that
/// it has itself, those that no experiment can have, and `refused`.
pub fn with_those_of_a_run(own: Command, refused: &[OptionId]) -> Command {
    let of_experiments = REFUSED.map(|(name, _)| name);
    with_those_of_one_run(own, &[refused, &of_experiments].concat())
}

/// Adds the options of a run to a command that is a single run: an option that it cannot have is in `refused`.
pub(super) fn with_those_of_one_run(own: Command, refused: &[OptionId]) -> Command {
    let run = run::vocabulary();
    let written = |arg: &Arg| {
        let short = arg.get_short().map(|short| format!("-{short}"));
        short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect::<Vec<_>>()
    };
    let theirs = |arg: &&Arg| {
        let names = written(arg);
        !own.get_arguments().any(|ours| ours.get_id() == arg.get_id())
            && !names.iter().any(|name| named(&own, name).is_some())
    };
    // Excluded options are hidden but kept, since others refer to them.
    let taken = run.get_arguments().filter(theirs);
    let taken = taken.map(|arg| {
        let is_refused = refused.iter().any(|option| arg.get_id().as_str() == option.field());
        arg.clone().hide(is_refused || arg.is_hide_set())
    });
    let taken: Vec<Arg> = taken.collect();
    own.args(taken)
}

/// The job of a run's command line, which is part of an experiment of that name.
///
/// # Errors
/// Returns an error if the command line makes no sense.
pub fn job(experiment: &str, args: Vec<OsString>) -> Result<Job, UsageError> {
    job_with(experiment, args, |_| ())
}

pub(super) fn job_with(
    experiment: &str,
    args: Vec<OsString>,
    change: impl Fn(&mut run::Options),
) -> Result<Job, UsageError> {
    ending(typed(experiment, args)?.job(change)?)
}

/// A load that is read once from the command line of a run, and of which an experiment makes jobs with changes.
pub struct VariedLoad(ParsedArgs);

impl VariedLoad {
    /// Reads the words of an experiment of that name.
    ///
    /// # Errors
    /// Returns an error if the command line makes no sense.
    pub fn read(experiment: &str, args: Vec<OsString>) -> Result<Self, UsageError> {
        typed(experiment, args).map(Self)
    }

    /// The job of the load with changes.
    ///
    /// # Errors
    /// Returns an error if the load makes no sense.
    pub fn job(&self, change: impl Fn(&mut LoadSpec)) -> Result<Job, UsageError> {
        ending(self.0.job(|options| change(options.load()))?)
    }
}

fn typed(experiment: &str, args: Vec<OsString>) -> Result<ParsedArgs, UsageError> {
    let usage = format!("{experiment} [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]");
    let explained = |command: Command| command.override_usage(usage);
    ParsedArgs::read_load(experiment, explained, args, |_| None)?
        .map_err(|_| UsageError(format!("see {experiment} --help")))
}

fn ending(job: Job) -> Result<Job, UsageError> {
    match job.action {
        Action::Run { repeat: false } => Ok(job),
        Action::Run { .. } | Action::Idle => {
            Err(UsageError("runs of an experiment must end".to_owned()))
        }
    }
}

/// The command line of an experiment to print and keep: with `***` for what could be a password.
pub(super) fn command_line(name: &str, line: &TypedLine) -> String {
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
    let words =
        |words: Vec<OsString>| words.into_iter().map(OsString::into_vec).collect::<Vec<_>>();
    let rest = secret::shown_sequence(&words(std::mem::take(&mut shown.rest)));
    shown.rest = rest.into_iter().map(OsString::from_vec).collect();
    let words = shown.words();
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    format!("{name} {}", shell_words::join(words)).trim_end().to_owned()
}

/// A URI without who logs in, if it is one that says so.
pub(super) fn masked_uri(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    Some(format!("{scheme}://***@{}", rest.rsplit_once('@')?.1))
}

/// Returns whether a command line names what to send.
pub fn names_test(line: &TypedLine) -> bool {
    line.has(TESTS) || line.has(WORKLOAD) || line.has(REPLAY) || !line.rest.is_empty()
}

/// Returns whether a line says how long a run is: a schedule with an end (`10k..100k/30s`) does.
pub fn names_length(line: &TypedLine) -> bool {
    let schedule = |given: &TypedOption| {
        let value = given.value.as_ref().map(|value| value.to_string_lossy());
        given.name == RATE.word() && value.is_some_and(|rate| lab::values::is_schedule(&rate))
    };
    line.has(REQUESTS) || line.has(DURATION) || line.options.iter().any(schedule)
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
