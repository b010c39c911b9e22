//! Combined totals of the receivers' threads.

use measure::{Backlog, DeliveryCounts, Invalidations, KeptKeys, Latency, Waits};

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
        let Self {
            counts,
            by_receiver,
            spread,
            waits,
            under_way,
            remains,
            polls,
            invalidations,
            removable,
        } = its;
        self.counts.merge(&counts);
        merge(&mut self.by_receiver, by_receiver, |(least, most), (few, many)| {
            (*least, *most) = ((*least).min(few), (*most).max(many));
        });
        merge(&mut self.spread, spread, |(first, last), its| {
            first.merge(&its.0);
            last.merge(&its.1);
        });
        merge(&mut self.waits, waits, |all, its| all.merge(&its));
        merge(&mut self.under_way, under_way, InFlightTimeline::merge);
        merge(&mut self.polls, polls, |(gap, behind), its| {
            gap.merge(&its.0);
            *behind += its.1;
        });
        merge(&mut self.invalidations, invalidations, |all, its| all.merge(&its));
        self.remains = self.remains.or(remains);
        self.removable = self.removable.saturating_add(removable);
        self
    }
}

/// Messages that are left at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    pub(crate) left: u64,
    pub(crate) pending: u64,
    /// Set if a server did not give its count.
    pub(crate) is_uncounted: bool,
    /// Keys that were not removed.
    pub(crate) kept: Option<KeptKeys>,
}

impl Leftovers {
    /// A key stays.
    pub(super) fn keep(&mut self, why: &str) {
        let kept = self.kept.get_or_insert_with(|| KeptKeys { keys: 0, why: why.to_owned() });
        kept.keys += 1;
    }

    pub(super) fn add(&mut self, more: Self) {
        self.left += more.left;
        self.pending += more.pending;
        self.is_uncounted |= more.is_uncounted;
        match (&mut self.kept, more.kept) {
            (Some(kept), Some(more)) => kept.merge(&more),
            (kept, more) => *kept = kept.take().or(more),
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

/// Merges into a figure what another thread has of it, if any.
fn merge<T>(all: &mut Option<T>, its: Option<T>, merge: impl FnOnce(&mut T, T)) {
    match (all.as_mut(), its) {
        (Some(all), Some(its)) => merge(all, its),
        (None, its) => *all = its,
        (Some(_), None) => {}
    }
}
