//! Queue of lost connections and their next attempts.
//!
//! Exponential backoff with jitter: 10 ms, doubled after each failed attempt, up to a bound that depends on
//! the number of waiting connections. Each delay is drawn between half and all of that. A lone connection
//! tries at least every 100 ms, so that the end of an outage is noticed soon; many share that task, and each
//! waits up to a second. Once one is back, the others follow at the pace of the start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::ConnId;
use workload::Backoff;
use workload::random::{SplitMix, draw};

use crate::opening::Groups;

/// Delay before the first attempt.
const FIRST_NS: u64 = 10_000_000;
/// Longest delay of a lone connection.
const ALONE_MAX_NS: u64 = 100_000_000;
/// Longest delay of any connection.
const ANY_MAX_NS: u64 = 1_000_000_000;
/// Time that each waiting connection adds to the longest delay: together they try a hundred times a second.
const EACH_NS: u64 = 20_000_000;

/// Lost connections, ordered by the time of their next attempt.
#[derive(Debug)]
pub(crate) struct ReconnectQueue {
    due: BinaryHeap<Reverse<(u64, u32)>>,
    groups: Groups,
    random: SplitMix,
    /// The plan's backoff, used instead of the default one.
    backoff: Option<Backoff>,
    /// Set if an attempt failed since the last success.
    failing: bool,
}

impl ReconnectQueue {
    /// Returns an empty queue for up to `connections` of worker `worker`; `seed` and `backoff` are the plan's.
    pub(crate) fn new(connections: u32, seed: u64, worker: u16, backoff: Option<Backoff>) -> Self {
        Self {
            due: BinaryHeap::with_capacity(connections as usize),
            groups: Groups::new(0),
            random: SplitMix::new(draw(seed, worker.into())),
            backoff,
            failing: false,
        }
    }

    /// Queues a connection to be tried again, for the `attempt`th time in a row (from 0).
    pub(crate) fn again(&mut self, conn: ConnId, attempt: u32, now_ns: u64) {
        let waiting = self.due.len() as u64 + 1;
        let longest_ns = (waiting * EACH_NS).clamp(ALONE_MAX_NS, ANY_MAX_NS);
        let whole_ns = (FIRST_NS << attempt.min(10)).min(longest_ns);
        let drawn_ns = whole_ns / 2 + self.random.draw() % (whole_ns / 2);
        let delay_ns = self.backoff.map_or(drawn_ns, |backoff| backoff.delay_ns(attempt));
        self.failing |= attempt > 0;
        self.due.push(Reverse((now_ns + delay_ns, conn.0)));
    }

    /// Returns the next connection to try now, if there is one.
    pub(crate) fn next(&mut self, now_ns: u64) -> Option<ConnId> {
        let Reverse((due_ns, _)) = *self.due.peek()?;
        if due_ns > now_ns || !self.groups.admit(now_ns) {
            return None;
        }
        self.due.pop().map(|Reverse((_, conn))| ConnId(conn))
    }

    /// Time at which [`next`](Self::next) returns a connection; `u64::MAX` if none waits.
    pub(crate) fn wake_ns(&self) -> u64 {
        match self.due.peek() {
            None => u64::MAX,
            Some(Reverse((due_ns, _))) if self.groups.is_full() => {
                self.groups.next_ns().max(*due_ns)
            }
            Some(Reverse((due_ns, _))) => *due_ns,
        }
    }

    /// Notes that a connection is back, so that the others need not wait.
    pub(crate) fn back(&mut self, now_ns: u64) {
        if std::mem::take(&mut self.failing) {
            self.hurry(now_ns);
        }
    }

    /// Ends the delays of all waiting connections.
    pub(crate) fn hurry(&mut self, now_ns: u64) {
        let mut waiting = std::mem::take(&mut self.due).into_vec();
        waiting.iter_mut().for_each(|Reverse((due_ns, _))| *due_ns = now_ns);
        self.due = waiting.into();
    }

    /// Removes one connection.
    pub(crate) fn forget_one(&mut self, conn: ConnId) {
        self.due.retain(|Reverse((_, waiting))| *waiting != conn.0);
    }

    /// Removes all connections.
    pub(crate) fn forget(&mut self) {
        self.due.clear();
    }

    /// Number of connections that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.due.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn delays_double_within_their_bounds_and_jitter() {
        let mut delays = Vec::new();
        for seed in 0..200 {
            let mut reopening = ReconnectQueue::new(1, seed, 0, None);
            for attempt in 0..8 {
                reopening.again(ConnId(0), attempt, 0);
                let delay_ns = reopening.wake_ns();
                let whole_ns = ((10 * MS) << attempt).min(100 * MS);
                assert!((whole_ns / 2..whole_ns).contains(&delay_ns), "{attempt}: {delay_ns}");
                delays.push(delay_ns);
                reopening.forget();
            }
        }
        delays.sort_unstable();
        delays.dedup();
        assert!(delays.len() > 1500, "they differ");
    }

    #[test]
    fn a_plan_may_say_how_long_each_waits() {
        let backoff = Backoff { first_ns: 1000 * MS, factor: 1.5, longest_ns: 3000 * MS };
        let mut reopening = ReconnectQueue::new(1, 1, 0, Some(backoff));
        for (attempt, delay_ms) in [(0, 1000), (1, 1500), (2, 2250), (3, 3000), (9999, 3000)] {
            reopening.again(ConnId(0), attempt, 7);
            assert_eq!(reopening.wake_ns(), 7 + delay_ms * MS, "{attempt}");
            reopening.forget();
        }
    }

    #[test]
    fn many_wait_longer_each_and_follow_the_first_that_is_back() {
        let mut reopening = ReconnectQueue::new(1000, 1, 0, None);
        (0..1000).for_each(|n| reopening.again(ConnId(n), 20, 0));
        let late = reopening.due.iter().filter(|Reverse((at_ns, _))| *at_ns >= 500 * MS).count();
        assert!(late > 900 && reopening.waiting() == 1000);
        let now_ns = 600 * MS;
        reopening.back(now_ns);
        let at_once = std::iter::from_fn(|| reopening.next(now_ns)).count();
        assert!((1..=64).contains(&at_once), "a group at a time: {at_once}");
        let mut now_ns = now_ns;
        while reopening.waiting() > 0 {
            now_ns = reopening.wake_ns();
            while reopening.next(now_ns).is_some() {}
        }
        assert!(now_ns < 640 * MS, "1000 of them take 32 ms");
        assert_eq!(reopening.wake_ns(), u64::MAX);
    }

    #[test]
    fn one_seed_gives_one_schedule() {
        let wake = |seed, worker| {
            let mut reopening = ReconnectQueue::new(1, seed, worker, None);
            reopening.again(ConnId(0), 3, 0);
            reopening.wake_ns()
        };
        assert_eq!(wake(1, 2), wake(1, 2));
        assert_ne!(wake(1, 2), wake(1, 3));
        assert_ne!(wake(1, 2), wake(2, 2));
    }
}
