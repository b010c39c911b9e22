//! What the commands on a history are to do: `keystorm history`, and `keystorm compare --baseline`.

use std::path::PathBuf;

use report::Metric;

use crate::{InconclusivePolicy, MetricsAt, PageOptions, UntilSure};

/// Options for reading and printing a history.
#[derive(Debug)]
pub struct HistoryOptions {
    /// The folder.
    pub dir: PathBuf,
    /// Set if machines with one model of processor count as one.
    pub any_machine: bool,
    /// Set if runs count whose client did not do its work.
    pub disturbed: bool,
    /// `table` or `json`.
    pub format: String,
    /// The file that the JSON is saved in beside what is printed.
    pub json: Option<PathBuf>,
    /// Places of its page and charts.
    pub pages: PageOptions,
}

/// Job of `keystorm history`.
#[derive(Debug)]
pub struct HistoryJob {
    /// Options for what is read and printed.
    pub options: HistoryOptions,
}

/// Job of `keystorm compare --baseline`.
#[derive(Debug)]
pub struct BaselineJob {
    /// Options for what is read and printed.
    pub options: HistoryOptions,
    /// The runs that are judged; none for the newest of the folder.
    pub files: Vec<PathBuf>,
    /// The runs of an unchanged server that was measured beside.
    pub canary: Option<PathBuf>,
    /// Number of runs of a test that count.
    pub last: usize,
    /// The figures that are judged.
    pub metrics: Vec<Metric>,
    /// The per cent by which a figure may have become worse.
    pub fail_on_regression: Option<f64>,
    /// Policy for a gate of which the runs do not say whether it is passed.
    pub inconclusive: Option<InconclusivePolicy>,
    /// Precision to which changes are to be known.
    pub until_sure: Option<UntilSure>,
    /// Address at which the page is served while runs are repeated for `until_sure`.
    pub live: Option<MetricsAt>,
}
