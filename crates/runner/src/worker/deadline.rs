//! Requests that are given up at their deadline: an answer would be useless, so they are not sent.
//!
//! The deadline of a request that waits for room, for its server or for a retry counts from its due time;
//! that of a later step from its operation's due time. In a closed loop without due times it counts from the
//! first sending. A request that was sent is still awaited, and its answer counts as late
//! ([`measure::DeadlineTally`]).

use workload::Plan;

/// Number of checks of waiting requests within a deadline, at least [`LOOK_MIN_NS`] apart.
const LOOKS_PER_DEADLINE: u64 = 16;
const LOOK_MIN_NS: u64 = 1_000_000;

/// Deadline of requests, relative to their due time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    /// Time limit; `u64::MAX` for none.
    limit_ns: u64,
}

impl Deadline {
    pub(super) fn from_plan(plan: &Plan) -> Self {
        Self { limit_ns: plan.recovery.deadline_ns.unwrap_or(u64::MAX) }
    }

    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self.limit_ns != u64::MAX
    }

    /// First time at which a request that was due at `due_ns` is past its deadline. The deadline itself is in
    /// time.
    #[inline]
    pub(super) fn over_ns(self, due_ns: u64) -> u64 {
        due_ns.saturating_add(self.limit_ns).saturating_add(1)
    }

    /// Returns whether a request that was due at `due_ns` is past its deadline.
    #[inline]
    pub(crate) fn is_over(self, due_ns: u64, now_ns: u64) -> bool {
        now_ns >= self.over_ns(due_ns)
    }

    pub(super) fn look_every_ns(self) -> u64 {
        (self.limit_ns / LOOKS_PER_DEADLINE).max(LOOK_MIN_NS)
    }
}
