//! Command lines of experiments: options of their own beside those of a run, and options for results.
//!
//! The front end of runs parses all options that are not an experiment's own, so that none is defined twice.

mod grid;
pub(super) mod line;
pub(super) mod lists;
mod output;
pub(super) mod typed_line;

use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Command, Parser};
use lab::Axis;
use naming::{
    ARRIVALS, CALLED, CLOCK, CONNECTIONS as CLIENTS, CONTENT, CPUS, DATASET, DURATION, FILL, HDR,
    IDLE, KEEP, KEEP_ALIVE, KEY_DIST, KEY_RANGE, MAXDOCS, ON, OptionId, PIPELINE, PRINT_WORKLOAD,
    PROBE, RATE, REPEAT, REQUESTS, SEQUENTIAL, SHARD, SIZE, SLO, START_AT, STDIN_ARG, TESTS,
    WARMUP, WINDOW, WORKLOAD,
};
use spec::values::Count;

pub use self::output::{ExperimentOptions, LiveOption};
use super::front::{command, with_options, with_those_of_one_run};
use super::run::{self, ParsedArgs};
use super::suggestions::{named, no_option, shorten_names};
use super::{Intent, UsageError, connect, deliver};
use grid::Grid;
pub use line::refuse_address;
use line::{SplitLine, takes};
use typed_line::{Arity, TypedLine, words_of};

/// A point of a grid: the value of each axis, and the load with them.
pub type GridPoint = (Vec<String>, ParsedArgs);

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

/// Reads a command line that is `O`'s options and a load, and calls `meaning` with both and the whole as it may be
/// shown. Returns a text to print instead, such as help, if the words ask for it.
///
/// # Errors
/// Returns an error if the words make no sense, or `meaning` refuses them.
pub fn with_load<O: Parser>(
    args: Vec<OsString>,
    meaning: impl FnOnce(O, ParsedArgs, String) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    let own = command::<O>();
    let parts = split(&own, args, None, &REFUSED)?;
    with_options(parts.own, |options| {
        meaning(options, load_of(name_of(&own), parts.line)?, parts.command_line)
    })
}

/// Reads like [`with_load`] a command line in which options of the load may be lists: the axes, and a load for each
/// point with the value of each axis.
///
/// # Errors
/// Returns an error if the words make no sense, or `meaning` refuses them.
pub fn with_grid<O: Parser>(
    args: Vec<OsString>,
    meaning: impl FnOnce(O, Vec<Axis>, Vec<GridPoint>, String) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    let own = command::<O>();
    let parts = split(&own, args, None, &REFUSED)?;
    with_options(parts.own, |options| {
        let grid = Grid::from_line(parts.line).map_err(UsageError)?;
        let mut points = Vec::new();
        for (settings, line) in grid.points() {
            points.push((settings, load_of(name_of(&own), line)?));
        }
        meaning(options, grid.axes, points, parts.command_line)
    })
}

/// Reads like [`with_load`] a command line without a command for a server, whose other words, such as files, may
/// be anywhere among the options. `refused` are the options of a run that it cannot have, and why.
///
/// # Errors
/// Returns an error if the words make no sense, or `meaning` refuses them.
pub fn with_words<O: Parser>(
    args: Vec<OsString>,
    refused: &[(OptionId, &str)],
    meaning: impl FnOnce(O, Vec<OsString>, ParsedArgs, String) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    let own = command::<O>();
    let (options, words) = words_apart(&own, args);
    let mut parts = split(&own, options, Some(words), refused)?;
    let words = std::mem::take(&mut parts.line.rest);
    with_options(parts.own, |options| {
        meaning(options, words, load_of(name_of(&own), parts.line)?, parts.command_line)
    })
}

fn name_of(own: &Command) -> &str {
    own.get_bin_name().unwrap_or("keystorm")
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

/// Splits a command line, in which `deliver` or `connect` may follow the options, into an experiment's own options and
/// the line of a run. `words` are those of the experiment, if it has some, and `refused` are the options of a run that
/// it cannot have, and why.
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
    let mut line = hoisted(args, |name| find(name).map(takes))?;
    if let Some(given) = line.options.iter().find(|given| find(&given.name).is_none()) {
        return Err(no_option(&given.name, own, &of_run));
    }
    shorten_names(&mut line, find);
    match words {
        Some(words) => line.rest = words,
        None => line::misplaced(&line, own)?,
    }
    let command_line = line::command_line(name_of(own), &line);
    let typed = line.take(|given| named(own, &given.name).is_some());
    if let Some((name, why)) = refused.iter().find(|(name, _)| line.has(name)) {
        return Err(UsageError(format!("{name} {why}")));
    }
    Ok(SplitLine { own: words_of(&typed), line, command_line })
}

/// The options of an experiment, and behind them those of a run that it takes too: all but those that
/// it has itself, those that no experiment can have, and `refused`.
pub fn with_those_of_a_run(own: Command, refused: &[OptionId]) -> Command {
    let of_experiments = REFUSED.map(|(name, _)| name);
    with_those_of_one_run(own, &[refused, &of_experiments].concat())
}

/// Gives all loads of an experiment that fills its server the same values to write: then one fill is enough for all.
pub fn one_seed<'l>(loads: impl IntoIterator<Item = &'l mut ParsedArgs>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64;
    for load in loads {
        load.complete(move |spec| {
            if spec.data.fill {
                spec.data.seed.get_or_insert(Count(now));
            }
        });
    }
}

/// Reads the words of a load, which is part of an experiment of that name.
///
/// # Errors
/// Returns an error if the words make no sense.
pub fn load(experiment: &str, args: Vec<OsString>) -> Result<ParsedArgs, UsageError> {
    let of_run = run::vocabulary();
    load_of(experiment, hoisted(args, |name| named(&of_run, name).map(takes))?)
}

fn load_of(experiment: &str, line: TypedLine) -> Result<ParsedArgs, UsageError> {
    let usage = format!("{experiment} [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]");
    read_load(experiment, |command| command.override_usage(usage), line)?
        .map_err(|_| UsageError(format!("see {experiment} --help")))
}

/// Divides words of a load; those after `deliver` or `connect` become options, too.
///
/// # Errors
/// Returns an error if one of them is no option.
pub(super) fn hoisted(
    args: Vec<OsString>,
    takes: impl Fn(&str) -> Option<Arity>,
) -> Result<TypedLine, UsageError> {
    deliver::hoisted(connect::hoisted(TypedLine::parse(args, &takes), &takes), &takes)
}

/// Reads a line to which [`hoisted`] was applied as [`ParsedArgs::read`] does.
///
/// # Errors
/// Returns an error if it makes no sense.
pub(super) fn read_load(
    name: &str,
    own: impl FnOnce(Command) -> Command,
    mut line: TypedLine,
) -> Result<Result<ParsedArgs, Intent>, UsageError> {
    let connects = connect::take_word(&mut line);
    let kind = deliver::take_kind(&mut line)?;
    let mut read = ParsedArgs::read(
        name,
        |command| match kind {
            Some(kind) => kind.added_to(own(command)),
            None => own(command),
        },
        line.words(),
    )?;
    if let Ok(typed) = &mut read {
        if connects {
            typed.complete(|spec| connect::complete(spec, false));
        }
        kind.into_iter().try_for_each(|kind| typed.receive(kind))?;
    }
    Ok(read)
}
