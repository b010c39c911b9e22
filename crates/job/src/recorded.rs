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
    /// What it speaks.
    pub protocol: ProtocolKind,
    /// The file to write, which must not exist.
    pub output: PathBuf,
    /// After which time it ends; by default with Ctrl-C.
    pub duration: Option<Duration>,
    /// How many bytes may wait in the server's output buffer.
    pub behind_max_bytes: u64,
    /// How long it records, and how often it begins; by default all the time.
    pub cycle: Option<(Duration, Duration)>,
    /// The part of the traffic that is recorded; all of it if not given.
    pub sample: Option<Sample>,
    /// Whether names become pseudonyms.
    pub anonymises: bool,
    /// Whether values are kept.
    pub keeps_values: bool,
    /// What to say of the command line.
    pub notes: Vec<String>,
}

/// What `keystorm describe` is to do.
#[derive(Debug)]
pub struct DescribeJob {
    /// Records; `-` for standard input
    pub files: Vec<PathBuf>,
    /// The format of all of them; found by their content if not given
    pub format: Option<String>,
    /// Whether the result is JSON.
    pub json: bool,
    /// Where a workload file goes that makes traffic like it.
    pub workload: Option<PathBuf>,
    /// Its page and charts.
    pub pages: PageOptions,
}
