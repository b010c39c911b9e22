//! Jobs of the commands on recorded traffic: `keystorm record` and `keystorm describe`.

use std::path::PathBuf;
use std::time::Duration;

use trace::Sample;
use workload::{ProtocolKind, Target};

use crate::PageOptions;

/// Job of `keystorm record`.
#[derive(Debug)]
pub struct RecordJob {
    /// The server, or a node of the cluster, that is recorded.
    pub target: Target,
    /// Protocol of the server.
    pub protocol: ProtocolKind,
    /// The file to write, which must not exist.
    pub output: PathBuf,
    /// Total length of the recording; until Ctrl-C if not given.
    pub duration: Option<Duration>,
    /// Most bytes that may wait in the server's output buffer; recording stops beyond that.
    pub behind_max_bytes: u64,
    /// Length of one recording, and time from its start to the next start; continuous if not given.
    pub cycle: Option<(Duration, Duration)>,
    /// The part of the traffic that is recorded; all of it if not given.
    pub sample: Option<Sample>,
    /// Set if names become pseudonyms.
    pub anonymises: bool,
    /// Set if values are kept.
    pub keeps_values: bool,
    /// Notes on the command line, which are printed first.
    pub notes: Vec<String>,
}

/// Job of `keystorm describe`.
#[derive(Debug)]
pub struct DescribeJob {
    /// The files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// The format of all files; recognized by their content if not given.
    pub format: Option<String>,
    /// Set if the result is JSON.
    pub json: bool,
    /// Destination of a workload file for traffic like the recorded one.
    pub workload: Option<PathBuf>,
    /// Places of its page and charts.
    pub pages: PageOptions,
}
