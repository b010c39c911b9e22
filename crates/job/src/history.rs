//! What the commands on a history are to do: `keystorm history`, and `keystorm compare --baseline`.

use std::path::PathBuf;

use crate::{InconclusivePolicy, MetricsAt, PageOptions, UntilSure};

/// How a history is read and printed.
#[derive(Debug)]
pub struct HistoryOptions {
    /// The folder.
    pub dir: PathBuf,
    /// Whether machines with one model of processor count as one.
    pub any_machine: bool,
    /// Whether runs count whose client did not do its work.
    pub disturbed: bool,
    /// `table` or `json`.
    pub format: String,
    /// The file that the JSON is saved in beside what is printed.
    pub json: Option<PathBuf>,
    /// Its page and charts.
    pub pages: PageOptions,
}

/// What `keystorm history` is to do.
#[derive(Debug)]
pub struct HistoryJob {
    /// What is read and printed.
    pub options: HistoryOptions,
}

/// What `keystorm compare --baseline` is to do.
#[derive(Debug)]
pub struct BaselineJob {
    /// What is read and printed.
    pub options: HistoryOptions,
    /// The runs that are judged; none for the newest of the folder.
    pub files: Vec<PathBuf>,
    /// The runs of an unchanged server that was measured beside.
    pub canary: Option<PathBuf>,
    /// How many runs of a test count.
    pub last: usize,
    /// The per cent by which a figure may have become worse.
    pub fail_on_regression: Option<f64>,
    /// What becomes of a gate of which the runs do not say whether it is passed.
    pub inconclusive: Option<InconclusivePolicy>,
    /// How well changes are to be known.
    pub until_sure: Option<UntilSure>,
    /// Where the page is served while runs are repeated for that.
    pub live: Option<MetricsAt>,
}
