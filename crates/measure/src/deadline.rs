//! Cost of a deadline: late replies, and requests that were given up.

use serde::{Deserialize, Serialize};

use crate::total::total;

/// Counts of operations if these have figures of their own, otherwise of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlineTally {
    /// Answered without an error, too late.
    pub late: u64,
    /// Given up, so that they, or their remaining steps, were not sent.
    pub given_up: u64,
}

impl DeadlineTally {
    /// Adds `count` of them that were due at `intended_ns` and ended at `done_ns`, under this deadline.
    #[inline]
    pub fn ended(&mut self, limit_ns: u64, intended_ns: u64, done_ns: u64, count: u64) {
        if done_ns.saturating_sub(intended_ns) > limit_ns {
            self.late += count;
        }
    }
}

total!(DeadlineTally { late, given_up });
