//! Acknowledged writes of one lane, as a run leaves them.
//!
//! `runner` fills them in while load runs; `lab` holds them against what a server has after a crash.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Acknowledged writes of one lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneRecord {
    /// Every number below is acknowledged, except `missing`.
    pub next: u64,
    /// Numbers without an acknowledgement, in order.
    pub missing: Vec<Range<u64>>,
    /// Values of `next` with their times in nanoseconds since load began, about one for each millisecond.
    pub times: Vec<(u64, u64)>,
}

impl LaneRecord {
    /// Returns whether a number was acknowledged.
    pub fn contains(&self, number: u64) -> bool {
        let after = self.missing.partition_point(|range| range.end <= number);
        number < self.next && self.missing.get(after).is_none_or(|range| number < range.start)
    }

    /// Number of acknowledged writes.
    pub fn count(&self) -> u64 {
        self.next - self.missing.iter().map(|range| range.end - range.start).sum::<u64>()
    }

    /// Time in nanoseconds since load began by which a number was acknowledged, a millisecond late at most while
    /// replies come.
    pub fn at_ns(&self, number: u64) -> Option<u64> {
        let at = self.times.partition_point(|(next, _)| *next <= number);
        self.times.get(at).map(|(_, at_ns)| *at_ns)
    }
}
