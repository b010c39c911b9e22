//! The command line of `keystorm compare`: which servers, and the options of a run.
//!
//! They are the first words that are no options. All else is read by the classic front end, once
//! for each side, so that no option is defined twice; only the server is ours to say. Servers of
//! different protocols are [`terms`]'s.

mod arguments;
mod common;
mod job;
mod loads;
mod rates;
mod replayed;
mod sure;
mod terms;
mod words;

pub use self::job::{
    CompareJob, ComparedLoad, InconclusivePolicy, LiveSides, Sides, TermsSides, UntilSure,
};
pub use arguments::{metric_of, percent, percent_in};

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Command, FromArgMatches};
use naming::{
    CSV, ERRORS, FAIL_ON_REGRESSION, FORMAT, HTML, INCONCLUSIVE, JSON, METRIC, NAME_A, NAME_B,
    OptionId, QUIET, RATE, REPEATS, SLO, SVG,
};
use report::Metric;
use report::compare::{ERRORS_DEFAULT, WATCHED};
use report::slo::Slo;

use super::experiment::typed_line::TypedLine;
use super::experiment::{hoisted, read_load};
use super::replay::ReplayedSides;
use super::run::{self, ParsedArgs};
use super::side::{self, Side, Word};
use super::{Intent, Job, UsageError, help};
use arguments::{
    CompareOptions, DisturbedPolicy, NAMED, SERVER_OPTIONS, SINGLE_SERVER_OPTIONS, TERMS_OPTIONS,
    explained,
};
use common::{NAME, blocks, on, refuse, usage};
use rates::lines_at_rates;
use spec::values::ProtocolArg;
use words::{command_line, sides_and_rest, takes};

/// For two tests, with twice as many blocks where the first do not say, and almost twice as many again.
const BUDGET_DEFAULT: Duration = Duration::from_secs(180);
/// A record takes as long as it does.
const BUDGET_REPLAYED: Duration = Duration::from_secs(600);
/// The per cent by which recorded traffic may be worse on the second server.
const ALLOWED_REPLAYED: f64 = 10.0;
/// Options that apply to a comparison of saved runs.
const SAVED_RUN_OPTIONS: [OptionId; 12] = [
    CSV,
    QUIET,
    FORMAT,
    JSON,
    HTML,
    SVG,
    FAIL_ON_REGRESSION,
    METRIC,
    ERRORS,
    INCONCLUSIVE,
    NAME_A,
    NAME_B,
];

/// Returns the options, for help, man page and completions.
pub fn command() -> Command {
    explained(run::vocabulary())
}

