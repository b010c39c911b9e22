//! Options of `keystorm record`: server, file and selection of the traffic.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use cli::job::UsageError;
use spec::values::{seconds, seconds_in};
use traffic::Sample;
use workload::quantity;

use crate::commands::named_server::NamedServer;

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
pub(super) struct Options {
    #[command(flatten)]
    pub(super) server: NamedServer,
    /// The file to write; it must not exist
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        required = true,
        help_heading = "Recording"
    )]
    pub(super) output: PathBuf,
    /// Length of the recording [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", help_heading = "Recording", value_parser = seconds)]
    pub(super) duration: Option<Duration>,
    /// Stop when this many bytes wait in the server's output buffer for the recorder
    #[arg(long, value_name = "SIZE", help_heading = "Recording", default_value = "64M",
          value_parser = bytes)]
    pub(super) max_behind: u64,
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
    pub(super) sample: Option<Sample>,
    /// Replace the names of keys, fields and members by others of the same length and structure;
    /// leave scripts out
    #[arg(long, help_heading = "Contents")]
    pub(super) anonymise: bool,
    /// Keep values
    #[arg(long, help_heading = "Contents", conflicts_with = "anonymise")]
    pub(super) values: bool,
}

/// Examples in the help; a test runs every line that begins with `$`.
const EXAMPLE: &str = include_str!("../../../help/record.txt").trim_ascii_end();

/// Longest recording, in seconds.
const SECONDS_MAX: f64 = 30.0 * 86_400.0;
/// Shortest recording, in seconds.
const SECONDS_MIN: f64 = 0.1;

impl Options {
    /// Returns the options if they are consistent.
    pub(super) fn checked(mut self) -> Result<Self, UsageError> {
        self.server.read()?;
        for (option, time) in
            [("--duration", self.duration), ("--on-for", self.on_for), ("--every", self.every)]
        {
            time.map_or(Ok(0.0), |time| seconds_in(option, time, SECONDS_MIN..=SECONDS_MAX))?;
        }
        if self.cycle().is_some_and(|(on_for, every)| on_for >= every) {
            return Err(UsageError("--on-for: must be shorter than --every".to_owned()));
        }
        Ok(self)
    }

    /// Length of one recording, and the time from its beginning to the next one's; `None` without a break.
    pub(super) fn cycle(&self) -> Option<(Duration, Duration)> {
        self.on_for.zip(self.every)
    }
}

/// A number of bytes, such as `64M` or `64mb`.
fn bytes(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(['b', 'B']);
    match quantity::count(number)? {
        0 => Err("must be above 0".into()),
        bytes => Ok(bytes),
    }
}
