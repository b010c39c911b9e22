//! The command line of `keystorm replay`: files, what of them is sent and how fast, and a run's options.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use job::{RecordedJob, ReplayJob};
use lab::words::{Line, TypedOption};
use replay::{Glob, Replay, Selection, Speed};

use super::experiment::{job, with_those_of_a_run, with_words};
use super::front::{Front, command};
use super::{Intent, UsageError};
use spec::values::{count_in, percent, seconds};

/// Options for what of a record is sent, and how fast, of every command that sends one.
#[derive(Debug, Clone, Args)]
pub(super) struct RecordOptions {
    /// Speed of recorded time: 2 for twice as fast; a ramp, 1..4/60s; steps, 1,2,4/10s; for keystorm
    /// replay also max, as fast as replies allow
    #[arg(long, value_name = "SPEED", help_heading = "Record", default_value = "1",
          value_parser = Speed::parse)]
    pub(super) speed: Speed,
    /// Wait for the reply to a client's command before its next one is sent, as an application without
    /// pipelining does; by default each command is sent when it is due
    #[arg(long, help_heading = "Record")]
    wait_replies: bool,
    /// Write first what the record reads before it writes it, with types and sizes as far as the record
    /// shows them
    #[arg(long, help_heading = "Record")]
    prefill: bool,
    /// Send the record this many times, one after another
    #[arg(long = "loop", value_name = "TIMES", help_heading = "Record", default_value = "1",
          value_parser = count_in(1..=1_000_000))]
    rounds: u32,
    /// Send only this much of the record's time, from its first command on
    #[arg(long, value_name = "TIME", help_heading = "Record", value_parser = seconds)]
    first: Option<Duration>,
    /// Send only these commands: get,set
    #[arg(long, value_name = "NAMES", help_heading = "Record", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave these commands out
    #[arg(long, value_name = "NAMES", help_heading = "Record", value_delimiter = ',')]
    without: Vec<String>,
    /// Send only commands whose first key matches: 'user:*'; repeat it for several patterns
    #[arg(long = "only-keys", value_name = "PATTERN", help_heading = "Record")]
    only_keys: Vec<String>,
    /// Send only commands of these databases
    #[arg(
        long = "only-db",
        value_name = "NUMBERS",
        help_heading = "Record",
        value_delimiter = ','
    )]
    only_db: Vec<u32>,
    /// Send only the commands of this percentage of the clients: 10
    #[arg(long = "only-clients", value_name = "PERCENT", help_heading = "Record",
          value_parser = percent)]
    only_clients: Option<f64>,
    /// The format of the files, if their content does not show it
    #[arg(long = "record-format", value_name = "NAME", help_heading = "Record")]
    record_format: Option<String>,
    /// Write to the server although it may be the one that was recorded, or holds keys
    #[arg(long, help_heading = "Record")]
    yes: bool,
}

/// Sends recorded traffic again: every command at the time at which it was recorded, on a connection
/// for each recorded client, in each client's order. Reads what MONITOR prints, and every other format
/// that keystorm describe reads. Latency counts from when a command was due, lateness is reported, and
/// everything that a run reports is reported. Takes the options of a run that say where the server is,
/// how it is reached and what is reported; -c for fewer connections than there were clients.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm replay",
    override_usage = "keystorm replay FILE... [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLE,
)]
struct Options {
    #[command(flatten)]
    record: RecordOptions,
}

const EXAMPLE: &str = "\
Examples:
  The traffic of another server, on one that is started for it:
    keystorm replay monitor.txt --spawn --prefill

  Twice as fast, without the commands of an administrator:
    keystorm replay monitor.txt --spawn --speed 2 --without keys,info,scan";

