//! Sums of a run, of which the difference between two moments makes a line of progress.

use measure::Tally;
use workload::Plan;

use super::lookups;

/// Sums since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) at_ns: u64,
    pub(crate) requests: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) timed: u64,
    pub(crate) latency_ms: f64,
    pub(crate) lost: u64,
    /// Error replies, how often requests were sent again, and how many requests.
    pub(crate) errors: u64,
    pub(crate) retries: u64,
    pub(crate) retried: u64,
    /// Lookups that found something, and lookups that did not.
    pub(crate) lookups: [u64; 2],
}

impl Sum {
    pub(crate) fn new(plan: &Plan, total: &Tally, at_ns: u64) -> Self {
        let timed = total.commands.iter().map(|command| command.service.count());
        let ms = total.commands.iter().map(|command| {
            command.service.mean_ns().unwrap_or_default() * command.service.count() as f64 / 1e6
        });
        Self {
            at_ns,
            requests: total.requests(),
            sent: total.connections.bytes_out,
            received: total.connections.bytes_in,
            timed: timed.sum(),
            latency_ms: ms.sum(),
            lost: total.connections.dropped,
            errors: total.errors.total(),
            retries: total.connections.retries,
            retried: total.connections.retried,
            lookups: lookups(plan, total)
                .iter()
                .fold([0; 2], |[hits, misses], of| [hits + of.hits, misses + of.misses]),
        }
    }

    /// Misses in a hundred lookups since `before`.
    pub(crate) fn miss_percent(&self, before: &Self) -> f64 {
        let [hits, misses] = [0, 1].map(|at| self.lookups[at].saturating_sub(before.lookups[at]));
        if hits + misses > 0 { 100.0 * misses as f64 / (hits + misses) as f64 } else { 0.0 }
    }

    /// Requests and bytes per second, and mean latency, since `before`.
    pub(crate) fn rates(&self, before: &Self) -> [f64; 3] {
        let seconds = (self.at_ns - before.at_ns.min(self.at_ns)) as f64 / 1e9;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let timed = self.timed.saturating_sub(before.timed);
        let latency = self.latency_ms - before.latency_ms;
        [
            rate(self.requests.saturating_sub(before.requests)),
            rate((self.sent + self.received).saturating_sub(before.sent + before.received)),
            if timed > 0 { latency / timed as f64 } else { 0.0 },
        ]
    }
}
