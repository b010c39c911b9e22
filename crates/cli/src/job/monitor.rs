//! The traits by which an imitated tool takes part in a run: its actions during the run, and its own kind of
//! output.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use report::{Format, Run};
use runner::{FailedRequests, LiveRate, Observer, Snapshot};
use workload::Plan;

use crate::job::End;

/// The output of an imitated tool that prints more than a layout on standard output.
pub trait ToolOutput: Send + Sync {
    /// Lays out the runs of a job.
    fn format(&self) -> Box<dyn Format>;

    /// Returns whether the exit code is 0 after Ctrl-C: some tools then print their results and succeed.
    fn interrupted_is_success(&self) -> bool {
        false
    }

    /// The error with which this tool ends when a job fails. `why` is keystorm's message.
    fn failure(&self, _error: &anyhow::Error, why: String) -> anyhow::Error {
        anyhow::Error::msg(why)
    }

    /// Returns the time to wait before connecting again, if there is no connection for the reason `why` after
    /// `tried` earlier attempts; `None` to give up.
    ///
    /// # Errors
    /// Returns an error if standard error is closed.
    fn wait_for_server(&self, _why: &str, _tried: u32) -> anyhow::Result<Option<Duration>> {
        Ok(None)
    }

    /// The document (JSON, for instance) that the tool writes about a run, if any.
    fn document(&self, _run: &report::Summary<'_>) -> Option<String> {
        None
    }

    /// The monitor of run number `run`, from 1. Setting `interrupted` ends that run.
    fn monitor<'p>(
        &self,
        plan: &'p Plan,
        run: u32,
        interrupted: &'p AtomicBool,
    ) -> Box<dyn RunMonitor + 'p>;
}

/// Observer of one run, with its beginning and end.
pub trait RunMonitor: Observer {
    /// Called before the run begins.
    ///
    /// # Errors
    /// Returns an error if standard error is closed, or a file or port of the monitor cannot be opened.
    fn begin(&mut self) -> anyhow::Result<()>;

    /// Called after the run has ended. Returns whether the run is a success.
    ///
    /// # Errors
    /// Returns an error if standard output is closed, or a resource that the end needs is missing.
    fn end(&mut self, run: &Run) -> anyhow::Result<bool>;

    /// Returns how the job ends if this monitor, and not Ctrl-C, interrupted the run. No other run follows
    /// then.
    fn end_of_its_own(&self) -> Option<End> {
        None
    }

    /// The rate of the run, if the monitor may change it during the run.
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
