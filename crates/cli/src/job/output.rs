//! Layout and destinations of the results of a job.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use report::{Format, FormatOptions, LiveLine};

use crate::job::{MetricsAt, PageOptions, ToolOutput};

/// Destination of the verdict: what limited a test, and what disturbed it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum VerdictTo {
    /// The report, or standard error if the layout has no room for it.
    #[default]
    Report,
    /// Standard error.
    Stderr,
    /// Nowhere.
    Nowhere,
    /// The end of this file.
    File(PathBuf),
}

/// Layout and destinations of results.
pub struct Output {
    /// A name of [`report::formats`].
    pub format: &'static str,
    /// Options of the format.
    pub options: FormatOptions,
    /// The file that reports go to, if not to standard output.
    pub to: Option<PathBuf>,
    /// Destination of verdicts.
    pub verdict: VerdictTo,
    /// Figures of the live line, if one is wanted.
    pub live: Option<LiveLine>,
    /// Time between rows of progress on standard error; `None` for no rows.
    pub progress: Option<Duration>,
    /// Address at which figures are served while tests run.
    pub metrics: Option<MetricsAt>,
    /// Address at which the page is served while tests run.
    pub live_page: Option<MetricsAt>,
    /// File in which results are saved.
    pub json: Option<PathBuf>,
    /// The folder in which results are saved in addition, each in a file of its own.
    pub keep: Option<PathBuf>,
    /// Places of a page of the results, and its charts.
    pub pages: PageOptions,
    /// File in which histograms are logged.
    pub hdr: Option<PathBuf>,
    /// Set if the server is sampled once a second during the load.
    pub sample: bool,
    /// Set if the server is asked for the execution times of its commands and its recorded latencies.
    pub server_latency: bool,
    /// Set if settings of the server that hide some of its latency are changed for the run.
    pub set_server: bool,
    /// Output of a front end that reports in its own way.
    pub reports: Option<Arc<dyn ToolOutput>>,
}

/// Number of steps of the distributions in keystorm's own report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DistributionDetail {
    /// A few steps by 1, 2, 5.
    #[default]
    Short,
    /// Every step.
    Full,
}

impl Output {
    /// Results that are only printed.
    pub fn printed(format: &'static str, options: FormatOptions) -> Self {
        Self {
            format,
            options,
            to: None,
            verdict: VerdictTo::default(),
            live: None,
            progress: None,
            metrics: None,
            live_page: None,
            json: None,
            keep: None,
            pages: PageOptions::default(),
            hdr: None,
            sample: false,
            server_latency: false,
            set_server: false,
            reports: None,
        }
    }

    /// Returns whether there are remarks that a peer's layout has no room for.
    pub(crate) fn needs_server_facts(&self) -> bool {
        let format = self.reports.is_none()
            && !matches!(self.format, "redis" | "quiet" | "csv" | "memtier" | "ycsb");
        format
            || self.verdict != VerdictTo::Nowhere
            || self.json.is_some()
            || self.keep.is_some()
            || self.pages.any()
            || self.metrics.is_some()
            || self.sample
            || self.server_latency
    }

    /// The format, ready to write.
    pub fn format(&self) -> Box<dyn Format> {
        if let Some(reports) = &self.reports {
            return reports.format();
        }
        report::by_name(self.format, self.options).expect("the name of a registered format")
    }
}
