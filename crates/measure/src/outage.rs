//! Outages: spans in which nothing succeeded, as reports list them.

use serde::{Deserialize, Serialize};

use crate::slices::Failures;

/// A span in which none of one server's requests succeeded, although some were due. Times are nanoseconds
/// from the start of the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outage {
    /// The server that had to answer when it began: its index in the measurement's nodes, or among the plan's
    /// servers if there are no nodes.
    pub node: u16,
    /// Time of the last success before it.
    #[serde(rename = "from_s", with = "crate::units::seconds")]
    pub from_ns: u64,
    /// Time of the first success after it, at whichever server had to answer then, or the end of the run.
    #[serde(rename = "to_s", with = "crate::units::seconds")]
    pub to_ns: u64,
    /// Set if the outage lasted to the end of the run.
    pub to_the_end: bool,
    /// Set if nothing succeeded on any other server either, from its beginning to the end of the run.
    pub of_all: bool,
    /// Time of the first failed request; `None` if the server was only silent.
    #[serde(rename = "first_failure_s", with = "crate::units::seconds")]
    pub first_failure_ns: Option<u64>,
    /// Failures during the outage.
    #[serde(flatten)]
    pub failures: Failures,
    /// Successes per second in the second before it; `None` if that was too short to tell.
    #[serde(rename = "rate_before_rps")]
    pub rate_before_per_s: Option<f64>,
    /// Time from which the rate was 95 % of that for a tenth of a second; `None` if never.
    #[serde(rename = "recovered_s", with = "crate::units::seconds")]
    pub recovered_ns: Option<u64>,
}

impl Outage {
    /// Shortest outage with a failure, in nanoseconds.
    pub const FAILING_MIN_NS: u64 = 100_000_000;
    /// Shortest outage of mere silence, in nanoseconds. A busy machine can hold up a client for less.
    pub const SILENT_MIN_NS: u64 = 500_000_000;

    /// Returns whether the outage is long enough to be reported.
    pub fn is_long(&self) -> bool {
        let failing = self.first_failure_ns.is_some();
        self.length_ns() >= if failing { Self::FAILING_MIN_NS } else { Self::SILENT_MIN_NS }
    }

    /// Length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// Usual pauses of a run, which are no outages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsualPauses {
    /// Nanoseconds between two requests of a schedule; 0 without one.
    pub due_every_ns: u64,
    /// Median time of a reply, in nanoseconds.
    pub service_ns: u64,
}
