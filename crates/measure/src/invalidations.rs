//! What clients with a cache saw beside the writes that they were to drop from it.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// Times for which caches answered with overwritten values, and invalidations that were no delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invalidations {
    /// From when a write was acknowledged until a cache got the invalidation: what it answered in between was stale.
    /// 0 where the invalidation came first.
    #[serde(rename = "stale_ms")]
    pub stale: Latency,
    /// Invalidations that came before their write was acknowledged.
    pub before_acknowledged: u64,
    /// Writes that a cache saw in a later read of the key, so that no invalidation of their own was due.
    #[serde(rename = "covered_by_later_reads")]
    pub covered: u64,
    /// Invalidations of a key in which the next read found no new write: the server had forgotten who holds it, or
    /// somebody else touched it.
    #[serde(rename = "without_a_write")]
    pub unprompted: u64,
    /// Invalidations of all keys at once, as FLUSHALL causes.
    #[serde(rename = "of_all_keys")]
    pub flushes: u64,
    /// Writes that such an invalidation removed before a cache had read them.
    #[serde(rename = "removed_unread")]
    pub removed: u64,
}

impl Invalidations {
    /// Nothing yet; `precision` is that of latencies.
    #[must_use]
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
