//! Jobs of the commands on a history: `keystorm history`, and `keystorm compare --baseline`.

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
    /// Set if runs count in which the client did not do its work.
    pub disturbed: bool,
    /// `table` or `json`.
    pub format: String,
    /// The file that the JSON is saved in, in addition to the printed output.
    pub json: Option<PathBuf>,
    /// Places of its page and charts.
    pub pages: PageOptions,
}

/// Job of `keystorm history`.
#[derive(Debug)]
pub struct HistoryJob {
    /// Options for reading and printing.
    pub options: HistoryOptions,
}

/// Job of `keystorm compare --baseline`.
#[derive(Debug)]
pub struct BaselineJob {
    /// Options for reading and printing.
    pub options: HistoryOptions,
    /// The runs to judge; empty for the newest of the folder.
    pub files: Vec<PathBuf>,
    /// The runs of an unchanged server that was measured beside.
    pub canary: Option<PathBuf>,
    /// Number of runs of a test that count.
    pub last: usize,
    /// The figures that are judged.
    pub metrics: Vec<Metric>,
    /// The per cent by which a figure may become worse.
    pub fail_on_regression: Option<f64>,
    /// Policy for a gate of which the runs do not say whether it is passed.
    pub inconclusive: Option<InconclusivePolicy>,
    /// Precision that changes are to reach.
    pub until_sure: Option<UntilSure>,
    /// Address at which the page is served while `until_sure` repeats runs.
    pub live: Option<MetricsAt>,
}
