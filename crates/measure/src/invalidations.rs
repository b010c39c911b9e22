//! What clients with a cache saw beside the writes that they were to drop from it.

use crate::Latency;
use crate::total::total;

/// How long caches answered with what had been overwritten, and invalidations that were no delivery.
#[derive(Debug, Clone)]
pub struct Invalidations {
    /// From when a write was acknowledged until a cache got the invalidation: what it answered in between was stale.
    /// 0 where the invalidation came first.
    pub stale: Latency,
    /// Invalidations that came before their write was acknowledged.
    pub before_acknowledged: u64,
    /// Writes that a cache saw in a later read of the key, so that no invalidation of their own was due.
    pub covered: u64,
    /// Invalidations of a key in which the next read found no new write: the server had forgotten who holds it, or
    /// somebody else touched it.
    pub unprompted: u64,
    /// Invalidations of all keys at once, as FLUSHALL causes.
    pub flushes: u64,
    /// Writes that such an invalidation removed before a cache had read them.
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
