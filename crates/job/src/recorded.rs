//! What the commands on recorded traffic are to do: `keystorm record` and `keystorm describe`.

use std::path::PathBuf;
use std::time::Duration;

use trace::Sample;
use workload::{ProtocolKind, Target};

use crate::PageOptions;

/// What `keystorm record` is to do.
#[derive(Debug)]
pub struct RecordJob {
    /// The server, or a node of the cluster, that is recorded.
    pub target: Target,
    /// Its protocol.
    pub protocol: ProtocolKind,
    /// The file to write, which must not exist.
    pub output: PathBuf,
    /// How long it records in all; until Ctrl-C if not given.
    pub duration: Option<Duration>,
    /// Most bytes that may wait in the server's output buffer; with more, recording stops.
    pub behind_max_bytes: u64,
    /// How long it records at a time, and the time from one such beginning to the next; without a break if not given.
    pub cycle: Option<(Duration, Duration)>,
    /// The part of the traffic that is recorded; all of it if not given.
    pub sample: Option<Sample>,
    /// Whether names become pseudonyms.
    pub anonymises: bool,
    /// Whether values are kept.
    pub keeps_values: bool,
    /// Notes on the command line, which are printed first.
    pub notes: Vec<String>,
}

/// What `keystorm describe` is to do.
#[derive(Debug)]
pub struct DescribeJob {
    /// The files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// The format of all of them; recognized by their content if not given.
    pub format: Option<String>,
    /// Whether the result is JSON.
    pub json: bool,
    /// Where a workload file goes that makes traffic like it.
    pub workload: Option<PathBuf>,
    /// Its page and charts.
    pub pages: PageOptions,
}
