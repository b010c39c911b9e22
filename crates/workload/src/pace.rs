//! When requests are due.
//!
//! Owns the schedule of an open loop: request number `k` is due `k / rate` after the start, and
//! no reply, stall or pipeline moves it. The worker asks what is due when a connection has room,
//! so a backlog is simply the schedule lying behind the clock: there is no queue to bound and no
//! tick to skip. Reading a clock is left to the engine.

use serde::{Deserialize, Serialize};

/// Who decides when the next request leaves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Closed loop: the reply to the last one does.
    Closed,
    /// Open loop: a schedule does.
    Open {
        /// Requests (commands, not pipelines) per second, of all workers together; above 0.
        rate_per_s: f64,
    },
}

/// One worker's part of the schedule. Workers take turns: of `workers`, worker `w` sends numbers
/// `w`, `w + workers`, … of the whole, so that their sends interleave evenly.
#[derive(Debug, Clone)]
pub struct Pacer {
    start_ns: u64,
    rate_per_s: f64,
    next: u64,
    stride: u64,
}

impl Pacer {
    /// A schedule of `rate_per_s` units per second that starts at `start_ns`, as worker `worker`
    /// of `workers` sees it.
    #[must_use]
    pub fn new(start_ns: u64, rate_per_s: f64, worker: u16, workers: u16) -> Self {
        assert!(rate_per_s > 0.0 && worker < workers, "a plan checks its rate and its workers");
        Self { start_ns, rate_per_s, next: u64::from(worker), stride: u64::from(workers) }
    }

    /// When the next unit is due. Exact to the nanosecond for 2^53 ns, 104 days.
    #[must_use]
    pub fn due_ns(&self) -> u64 {
        self.start_ns + (self.next as f64 * 1e9 / self.rate_per_s) as u64
    }

    /// Takes the next unit off the schedule if it is due at `now_ns`, and says when it was due.
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.due_ns();
        if due_ns > now_ns {
            return None;
        }
        self.next += self.stride;
        Some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_due_at_their_nanosecond() {
        let mut pacer = Pacer::new(1_000, 3.0, 0, 1);
        let due: Vec<u64> = (0..4).map(|_| pacer.take(u64::MAX).unwrap()).collect();
        assert_eq!(due, [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
    }

    #[test]
    fn nothing_is_due_before_its_time_and_nothing_is_skipped_after_a_stall() {
        let mut pacer = Pacer::new(0, 1_000.0, 0, 1);
        assert_eq!(pacer.take(0), Some(0));
        assert_eq!(pacer.take(999_999), None);
        let caught_up = std::iter::from_fn(|| pacer.take(10_000_000)).count();
        assert_eq!(caught_up, 10);
    }

    #[test]
    fn the_parts_of_the_workers_make_the_whole() {
        let take = |worker, workers, n: usize| -> Vec<u64> {
            let mut pacer = Pacer::new(5, 70_000.0, worker, workers);
            (0..n).map(|_| pacer.take(u64::MAX).unwrap()).collect()
        };
        let mut parts: Vec<u64> = (0..3).flat_map(|w| take(w, 3, 100)).collect();
        parts.sort_unstable();
        assert_eq!(parts, take(0, 1, 300));
    }
}
