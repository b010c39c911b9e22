//! Command lines of experiments: options of their own beside those of a run, and options for results.
//!
//! The front end of runs parses all options that are not an experiment's own, so that none is defined twice.

pub(super) mod line;
mod output;

use std::ffi::OsString;

use clap::{Command, Parser};
use lab::{Arity, TypedLine};
use naming::{
    ARRIVALS, CALLED, CLOCK, CONNECTIONS as CLIENTS, CONTENT, CPUS, DATASET, DURATION, FILL, HDR,
    IDLE, KEEP, KEEP_ALIVE, KEY_DIST, KEY_RANGE, MAXDOCS, ON, OptionId, PIPELINE, PRINT_WORKLOAD,
    PROBE, RATE, REPEAT, REQUESTS, SEQUENTIAL, SHARD, SIZE, SLO, START_AT, STDIN_ARG, TESTS,
    WARMUP, WINDOW, WORKLOAD,
};
use spec::LoadSpec;

pub use self::output::{ExperimentOptions, LiveOption};
use super::deliver::message_load;
use super::front::{command, with_options, with_those_of_one_run};
use super::run::{self, ParsedArgs};
use super::suggestions::named;
use super::{Action, Intent, Job, UsageError, connect, deliver};
use line::{SplitLine, takes};
pub use line::{names_length, names_test, one_seed, refuse_address};

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
    let parts = split(&command::<O>(), args, None, &REFUSED)?;
    with_options(parts.own, |options| meaning(options, parts.line, parts.command_line))
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
    let own = command::<O>();
    let (options, words) = words_apart(&own, args);
    let parts = split(&own, options, Some(words), refused)?;
    with_options(parts.own, |options| meaning(options, parts.line, parts.command_line))
}

/// The words of the options, and the other words.
fn words_apart(own: &Command, args: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let of_run = run::vocabulary();
    let find = |name: &str| named(own, name).or_else(|| named(&of_run, name)).map(takes);
    let (mut line, mut words) = (TypedLine::parse(args, find), Vec::new());
    while line.rest.first().is_some_and(|word| word != "--") {
        words.extend(line.take_words(1, find));
    }
    words.extend(std::mem::take(&mut line.rest).into_iter().skip(1));
    (line.words(), words)
}

/// Splits a command line in which `deliver` or `connect` may follow the options.
fn split(
    own: &Command,
    args: Vec<OsString>,
    words: Option<Vec<OsString>>,
    refused: &[(OptionId, &str)],
) -> Result<SplitLine, UsageError> {
    let of_run = run::vocabulary();
    let of_kinds = deliver::is_named(&args).then(deliver::command);
    let find = |name: &str| {
        named(own, name)
            .or_else(|| named(&of_run, name))
            .or_else(|| of_kinds.as_ref().and_then(|kinds| named(kinds, name)))
    };
    let line = TypedLine::parse(args, |name| find(name).map(takes));
    let line = connect::hoisted(line, |name| find(name).map(takes));
    let line = deliver::hoisted(line, |name| find(name).map(takes))?;
    line::split(own, &of_run, find, line, words, refused)
}

/// The options of an experiment, and behind them those of a run that it takes too: all but those that
/// it has itself, those that no experiment can have, and `refused`.
pub fn with_those_of_a_run(own: Command, refused: &[OptionId]) -> Command {
    let of_experiments = REFUSED.map(|(name, _)| name);
    with_those_of_one_run(own, &[refused, &of_experiments].concat())
}

/// The job of a run's command line, which is part of an experiment of that name.
///
/// # Errors
/// Returns an error if the command line makes no sense.
pub fn job(experiment: &str, args: Vec<OsString>) -> Result<Job, UsageError> {
    ending(typed(experiment, args)?.job(|_| ())?)
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
        ending(self.0.job(|options| change(&mut options.spec))?)
    }
}

fn typed(experiment: &str, args: Vec<OsString>) -> Result<ParsedArgs, UsageError> {
    let usage = format!("{experiment} [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]");
    read_load(experiment, |command| command.override_usage(usage), args, |_| None)?
        .map_err(|_| UsageError(format!("see {experiment} --help")))
}

/// Reads arguments as [`ParsedArgs::read`] does; `deliver` or `connect` may follow the options.
///
/// # Errors
/// Returns an error if they make no sense.
pub(super) fn read_load(
    name: &str,
    own: impl FnOnce(Command) -> Command,
    args: Vec<OsString>,
    takes: impl Fn(&str) -> Option<Arity>,
) -> Result<Result<ParsedArgs, Intent>, UsageError> {
    let args = connect::words(args, &takes);
    let Some(load) = message_load(&args, takes)? else { return ParsedArgs::read(name, own, args) };
    let read = ParsedArgs::read(name, own, load.words)?;
    Ok(read.map(|typed| typed.with_receivers(load.finish)))
}

fn ending(job: Job) -> Result<Job, UsageError> {
    match job.action {
        Action::Run { repeat: false } => Ok(job),
        Action::Run { .. } | Action::Idle => {
            Err(UsageError("runs of an experiment must end".to_owned()))
        }
    }
}
