//! The command line of `keystorm rehearse`: files, two servers, and a run's options.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::Parser;
use job::{Job, RehearseJob};
use lab::words::Line;
use replay::Speed;
use report::slo::Slo;

use super::experiment::{ExperimentOptions, job_with, with_those_of_a_run, with_words};
use super::front::{Front, command};
use super::replay::{REFUSED, RecordOptions, recorded};
use super::run::{count_in, percent, seconds, seconds_in};
use super::side::{self, Side, Word};
use super::{Intent, UsageError};

const NAME: &str = "keystorm rehearse";
const BLOCKS_DEFAULT: u32 = 5;
/// While the runs do not say, the blocks are doubled, and doubled again.
const LOOKS: u32 = 3;
/// More blocks than that are no advice.
const BLOCKS_MAX: u32 = 1_000;
const BUDGET_MAX_S: f64 = 86_400.0;
/// More per cent than that allow anything.
const ALLOW_MAX: f64 = 10_000.0;

/// Sends recorded traffic to two servers in turn, and tells what the second changes: by command, the
/// median and 99th percentile of the response time and the server's CPU time, with 95 % confidence
/// intervals; every kind of answer that differs, with the shortest example; and with --slo how much
/// more of this traffic each takes. Runs come in blocks of A B B A; a server that keystorm starts is
/// started anew, and filled with --prefill, before each of them.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm rehearse",
    override_usage = "keystorm rehearse FILE... --a SERVER --b SERVER [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLE,
)]
struct Options {
    /// The server as it is: host:port, a URI, a unix socket, or a program to start (with arguments in
    /// one word)
    #[arg(long, value_name = "SERVER", help_heading = "Servers")]
    a: OsString,
    /// The server as it is to be
    #[arg(long, value_name = "SERVER", help_heading = "Servers")]
    b: OsString,
    /// Call the first server so [default: product and version, or what differs]
    #[arg(long = "name-a", value_name = "NAME", help_heading = "Servers")]
    name_a: Option<String>,
    /// Call the second server so
    #[arg(long = "name-b", value_name = "NAME", help_heading = "Servers")]
    name_b: Option<String>,
    /// How fast recorded time passes: 2 for twice as fast; a ramp, 1..4/60s; steps, 1,2,4/10s
    #[arg(long, value_name = "SPEED", help_heading = "Record", default_value = "1",
          value_parser = Speed::parse)]
    speed: Speed,
    #[command(flatten)]
    record: RecordOptions,
    /// Blocks of runs, in each of which every server runs twice [default: 5, and more while the runs do not
    /// say, within --budget]
    #[arg(long, value_name = "NUM", help_heading = "Judgement", value_parser = count_in(2..=BLOCKS_MAX))]
    repeat: Option<u32>,
    /// The percentage by which a figure of the second server may be worse
    #[arg(long, value_name = "PERCENT", help_heading = "Judgement", default_value = "10",
          value_parser = percent)]
    allow: f64,
    /// Search how many times this traffic each server takes while it keeps a target, such as p99<5ms
    #[arg(long, value_name = "TARGET", help_heading = "Judgement", value_parser = Slo::parse)]
    slo: Option<Slo>,
    /// Time that blocks may take before further ones are taken, and that the search may take for each server;
    /// then it answers with what it knows
    #[arg(long, value_name = "TIME", help_heading = "Judgement", default_value = "10m",
          value_parser = seconds)]
    budget: Duration,
    /// Do not compare answers
    #[arg(long = "no-answers", help_heading = "Judgement")]
    no_answers: bool,
    /// Count blocks of runs in which the client sent requests late, too; by default these are repeated
    #[arg(long = "count-disturbed", help_heading = "Judgement")]
    count_disturbed: bool,
    #[command(flatten)]
    output: ExperimentOptions,
}

const EXAMPLE: &str = "\
Exit code 3: something is worse on the second server by more than --allow, with 95 % confidence over
all figures together, or answers differ. Exit code 4: the runs do not say. Ctrl-C prints what is known
and exits with code 130.

