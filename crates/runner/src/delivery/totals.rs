//! Combined totals of the receivers' threads.

use measure::{Backlog, DeliveryCounts, Invalidations, Latency, Waits};

use super::closing::Leftovers;
use super::under_way::InFlightTimeline;

/// Totals of a thread of receivers.
#[derive(Debug, Default)]
pub(crate) struct ReceiverTotals {
    pub(super) counts: DeliveryCounts,
    pub(super) by_receiver: Option<(u64, u64)>,
    pub(super) spread: Option<(Latency, Latency)>,
    pub(super) waits: Option<Waits>,
    pub(super) under_way: Option<InFlightTimeline>,
    pub(super) remains: Option<Leftovers>,
    /// Latency between reads, and the number of receivers that were behind at the end, if receivers poll.
    pub(super) polls: Option<(Latency, u64)>,
    /// Counts of caches.
    pub(super) invalidations: Option<Invalidations>,
    /// Messages that may have been removed before caches had them.
    pub(super) removable: u64,
}

impl ReceiverTotals {
    /// Merges the totals of two threads.
    pub(super) fn merged(mut self, its: Self) -> Self {
        self.counts.merge(&its.counts);
        let by_receiver =
            joined(self.by_receiver, its.by_receiver, |(least, most), (few, many)| {
                (u64::min(least, few), u64::max(most, many))
            });
        let spread = joined(self.spread, its.spread, |(mut first, mut last), its| {
            first.merge(&its.0);
            last.merge(&its.1);
            (first, last)
        });
        let polls = joined(self.polls, its.polls, |(mut gap, behind), its| {
            gap.merge(&its.0);
            (gap, behind + its.1)
        });
        let waits = joined(self.waits, its.waits, |mut all, its| {
            all.merge(&its);
            all
        });
        let under_way = joined(self.under_way, its.under_way, |mut all, its| {
            all.merge(its);
            all
        });
        let invalidations = joined(self.invalidations, its.invalidations, |mut all, its| {
            all.merge(&its);
            all
        });
        let remains = self.remains.or(its.remains);
        Self {
            counts: self.counts,
            by_receiver,
            spread,
            waits,
            under_way,
            remains,
            polls,
            invalidations,
            removable: self.removable.saturating_add(its.removable),
        }
    }
}

/// Adds the messages left in the queues to the backlog at the end of a run of `elapsed_ns`.
pub(super) fn count_remains(waits: &mut Waits, remains: Option<&Leftovers>, elapsed_ns: u64) {
    let remains = remains.filter(|remains| !remains.is_uncounted);
    let left = remains.map_or(0, |remains| remains.left);
    // Without a receiver, the time at which these were sent is unknown.
    match waits.backlog.last_mut() {
        Some(last) => last.messages += left,
        None if left > 0 => waits.backlog.push(Backlog { at_ns: elapsed_ns, messages: left }),
        None => {}
    }
    waits.left = remains.map(|remains| remains.left);
    waits.pending = remains.map(|remains| remains.pending);
}

/// Returns both joined, or the one that is there.
fn joined<T>(a: Option<T>, b: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (a, b) => a.or(b),
    }
}
