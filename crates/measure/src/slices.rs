//! Counts of successes and failures in slices of 10 ms of an interval, by one worker.
//!
//! Owns the counting; `outage` interprets the slices of a whole run.

use serde::{Deserialize, Serialize};

/// Length of a slice.
pub const SLICE_NS: u64 = 10_000_000;
/// Maximum number of slices of a worker's interval: those of a quarter of a second, and a few for a late
/// worker. Later events count in the last slice.
const SLICES: usize = 32;

/// Counts of each slice of one interval, on one node.
#[derive(Debug, Clone)]
pub struct Slices {
    pub(crate) ok: [u32; SLICES],
    pub(crate) failures: [Failures; SLICES],
    /// Set if nothing was in flight to the node, or waiting for it, when the interval ended.
    pub(crate) unasked: bool,
}

/// Requests that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Error replies.
    pub errors: u64,
    /// Requests whose connection ended first.
    pub lost: u64,
    /// Requests that timed out.
    pub timed_out: u64,
}

impl Failures {
    /// Returns the number of failed requests.
    pub fn total(&self) -> u64 {
        self.errors + self.lost + self.timed_out
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        let Self { errors, lost, timed_out } = other;
        // Saturating, because what is merged may come from files, which may say anything.
        self.errors = self.errors.saturating_add(*errors);
        self.lost = self.lost.saturating_add(*lost);
        self.timed_out = self.timed_out.saturating_add(*timed_out);
    }
}

impl Default for Slices {
    fn default() -> Self {
        Self { ok: [0; SLICES], failures: [Failures::default(); SLICES], unasked: false }
    }
}

impl Slices {
    fn index(since_ns: u64) -> usize {
        ((since_ns / SLICE_NS) as usize).min(SLICES - 1)
    }

    /// Counts requests that succeeded at this time after the interval began.
    #[inline]
    pub fn succeeded(&mut self, since_ns: u64, count: u32) {
        self.ok[Self::index(since_ns)] += count;
    }

    /// Counts requests that failed at this time after the interval began.
    pub fn failed(&mut self, since_ns: u64, failures: &Failures) {
        self.failures[Self::index(since_ns)].merge(failures);
    }

    /// Says whether anything is asked of the node as the interval ends; by default something is.
    pub fn ask(&mut self, asked: bool) {
        self.unasked = !asked;
    }
}