Examples:
  Is the new version as good for the traffic of my users?
    keystorm rehearse monitor.txt --a ./redis-7.2 --b ./redis-8.2 --prefill --html rehearsal.html

  Two servers that are there, and how much room each leaves:
    keystorm rehearse monitor.txt --a old:6379 --b new:6379 --slo 'p99<5ms'";

/// Options of a run that the two servers, or the number of runs, rule out.
const OF_ONE: [(&str, &str); 13] = [
    ("-h", "does not go with two servers: name them by --a and --b"),
    ("-p", "does not go with two servers: name them by --a and --b"),
    ("-s", "does not go with two servers: name them by --a and --b"),
    ("-u", "does not go with two servers: name them by --a and --b"),
    ("--spawn", "does not go with two servers: name the programs to start by --a and --b"),
    (
        "--cluster",
        "does not work: a rehearsal is of single servers; keystorm replay sends to a cluster",
    ),
    ("--probe", "works with single runs only"),
    ("--clock", "works with single runs only"),
    ("--start-at", "works with single runs only"),
    ("--hdr", "works with single runs only"),
    ("--metrics", "works with single runs only"),
    ("--progress", "works with single runs only"),
    ("--as", "works with single runs only"),
];

fn refused() -> Vec<(&'static str, &'static str)> {
    OF_ONE.into_iter().chain(REFUSED).collect()
}

/// Its front end.
pub(crate) const FRONT: Front = Front {
    names: &["rehearse"],
    command: || {
        let names: Vec<&str> = refused().iter().map(|(name, _)| *name).collect();
        with_those_of_a_run(command::<Options>(), &names)
    },
    parse: |args| with_words(args, &refused(), intent),
};

fn intent(options: Options, line: Line, command_line: String) -> Result<Intent, UsageError> {
    let Options { a, b, name_a, name_b, speed, record, repeat, allow, slo, .. } = options;
    let budget_s = seconds_in("--budget", options.budget, 1.0..=BUDGET_MAX_S);
    let budget_s = budget_s.map_err(UsageError)?;
    if !(0.0..=ALLOW_MAX).contains(&allow) {
        return Err(UsageError(format!("--allow {allow}: must be between 0 and {ALLOW_MAX} %")));
    }
    if speed.is_max() {
        let text = "--speed max: as fast as replies allow is not the traffic of anybody; see --slo for \
            how much more each server takes";
        return Err(UsageError(text.to_owned()));
    }
    let (recorded, line) = recorded(NAME, record, line, false)?;
    let words = [&a, &b].map(|word| side::shown(&word.to_string_lossy()));
    let sides = [server(&a)?, server(&b)?];
    let [of_a, of_b] = sides.each_ref().map(|side| job_of(side, &sides, &line));
    let output = options.output.settled()?;
    if output.print_plan {
        let text = "--print-plan: what is sent stands in the record";
        return Err(UsageError(text.to_owned()));
    }
    Ok(Intent::Rehearse(Box::new(RehearseJob {
        jobs: [of_a?, of_b?],
        words,
        names: [name_a, name_b],
        recorded,
        speed,
        blocks: repeat.unwrap_or(BLOCKS_DEFAULT),
        looks: if repeat.is_some() { 1 } else { LOOKS },
        repeats_void: !options.count_disturbed,
        allowed: allow / 100.0,
        slo,
        budget_s,
        answers: !options.no_answers,
        output,
        command_line,
    })))
}

/// A server as it was typed.
fn server(word: &OsStr) -> Result<Word, UsageError> {
    match Side::parse(word).map_err(UsageError)? {
        Side::Server(word) => Ok(word),
        Side::File(file) => Err(UsageError(format!(
            "{}: --a and --b are servers (host:port) or programs, and this is a file",
            file.display()
        ))),
    }
}

/// The run that sends the record to a server.
fn job_of(side: &Word, sides: &[Word; 2], line: &Line) -> Result<Job, UsageError> {
    let job = job_with(NAME, line.words(), |options| side.put(options, sides))?;
    match &job.plans[..] {
        [_] => Ok(job),
        _ => Err(UsageError("a rehearsal is of one test".to_owned())),
    }
}
