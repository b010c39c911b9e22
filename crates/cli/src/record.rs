//! The command line of `keystorm record`: which server, into which file, and what of the traffic.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use job::RecordJob;
use trace::Sample;
use workload::quantity;

use super::doctor;
use super::front::{Front, command, with_options};
use super::{Intent, UsageError};
use spec::values::{seconds, seconds_in};
use spec::{Dialect, ServerOptions, TlsArgs, protocol, target, tls};

/// Records the traffic of a server, for keystorm describe and keystorm replay: by MONITOR, on a
/// cluster (--cluster) of all its primaries, or by memcached's watch. MONITOR makes the server
/// slower: by how much is measured and printed. Values are left out, and only their sizes kept,
/// unless --values is given; passwords are never recorded.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm record",
    override_usage = "keystorm record [OPTIONS] -o FILE [TARGET]",
    after_help = EXAMPLE,
)]
struct Options {
    /// The server in one word: HOST, HOST:PORT, the PATH of a unix socket, or a URI as for -u
    #[arg(value_name = "TARGET", conflicts_with_all = ["host", "port", "socket", "uri"])]
    target: Option<String>,
    #[command(flatten, next_help_heading = "Server")]
    server: ServerOptions,
    #[command(flatten, next_help_heading = "TLS")]
    tls: TlsArgs,
    /// The file to write; it must not exist
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        required = true,
        help_heading = "Recording"
    )]
    output: PathBuf,
    /// Length of the recording [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", help_heading = "Recording", value_parser = seconds)]
    duration: Option<Duration>,
    /// Stop when this many bytes wait in the server's output buffer for the recorder
    #[arg(
        long,
        value_name = "SIZE",
        help_heading = "Recording",
        default_value = "64M",
        value_parser = bytes
    )]
    max_behind: u64,
    /// Record only for this long, once in each --every
    #[arg(long, value_name = "TIME", help_heading = "Recording", requires = "every",
          value_parser = seconds)]
    on_for: Option<Duration>,
    /// Time from one beginning to the next
    #[arg(long, value_name = "TIME", help_heading = "Recording", requires = "on_for",
          value_parser = seconds)]
    every: Option<Duration>,
    /// Record only some of the clients, such as 10%, or of the keys, such as keys:10%
    #[arg(long, value_name = "SHARE", help_heading = "Contents")]
    sample: Option<Sample>,
    /// Replace the names of keys, fields and members by others of the same length and structure;
    /// leave scripts out
    #[arg(long, help_heading = "Contents")]
    anonymise: bool,
    /// Keep values
    #[arg(long, help_heading = "Contents", conflicts_with = "anonymise")]
    values: bool,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Exit codes: 0 if all of the time was recorded, 1 if recording had to stop early (what was recorded
is in the file), 2 for a wrong command line, 130 after Ctrl-C if --duration is given.

Examples:
  A minute of traffic, without values and with made-up names:
    keystorm record -h cache1 --duration 60s --anonymise -o cache1.ksr

  Two seconds of every twenty, of a tenth of the clients, until Ctrl-C:
    keystorm record -h cache1 --on-for 2s --every 20s --sample 10% -o cache1.ksr";

/// Longest recording, in seconds.
const SECONDS_MAX: f64 = 30.0 * 86_400.0;
/// Shortest recording, in seconds.
const SECONDS_MIN: f64 = 0.1;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["record"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(options: Options) -> Result<Intent, UsageError> {
    record_job(options).map(|job| Intent::Record(Box::new(job))).map_err(UsageError)
}

fn record_job(mut options: Options) -> Result<RecordJob, String> {
    let mut notes = Vec::new();
    if let Some(word) = options.target.take() {
        doctor::put(&word, &mut options.server)?;
    }
    let mut target = target(&options.server, Dialect::default())?;
    target.tls = tls(&options.tls, &target, Dialect::default(), &mut notes)?;
    let within = |option: &str, time: Option<Duration>| {
        let checked = time.map(|time| seconds_in(option, time, SECONDS_MIN..=SECONDS_MAX));
        checked.transpose().map(|seconds| seconds.map(Duration::from_secs_f64))
    };
    let duration = within("--duration", options.duration)?;
    let on_for = within("--on-for", options.on_for)?;
    let every = within("--every", options.every)?;
    let cycle = on_for.zip(every);
    if let Some((on_for, every)) = cycle
        && on_for >= every
    {
        return Err("--on-for: must be shorter than --every".into());
    }
    Ok(RecordJob {
        protocol: protocol(&options.server)?,
        target,
        output: options.output,
        duration,
        behind_max_bytes: options.max_behind,
        cycle,
        sample: options.sample,
        anonymises: options.anonymise,
        keeps_values: options.values,
        notes,
    })
}

/// A number of bytes, such as `64M` or `64mb`.
fn bytes(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(['b', 'B']);
    match quantity::count(number)? {
        0 => Err("must be above 0".into()),
        bytes => Ok(bytes),
    }
}
