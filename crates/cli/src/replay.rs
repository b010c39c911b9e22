//! Options of recorded traffic for `keystorm replay` and `keystorm compare`: files, selection and speed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use naming::{
    ARRIVALS, CONNECTIONS, CONTENT, DATASET, DURATION, FILL, HIT_RATIO, IDLE, KEEP_ALIVE,
    KEY_RANGE, MIX, ON, OptionId, PER_CONNECTION, PIPELINE, PRINT_WORKLOAD, RATE, REPEAT, REPLAY,
    REQUESTS, RETRY, SHARD, SIZE, STDIN_ARG, TESTS, TTL, VERIFY, WARMUP, WINDOW, WORKLOAD,
};
use report::slo::Slo;
use traffic::replay::{Glob, Replay, Selection, Speed};

use super::UsageError;
use super::run::ParsedArgs;
use spec::values::{Count, OnErrorArg, WindowArg, YesNo, count_in, percent, seconds};

/// Selection and speed of a record, for every command that sends one.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Record")]
pub struct RecordOptions {
    /// Speed of recorded time: 2 for twice as fast; a ramp, 1..4/60s; steps, 1,2,4/10s; for keystorm
    /// replay also max, as fast as replies allow
    #[arg(long, value_name = "SPEED", default_value = "1", value_parser = Speed::parse)]
    pub speed: Speed,
    /// Wait for the reply to a client's command before its next one is sent, as an application without
    /// pipelining does; by default each command is sent when it is due
    #[arg(long)]
    wait_replies: bool,
    /// First write the keys that the record reads before writing them, with types and sizes as far as recorded
    #[arg(long)]
    pub prefill: bool,
    /// Send the record this many times, one after another
    #[arg(long = "loop", value_name = "TIMES", default_value = "1", value_parser = count_in(1..=1_000_000))]
    pub rounds: u32,
    /// Send only this much of the record's time, from its first command on
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    first: Option<Duration>,
    /// Send only these commands: get,set
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave these commands out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    without: Vec<String>,
    /// Send only commands whose first key matches: 'user:*'; repeat it for several patterns
    #[arg(long = "only-keys", value_name = "PATTERN")]
    only_keys: Vec<String>,
    /// Send only commands of these databases
    #[arg(long = "only-db", value_name = "NUMBERS", value_delimiter = ',')]
    only_db: Vec<u32>,
    /// Send only the commands of this percentage of the clients: 10
    #[arg(long = "only-clients", value_name = "PERCENT", value_parser = percent)]
    only_clients: Option<f64>,
    /// The format of the files, if their content does not show it
    #[arg(long = "record-format", value_name = "NAME")]
    record_format: Option<String>,
    /// Write to the server although it may be the one that was recorded, or holds keys
    #[arg(long)]
    pub yes: bool,
    /// Files of the record, from the words of the command line.
    #[arg(skip)]
    pub files: Vec<PathBuf>,
    /// Set if the plan says how many connections there are; otherwise each recorded client has one.
    #[arg(skip)]
    pub keeps_connections: bool,
}

/// Recorded traffic for two servers, in turn.
pub struct ReplayedSides {
    /// Record that is sent.
    pub record: RecordOptions,
    /// Set if answers are compared.
    pub answers: bool,
    /// The target of the search for head room, if there is one.
    pub slo: Option<Slo>,
}

impl RecordOptions {
    /// The files, and which of their commands are sent.
    pub fn replay(&self) -> Replay {
        let upper = |names: &[String]| names.iter().map(|name| name.to_ascii_uppercase()).collect();
        Replay {
            paths: self.files.clone(),
            format: self.record_format.clone(),
            selection: Selection {
                commands: upper(&self.only),
                not_commands: upper(&self.without),
                keys: self.only_keys.iter().map(|pattern| Glob::new(pattern)).collect(),
                dbs: self.only_db.clone(),
                clients: self.only_clients.map(|percent| percent / 100.0),
            },
            recorded_ns: self.first.map(|first| first.as_nanos() as u64),
            to_cache: false,
            to_cluster: false,
        }
    }
}

/// Options of a run that conflict with a record, each with the reason.
pub const REFUSED: [(OptionId, &str); 27] = [
    (REQUESTS, "does not go with a record, which has a fixed size; see --first and --loop"),
    (PER_CONNECTION, "does not go with a record, which says how many commands each client sends"),
    (RATE, "does not go with a record, which says when commands are sent; see --speed"),
    (ARRIVALS, "does not go with a record, which says when commands are sent; see --speed"),
    (DURATION, "does not go with a record, which has its length; see --first, --speed and --loop"),
    (WARMUP, "does not go with a record, which has no warm-up"),
    (TESTS, "does not go with a record, which says what is sent"),
    (WORKLOAD, "does not go with a record, which says what is sent"),
    (MIX, "does not go with a record, which says what is sent"),
    (DATASET, "does not go with a record, which says what is sent"),
    (REPLAY, "does not go with a record: name its files after keystorm replay"),
    (KEY_RANGE, "does not go with a record, which says which keys are sent"),
    (SIZE, "does not go with a record, which says which values are sent"),
    (CONTENT, "does not go with a record, which says which values are sent"),
    (TTL, "does not go with a record, which says how long keys live"),
    (FILL, "does not go with a record: use --prefill"),
    (VERIFY, "does not go with a record: its values do not derive from keys"),
    (HIT_RATIO, "does not go with a record, which says which keys are read"),
    (RETRY, "does not go with a record: its commands are sent once, at their time"),
    (SHARD, "does not go with a record: one process sends it"),
    (ON, "does not go with a record: one process sends it"),
    (KEEP_ALIVE, "does not go with a record: its clients keep their connections"),
    (IDLE, "does not go with a record: the option opens connections and sends nothing"),
    (REPEAT, "does not go with a record: use --loop"),
    (STDIN_ARG, "does not go with a record, which says what is sent"),
    (WINDOW, "does not go with a record: use --wait-replies"),
    (PRINT_WORKLOAD, "does not go with a record: no workload file can say what it does"),
];

/// Maximum number of commands in flight on a connection, if each command is sent when it is due.
const DEPTH: i64 = 10_000;

/// Returns the options, with these files, and makes the load a frame for their commands.
///
/// # Errors
/// Returns an error if no file is named, or the options make no sense.
pub fn recorded(
    name: &str,
    mut options: RecordOptions,
    files: Vec<OsString>,
    load: &mut ParsedArgs,
) -> Result<RecordOptions, UsageError> {
    let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
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
    (options.files, options.keeps_connections) = (files, load.has(CONNECTIONS));
    if options.wait_replies && load.has(PIPELINE) {
        return Err(UsageError("-P: with --wait-replies, a client sends one at a time".to_owned()));
    }
    let depth = if options.speed.is_max() || options.wait_replies { 1 } else { DEPTH };
    load.complete(move |spec| {
        spec.load.pipeline.get_or_insert(Count(depth));
        spec.recording.on_error.get_or_insert(OnErrorArg::Count);
        spec.load.window.get_or_insert(WindowArg::Rolling);
        spec.load.reconnect.get_or_insert(YesNo::Yes);
        // Its plan is the frame for the recorded commands.
        spec.command = ["get", "k"].map(OsString::from).to_vec();
    });
    Ok(options)
}
