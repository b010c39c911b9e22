//! One process's share of a plan, where several processes make one run.
//!
//! Shares add up to the whole: requests, connections, rate, and the request numbers that keys are drawn by.
//! Other code starts the processes and merges their results.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::pace::Lane;

/// Share of a plan: number `index` (from 1) of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Number of the share, from 1 to `of`.
    pub index: u32,
    /// Shares in all, at least 1.
    pub of: u32,
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl Shard {
    /// The whole plan.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// Returns whether this is the whole plan, which is then saved without a share.
    pub fn is_whole(&self) -> bool {
        *self == Self::WHOLE
    }

    /// This share's part of `0..total`: parts are adjacent, in order, and differ by at most one.
    pub fn part(&self, total: u64) -> Range<u64> {
        let (index, of) = (u64::from(self.index - 1), u64::from(self.of));
        let start = |i: u64| total / of * i + i.min(total % of);
        start(index)..start(index + 1)
    }

    /// Returns this share of a number of things.
    pub fn count(&self, total: u32) -> u32 {
        let part = self.part(u64::from(total));
        (part.end - part.start) as u32
    }

    /// The lane of worker `worker` of this share's `workers` in the schedule of all shares, which have
    /// equally many workers.
    pub fn lane(&self, worker: u16, workers: u16) -> Lane {
        let (worker, workers) = (u64::from(worker), u64::from(workers));
        let of = u64::from(self.of);
        Lane { index: u64::from(self.index - 1) + of * worker, of: of * workers }
    }

    /// The first request number of this share in a run without a last one. It is far from the others', and a
    /// walk through `range` keys in order begins there with this share's part of them.
    pub fn first_of_endless(&self, range: u64) -> u64 {
        let range = range.max(1);
        let stride = (SHARE_STRIDE / range).max(1) * range;
        u64::from(self.index - 1).wrapping_mul(stride).wrapping_add(self.part(range).start)
            & (WARMUP_FIRST - 1)
    }
}

/// Distance between the numbers of shares without a last number: two years at a million a second, and room
/// for 32,768 shares.
const SHARE_STRIDE: u64 = 1 << 48;

/// Start of warm-up numbers, far from the measured part's, so that a warm-up does not use up the sequential
/// keys of the run.
pub(crate) const WARMUP_FIRST: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(of: u32) -> impl Iterator<Item = Shard> {
        (1..=of).map(move |index| Shard { index, of })
    }

    #[test]
    fn the_parts_sum_to_the_whole() {
        for total in [0, 1, 7, 50, 1000, 1_000_003] {
            for of in 1..=9 {
                let mut next = 0;
                for shard in shards(of) {
                    let part = shard.part(total);
                    assert_eq!(part.start, next);
                    next = part.end;
                }
                assert_eq!(next, total);
                let sum: u32 = shards(of).map(|s| s.count(total as u32)).sum();
                assert_eq!(u64::from(sum), total);
            }
        }
    }

    #[test]
    fn every_lane_is_somebodys() {
        let lanes: std::collections::BTreeSet<u64> =
            shards(4).flat_map(|s| (0..3).map(move |w| s.lane(w, 3).index)).collect();
        assert_eq!(lanes.into_iter().collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
        assert_eq!(Shard::WHOLE.lane(1, 2), Lane { index: 1, of: 2 });
    }

    #[test]
    fn endless_shares_begin_apart_and_in_their_part_of_the_keys() {
        for range in [1, 10, 1_000_000, 1 << 50] {
            let firsts: Vec<u64> = shards(4).map(|s| s.first_of_endless(range)).collect();
            for (first, shard) in firsts.iter().zip(shards(4)) {
                assert_eq!(first % range, shard.part(range).start % range, "of {range} keys");
            }
            assert!(firsts.windows(2).all(|w| w[1] - w[0] >= SHARE_STRIDE / 2), "{firsts:?}");
        }
        assert_eq!(Shard::WHOLE.first_of_endless(10), 0);
    }
}
