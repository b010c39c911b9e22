//! Share of failed requests of a run.

use std::ops::AddAssign;

use measure::{Ending, Measurement};

/// Requests, and the failed ones among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    /// Requests that were sent, whatever their outcome.
    pub asked: u64,
    /// Error replies, requests that were lost or timed out, and those left unanswered at the end of an
    /// uninterrupted run.
    pub failed: u64,
}

impl Failures {
    /// Counts the failures of a run.
    pub fn from_measurement(measurement: &Measurement) -> Self {
        let total = measurement.requested();
        let connections = &total.connections;
        let given_up = connections.lost.saturating_add(connections.timed_out);
        // An interrupted run leaves requests in flight, which have not failed.
        let at_the_end = match measurement.ending {
            Ending::Interrupted => 0,
            Ending::Complete | Ending::Failed(_) => connections.unanswered,
        };
        Self {
            asked: [given_up, connections.unanswered]
                .into_iter()
                .fold(total.requests(), u64::saturating_add),
            failed: total.errors.total().saturating_add(given_up).saturating_add(at_the_end),
        }
    }

    /// Returns whether requests were sent and all of them failed.
    pub fn are_all(&self) -> bool {
        self.asked > 0 && self.failed >= self.asked
    }

    /// The failed share in percent; 0 if nothing was sent.
    pub fn percent(&self) -> f64 {
        if self.asked == 0 { 0.0 } else { self.failed as f64 * 100.0 / self.asked as f64 }
    }
}

impl AddAssign for Failures {
    fn add_assign(&mut self, more: Self) {
        self.asked = self.asked.saturating_add(more.asked);
        self.failed = self.failed.saturating_add(more.failed);
    }
}
