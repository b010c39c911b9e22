//! Observations of caching clients beside the writes that they were to drop.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// Times for which caches served overwritten values, and invalidations that delivered nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invalidations {
    /// Time from the acknowledgement of a write until a cache got the invalidation, in which it served stale
    /// data. 0 if the invalidation came first.
    #[serde(rename = "stale_ms")]
    pub stale: Latency,
    /// Invalidations that came before their write was acknowledged.
    pub before_acknowledged: u64,
    /// Writes that a cache saw in a later read of the key, so that no separate invalidation was due.
    #[serde(rename = "covered_by_later_reads")]
    pub covered: u64,
    /// Invalidations of a key after which the next read found no new write: the server had evicted its
    /// tracking data, or another client touched the key.
    #[serde(rename = "without_a_write")]
    pub unprompted: u64,
    /// Invalidations of all keys at once, as FLUSHALL causes.
    #[serde(rename = "of_all_keys")]
    pub flushes: u64,
    /// Writes that FLUSHALL or similar removed before a cache had read them.
    #[serde(rename = "removed_unread")]
    pub removed: u64,
}

impl Invalidations {
    /// Creates empty counts; `precision` is for latencies.
    pub fn new(precision: u8) -> Self {
        Self {
            stale: Latency::new(precision),
            before_acknowledged: 0,
            covered: 0,
            unprompted: 0,
            flushes: 0,
            removed: 0,
        }
    }
}

total!(Invalidations { stale, before_acknowledged, covered, unprompted, flushes, removed });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_caches_saw_adds_up() {
        let mut all = Invalidations::new(3);
        let mut one = Invalidations { covered: 2, flushes: 1, ..Invalidations::new(3) };
        one.stale.record_n(1_000, 1);
        all.merge(&one);
        all.merge(&one);
        assert_eq!((all.stale.count(), all.covered, all.flushes), (2, 4, 2));
    }
}