/// Parses the words behind the name of the command: the intent that `carry` makes of the job, or a text to print, such
/// as help.
///
/// # Errors
/// Returns an error if the words make no sense.
pub fn intent(
    args: Vec<OsString>,
    carry: impl FnOnce(CompareJob) -> Intent,
) -> Result<Intent, UsageError> {
    let (help, args) = help::of_compare(args);
    let (sides, args) = sides_and_rest(args);
    let mut line = hoisted(args, takes)?;
    let command_line = command_line(sides.as_deref(), &line);
    let record = replayed::taken(&mut line)?;
    let mut lines = lines_at_rates(line).map_err(UsageError)?.into_iter();
    let first = lines.next().unwrap_or_default();
    let mut typed = match read_load(NAME, |run| help(explained(run)), first)? {
        Ok(typed) => typed,
        Err(intent) => return Ok(intent),
    };
    let mut further: Vec<ParsedArgs> = lines.map(at_further_rate).collect::<Result<_, _>>()?;
    rates::fill_alike(&mut typed, &mut further);
    let replayed = record.map(|record| replayed::sides(record, &mut typed)).transpose()?;
    let Some(sides) = sides else {
        return usage("name the servers, two or more: keystorm compare redis-server valkey-server");
    };
    let slo = typed.matches().get_one::<Slo>("slo").cloned();
    let mut options = CompareOptions::from_arg_matches(typed.matches())
        .map_err(|error| UsageError(error.to_string()))?;
    let default = replayed.as_ref().map(|_| ALLOWED_REPLAYED);
    options.fail_on_regression = options.fail_on_regression.or(default);
    let words = sides.iter().map(|side| side::shown(&side.to_string_lossy())).collect();
    refuse(&typed, &SINGLE_SERVER_OPTIONS, "works with one server only")?;
    let (files, named) = files_or_servers(&sides)?;
    let (sides, job) = match replayed {
        Some(_) if !files.is_empty() => {
            return usage("--replay requires two servers, and these are saved runs");
        }
        Some(replayed) => of_record(&typed, &named, ReplayedSides { slo, ..replayed })?,
        None if files.is_empty() => servers(&typed, &further, named, slo)?,
        None => saved(&typed, files)?,
    };
    let Job { output, several, notes, .. } = job;
    check_gate(&typed, &options, &sides)?;
    let until_sure = sure::asked(&typed, &options, &sides)?;
    let watched = watched(&options, &sides)?;
    let budget = budget(&typed, &options, &sides)?;
    let CompareOptions { fail_on_regression, errors, inconclusive, .. } = options;
    if !matches!(output.format, "text" | "quiet" | "csv" | "json") {
        return usage("the output formats of compare are text, quiet (-q), csv and json");
    }
    Ok(carry(CompareJob {
        sides,
        output,
        fail_on_regression,
        watched,
        budget,
        inconclusive,
        until_sure,
        repeats_void: options.disturbed != Some(DisturbedPolicy::Count),
        words,
        names: vec![options.name_a, options.name_b],
        errors_allowed: errors.unwrap_or(ERRORS_DEFAULT),
        is_gate: fail_on_regression.is_some() || errors.is_some(),
        several,
        notes,
        command_line,
    }))
}

fn at_further_rate(line: TypedLine) -> Result<ParsedArgs, UsageError> {
    read_load(NAME, explained, line)?.or_else(|_| usage("see keystorm compare --help"))
}

/// Checks that the gate is there which options belong to, and that it can be judged.
fn check_gate(
    typed: &ParsedArgs,
    options: &CompareOptions,
    sides: &Sides,
) -> Result<(), UsageError> {
    let has_gate = options.fail_on_regression.is_some();
    let is_judged = has_gate || typed.has(SLO);
    if options.inconclusive.is_some() && !is_judged {
        return usage("--inconclusive requires --fail-on-regression or --slo");
    }
    if options.inconclusive == Some(InconclusivePolicy::Repeat) {
        only_once(sides).map_or(Ok(()), |why| usage(&format!("--inconclusive repeat: {why}")))?;
    }
    if has_gate && typed.matches().get_one::<u32>("repeats") == Some(&1) {
        return usage("--fail-on-regression requires --repeat 2 or more");
    }
    Ok(())
}

/// The figures that a gate is about.
fn watched(options: &CompareOptions, sides: &Sides) -> Result<Vec<Metric>, UsageError> {
    match &options.metric[..] {
        [_, ..] if options.fail_on_regression.is_none() => {
            usage("--metric requires --fail-on-regression")
        }
        [] if is_replayed(sides) => Ok(vec![Metric::P50, Metric::P99, Metric::ServerCpu]),
        [] => Ok(WATCHED.to_vec()),
        named => Ok(named.to_vec()),
    }
}

/// The longest time in which further blocks are run while the result is open.
fn budget(
    typed: &ParsedArgs,
    options: &CompareOptions,
    sides: &Sides,
) -> Result<Option<Duration>, UsageError> {
    let given = options.budget;
    if options.until_sure.is_some() {
        return match given {
            Some(_) => usage("--until-sure has --sure-within in place of --budget"),
            None => Ok(None),
        };
    }
    if let Some(why) = only_once(sides) {
        return given.map_or(Ok(None), |_| usage(&format!("--budget: {why}")));
    }
    let repeats_open = options.inconclusive == Some(InconclusivePolicy::Repeat);
    let is_exact = typed.has(REPEATS) && !repeats_open;
    let default = if is_replayed(sides) { BUDGET_REPLAYED } else { BUDGET_DEFAULT };
    Ok(given.or((!is_exact).then_some(default)))
}

