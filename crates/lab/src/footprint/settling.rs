//! Steadiness of a cache's hit ratio, which changes after a fill: the load keeps other keys in the cache.
//!
//! The load is carried out in rounds, each twice as long as the previous one, so that ever slower changes
//! still show from round to round. Owns the length of a round, and the criterion of steadiness.

use report::Lookups;
use serde::{Deserialize, Serialize};

/// Requests of the first round: this many, or a share of the keys.
const FIRST: u64 = 50_000;
const FIRST_OF_KEYS: u64 = 4;
/// Maximum difference of two steady ratios, in standard deviations of chance.
const BY_CHANCE: f64 = 2.0;

/// Rounds of a load.
#[derive(Debug, Clone, Default)]
pub struct Settling {
    rounds: Vec<Lookups>,
    requests: u64,
    next: u64,
}

/// Final state of a hit ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Set if the ratio is steady.
    pub still: bool,
    /// Ratios of the last two rounds, 0 to 1, including the measured run.
    pub last: [f64; 2],
    /// Requests of all rounds before the measurement.
    pub requests: u64,
}

impl Settling {
    /// Creates the state for a load over this many keys.
    pub fn new(keys: u64) -> Self {
        Self { next: FIRST.max(keys / FIRST_OF_KEYS), ..Self::default() }
    }

    /// Requests of the next round; `None` if none is needed.
    pub fn next(&self) -> Option<u64> {
        let still = match self.rounds[..] {
            [.., before, last] => before.is_alike(last, BY_CHANCE),
            // Without misses, nothing was evicted.
            [only] => only.misses == 0,
            [] => false,
        };
        (!still).then_some(self.next)
    }

    /// Adds the lookups of a round.
    pub fn add(&mut self, found: Lookups) {
        self.rounds.push(found);
        self.requests = self.requests.saturating_add(self.next);
        self.next = self.next.saturating_mul(2);
    }

    /// Compares the measured run with the last round; `None` if there was no round, or one of them had no
    /// lookups.
    pub fn with(&self, measured: Lookups) -> Option<Steadiness> {
        let before = *self.rounds.last()?;
        let last = [before.found_share()?, measured.found_share()?];
        let still = self.next().is_none() && before.is_alike(measured, BY_CHANCE);
        Some(Steadiness { still, last, requests: self.requests })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(share: f64, lookups: u64) -> Lookups {
        let hits = (share * lookups as f64) as u64;
        Lookups { hits, misses: lookups - hits }
    }

    #[test]
    fn rounds_grow_until_two_find_the_same() {
        let mut settling = Settling::new(1_000_000);
        for (requests, share) in
            [(250_000, 0.81), (500_000, 0.849), (1_000_000, 0.922), (2_000_000, 0.9455)]
        {
            assert_eq!(settling.next(), Some(requests));
            settling.add(found(share, requests));
        }
        let moving = settling.with(found(0.946, 100_000)).unwrap();
        assert!(!moving.still, "two rounds have not agreed yet");
        settling.add(found(0.9461, 4_000_000));
        assert_eq!(settling.next(), None);
        let still = settling.with(found(0.946, 100_000)).unwrap();
        assert_eq!((still.still, still.requests), (true, 7_750_000));
        assert!(
            !settling.with(found(0.93, 100_000)).unwrap().still,
            "what is measured is elsewhere"
        );
    }

    #[test]
    fn what_misses_nothing_stands_still_and_chance_is_no_change() {
        let mut all = Settling::new(10);
        all.add(found(1.0, 50_000));
        assert_eq!(all.next(), None);
        assert_eq!(Settling::new(10).with(found(1.0, 10)), None);
    }
}
