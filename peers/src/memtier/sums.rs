//! Sums of a run, of which the difference between two moments makes a line of progress.

use measure::Tally;
use workload::Plan;

use crate::memtier::layout::{RetryCounts, lookups};

/// Sums since the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) at_ns: u64,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) timed: u64,
    pub(super) latency_ms: f64,
    pub(super) lost: u64,
    /// Errors, requests that were sent again, and how often that was.
    pub(super) retried: RetryCounts,
    /// Lookups that found something, and lookups that did not.
    pub(super) lookups: [u64; 2],
}

impl Sum {
    pub(super) fn new(plan: &Plan, total: &Tally, at_ns: u64) -> Self {
        let timed = total.commands.iter().map(|command| command.service.count());
        let ms = total.commands.iter().map(|command| {
            command.service.mean_ns().unwrap_or_default() * command.service.count() as f64 / 1e6
        });
        Self {
            at_ns,
            requests: total.requests(),
            bytes: total.connections.bytes_in + total.connections.bytes_out,
            timed: timed.sum(),
            latency_ms: ms.sum(),
            lost: total.connections.dropped,
            retried: RetryCounts {
                errors: total.errors.total(),
                retries: total.connections.retries,
                retried: total.connections.retried,
            },
            lookups: found(plan, total),
        }
    }

    /// Misses in a hundred lookups since `before`.
    pub(super) fn miss_percent(&self, before: &Self) -> f64 {
        let [hits, misses] = [0, 1].map(|at| self.lookups[at].saturating_sub(before.lookups[at]));
        if hits + misses > 0 { 100.0 * misses as f64 / (hits + misses) as f64 } else { 0.0 }
    }

    /// Requests and bytes per second, and mean latency, since `before`.
    pub(super) fn rates(&self, before: &Self) -> [f64; 3] {
        let seconds = (self.at_ns - before.at_ns.min(self.at_ns)) as f64 / 1e9;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let timed = self.timed.saturating_sub(before.timed);
        let latency = self.latency_ms - before.latency_ms;
        [
            rate(self.requests.saturating_sub(before.requests)),
            rate(self.bytes.saturating_sub(before.bytes)),
            if timed > 0 { latency / timed as f64 } else { 0.0 },
        ]
    }
}

/// Lookups that found something, and lookups that did not.
pub(super) fn found(plan: &Plan, total: &Tally) -> [u64; 2] {
    lookups(plan, total)
        .iter()
        .fold([0; 2], |[hits, misses], of| [hits + of.hits, misses + of.misses])
}