/// The sides: all are files, or all are servers.
fn files_or_servers(words: &[OsString]) -> Result<(Vec<PathBuf>, Vec<Word>), UsageError> {
    let (mut files, mut servers) = (Vec::new(), Vec::new());
    for word in words {
        match Side::parse(word).map_err(UsageError)? {
            Side::File(file) => files.push(file),
            Side::Server(word) => servers.push(word),
        }
    }
    match (files.first(), servers.is_empty()) {
        (Some(file), false) => usage(&format!(
            "{} is a file and the other side is a server; compare two of the same kind",
            file.display()
        )),
        _ => Ok((files, servers)),
    }
}

/// Says why there are no further blocks of these sides, if there are none.
fn only_once(sides: &Sides) -> Option<&'static str> {
    match sides {
        Sides::Saved(_) => Some("saved runs have no further blocks; compare the servers"),
        Sides::Terms(_) => {
            Some("the tables of equal terms are taken once; choose --repeat, or a rate")
        }
        Sides::Live(_) => None,
    }
}

/// Returns what is done to servers; `further` is the same command line at further rates.
fn servers(
    typed: &ParsedArgs,
    further: &[ParsedArgs],
    words: Vec<Word>,
    slo: Option<Slo>,
) -> Result<(Sides, Job), UsageError> {
    let asked = typed.matches().get_one::<ProtocolArg>("protocol").copied();
    let mixed = words.iter().any(|word| word.is_memcache(asked) != words[0].is_memcache(asked));
    let at_a_rate = mixed && typed.has(RATE);
    let decides = words.len() > 2 || slo.is_some() || at_a_rate || !further.is_empty();
    if mixed && !decides {
        return terms::sides(typed, &words, asked);
    }
    let without = format!("is of two servers of different protocols without {RATE}");
    let why = if decides {
        &without
    } else {
        "requires servers of different protocols, such as redis-server and memcached"
    };
    refuse(typed, &TERMS_OPTIONS, why)?;
    loads::sides(typed, further, &words, asked, slo, decides)
}

/// Two files, and the job of the other options.
fn saved(typed: &ParsedArgs, files: Vec<PathBuf>) -> Result<(Sides, Job), UsageError> {
    let Ok([a, b]) = <[PathBuf; 2]>::try_from(files) else {
        return usage("saved runs are compared two at a time");
    };
    if let Some(option) = typed.typed().find(|id| !OptionId::any_has(&SAVED_RUN_OPTIONS, id)) {
        return usage(&format!(
            "{} requires servers that are measured; {} and {} are saved runs",
            typed.written(option),
            a.display(),
            b.display()
        ));
    }
    Ok((Sides::Saved(Box::new([a, b])), typed.job(|_| ())?))
}

fn is_replayed(sides: &Sides) -> bool {
    matches!(sides, Sides::Live(live) if live.replayed.is_some())
}

/// Two servers that get recorded traffic.
fn of_record(
    typed: &ParsedArgs,
    words: &[Word],
    replayed: ReplayedSides,
) -> Result<(Sides, Job), UsageError> {
    refuse(typed, &SERVER_OPTIONS, NAMED)?;
    refuse(typed, &TERMS_OPTIONS, "is of two servers of different protocols without --replay")?;
    let [a, b] = words else { return usage("--replay: name two servers") };
    let job = |side: &Word| typed.job_with(|options| side.put(options, words));
    let (mut of_a, of_b) = (job(a)?, job(b)?);
    let ([plan_a], [plan_b]) = (&of_a.plans[..], &of_b.plans[..]) else {
        return usage("--replay is one test");
    };
    if plan_a.protocol != plan_b.protocol {
        return usage("--replay: name two servers that speak one protocol");
    }
    let plans = vec![plan_a.clone(), on(plan_a, &plan_b.target)?];
    let name = plan_a.name.clone();
    let loads = vec![ComparedLoad { name, at_rate: String::new(), plans, limits: Vec::new() }];
    of_a.plans.clear();
    let live = LiveSides {
        loads,
        blocks: blocks(typed),
        decides: false,
        slo: None,
        mixed: false,
        places: false,
        replayed: Some(replayed),
    };
    Ok((Sides::Live(Box::new(live)), of_a))
}
