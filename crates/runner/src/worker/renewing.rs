//! Connections that are closed and reopened at a rate, although nothing is wrong with them.
//!
//! A connection whose turn has come gets no more requests and is closed when it has its replies, so that
//! nothing is lost. The turns of all workers, and of all shares of a plan, interleave as their requests do.
//! [`open`](super::open) opens the connections, and [`recovery`](super::recovery) handles failures of that.

use workload::{Lane, Plan};

/// Schedules connections that are closed and reopened at a fixed rate.
#[derive(Debug)]
pub(super) struct Renewals {
    /// Turns per second of all workers; 0 for none.
    per_s: u32,
    lane: Lane,
    start_ns: u64,
    /// Number of past turns of this worker.
    taken: u64,
    /// The connection to look at first at the next turn.
    pub(super) next: usize,
    /// Time of the next turn; `u64::MAX` for never.
    pub(super) next_ns: u64,
}

impl Renewals {
    // Out of line, here and below: workers are compiled for every engine, protocol and route.
    #[inline(never)]
    pub(super) fn new(plan: &Plan, worker: u16, workers: u16) -> Self {
        Self {
            per_s: plan.load.concurrency.renewed_per_s,
            lane: plan.load.shard.lane(worker, workers),
            start_ns: 0,
            taken: 0,
            next: 0,
            next_ns: u64::MAX,
        }
    }

    /// Load begins.
    #[inline(never)]
    pub(super) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.plan_next();
    }

    fn plan_next(&mut self) {
        if self.per_s > 0 {
            let number = u128::from(self.taken * self.lane.of + self.lane.index + 1);
            let after_ns = number * 1_000_000_000 / u128::from(self.per_s);
            self.next_ns =
                self.start_ns.saturating_add(u64::try_from(after_ns).unwrap_or(u64::MAX));
        }
    }

    /// Ends a turn.
    #[cold]
    #[inline(never)]
    pub(super) fn take(&mut self) {
        self.taken += 1;
        self.plan_next();
    }

    /// Leaves out the turns up to `now_ns`.
    #[cold]
    #[inline(never)]
    pub(super) fn skip(&mut self, now_ns: u64) {
        let since_ns = u128::from(now_ns.saturating_sub(self.start_ns));
        let turns = since_ns * u128::from(self.per_s) / 1_000_000_000 / u128::from(self.lane.of);
        self.taken = self.taken.max(u64::try_from(turns).unwrap_or(u64::MAX));
        while self.next_ns <= now_ns {
            self.take();
        }
    }
}