/// Options of a run that say what is sent, which the record says.
pub(super) const REFUSED: [(&str, &str); 27] = [
    ("-n", "does not go with a record: it has a fixed number of commands; see --first and --loop"),
    ("--per-connection", "does not go with a record: it says how many commands each client sends"),
    ("--rps", "does not go with a record: it says when commands are sent; see --speed"),
    ("--arrivals", "does not go with a record: it says when commands are sent; see --speed"),
    (
        "--duration",
        "does not go with a record: it has a fixed length; see --first, --speed and --loop",
    ),
    ("--warmup", "does not go with a record: it has no warm-up"),
    ("-t", "does not go with a record: it says what is sent"),
    ("--workload", "does not go with a record: it says what is sent"),
    ("--mix", "does not go with a record: it says what is sent"),
    ("--dataset", "does not go with a record: it says what is sent"),
    ("--replay", "does not go with a record: name its files after keystorm replay"),
    ("-r", "does not go with a record: it says which keys are sent"),
    ("-d", "does not go with a record: it says which values are sent"),
    ("--content", "does not go with a record: it says which values are sent"),
    ("--ttl", "does not go with a record: it says how long keys live"),
    ("--fill", "does not go with a record: see --prefill"),
    ("--verify", "does not go with a record: its values do not derive from keys"),
    ("--hit-ratio", "does not go with a record: it says which keys are read"),
    ("--retry", "does not go with a record: its commands are sent once, at their time"),
    ("--shard", "does not go with a record: one process sends it"),
    ("--on", "does not go with a record: one process sends it"),
    ("-k", "does not go with a record: its clients keep their connections"),
    ("-I", "does not go with a record: the option opens connections and sends nothing"),
    ("-l", "does not go with a record: see --loop"),
    ("-x", "does not go with a record: it says what is sent"),
    ("--window", "does not go with a record: see --wait-replies"),
    ("--print-workload", "does not go with a record: no workload file can say what it does"),
];

/// Commands in flight on a connection, of a client whose commands leave at their times.
const DEPTH: &str = "10000";

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["replay"],
    command: || with_those_of_a_run(command::<Options>(), &REFUSED.map(|(name, _)| name)),
    parse: |args| with_words::<Options>(args, &REFUSED, |options, line, _| intent(options, line)),
};

fn intent(options: Options, line: Line) -> Result<Intent, UsageError> {
    let Options { record, .. } = options;
    let speed = record.speed.clone();
    let (recorded, line) = recorded("keystorm replay", record, line)?;
    let job = job("keystorm replay", line.words())?;
    let [_] = &job.plans[..] else {
        return Err(UsageError("a replay is one test".to_owned()));
    };
    if job.probe.is_some() || job.server_clock || job.start_at.is_some() {
        let text = "--probe, --clock and --start-at work with drawn requests only";
        return Err(UsageError(text.to_owned()));
    }
    Ok(Intent::Replay(Box::new(ReplayJob { job, recorded, speed })))
}

/// Returns what of a record is sent, and the line of a run that sends it.
///
/// # Errors
/// There is no file, or what is asked for makes no sense.
pub(super) fn recorded(
    name: &str,
    options: RecordOptions,
    mut line: Line,
) -> Result<(RecordedJob, Line), UsageError> {
    let files: Vec<PathBuf> =
        std::mem::take(&mut line.rest).into_iter().map(PathBuf::from).collect();
    if files.is_empty() {
        return Err(UsageError(format!(
            "{name}: name the file of the record, such as monitor.txt"
        )));
    }
    if files.iter().any(|file| file.as_os_str() == "-") {
        return Err(UsageError(format!(
            "{name}: a record is read twice, and standard input cannot be"
        )));
    }
    let connections = line.has("-c");
    if !line.has("-P") {
        let depth = if options.speed.is_max() || options.wait_replies { "1" } else { DEPTH };
        line.options.push(TypedOption::new("-P", depth));
    } else if options.wait_replies {
        return Err(UsageError("-P: with --wait-replies, a client sends one at a time".to_owned()));
    }
    let usual = [("--on-error", "count"), ("--window", "rolling"), ("--reconnect", "yes")];
    usual.into_iter().for_each(|(option, value)| line.set_default(option, value));
    // Its plan is the frame that what is recorded gets.
    line.rest = ["--", "get", "k"].map(OsString::from).to_vec();
    let upper = |names: Vec<String>| names.iter().map(|name| name.to_ascii_uppercase()).collect();
    let selection = Selection {
        commands: upper(options.only),
        not_commands: upper(options.without),
        keys: options.only_keys.iter().map(|pattern| Glob::new(pattern)).collect(),
        dbs: options.only_db,
        clients: options.only_clients.map(|percent| percent / 100.0),
    };
    let replay = Replay {
        paths: files,
        format: options.record_format,
        selection,
        recorded_ns: options.first.map(|first| first.as_nanos() as u64),
        to_cache: false,
        to_cluster: false,
    };
    let recorded = RecordedJob {
        replay,
        keeps_connections: connections,
        prefill: options.prefill,
        rounds: options.rounds.into(),
        confirmed: options.yes,
    };
    Ok((recorded, line))
}
