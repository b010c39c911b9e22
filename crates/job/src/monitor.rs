//! What accompanies a run, and what a tool prints in a way of its own: the traits by which an imitated
//! tool joins a run whose loop does not know it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use report::{Format, Run};
use runner::{FailedRequests, LiveRate, Observer, Snapshot};
use workload::Plan;

use crate::End;

/// The text of a fault with the option names of the tool that was called.
pub fn in_its_words(reports: Option<&Arc<dyn ToolOutput>>, text: String) -> String {
    match reports {
        Some(reports) => reports.in_its_words(&text),
        None => text,
    }
}

/// Reports of a front end's own, which are more than a layout on standard output.
pub trait ToolOutput: Send + Sync {
    /// Lays out the runs of a job.
    fn format(&self) -> Box<dyn Format>;

    /// keystorm's error message in this tool's words: its options have other names.
    fn in_its_words(&self, text: &str) -> String;

    /// Whether a job that Ctrl-C ended is one that went well: some tools print what there is and exit with 0.
    fn interrupted_is_success(&self) -> bool {
        false
    }

    /// A job that failed, as this tool ends then. `why` is what keystorm says of it.
    fn failure(&self, _error: &anyhow::Error, why: String) -> anyhow::Error {
        anyhow::Error::msg(why)
    }

    /// Nobody listens where the server should be, for this reason, and that was found `tried` times
    /// before. How long to wait before the next try; `None` for no more.
    ///
    /// # Errors
    /// Standard error is closed.
    fn not_there(&self, _why: &str, _tried: u32) -> anyhow::Result<Option<Duration>> {
        Ok(None)
    }

    /// The document that the tool would write of a run, if it writes one.
    fn document(&self, _run: &report::Summary<'_>) -> Option<String> {
        None
    }

    /// Goes along with run number `run`, from 1, which ends when `interrupted` is set.
    fn monitor<'p>(
        &self,
        plan: &'p Plan,
        run: u32,
        interrupted: &'p AtomicBool,
    ) -> Box<dyn RunMonitor + 'p>;
}

/// What goes along with one run.
pub trait RunMonitor: Observer {
    /// The run is about to begin.
    ///
    /// # Errors
    /// Standard error is closed, or a file or port that it needs cannot be opened.
    fn begin(&mut self) -> anyhow::Result<()>;

    /// It has ended. Whether all is well.
    ///
    /// # Errors
    /// Standard output is closed, or a resource that the end needs is missing.
    fn end(&mut self, run: &Run) -> anyhow::Result<bool>;

    /// How the job ends with a run that this, and nobody's Ctrl-C, interrupted. No other run follows.
    fn end_of_its_own(&self) -> Option<End> {
        None
    }

    /// The rate of the run, if it may change it on the way.
    fn rate(&self) -> Option<Arc<LiveRate>> {
        None
    }
}

impl Observer for Box<dyn RunMonitor + '_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        (**self).interval(snapshot);
    }

    fn failed(&mut self, failed: &FailedRequests) {
        (**self).failed(failed);
    }
}
