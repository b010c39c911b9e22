//! Miss ratio of a cache by size, from a sample of keys (SHARDS, Waldspurger et al., FAST 2015, with a fixed
//! number of keys).
//!
//! A read hits in a cache that holds everything used since the last use of its key: the reuse distance. Keys
//! are sampled by hash, so distances in the sample are those of all, scaled.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::sizes::Sizes;

/// Maximum number of keys in the sample.
const KEYS_MAX: usize = 8192;
/// Bytes of a key beside its name and value, for cache sizes in bytes: the overhead of memcached's items.
const ITEM_BYTES: u64 = 56;

/// A point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MissPoint {
    /// Size of the cache: bytes of keys and values plus 56 bytes for each, or a number of keys if most sizes
    /// are unknown.
    pub size: u64,
    /// Share of reads that miss, from 0 to 1.
    pub miss_ratio: f64,
}

#[derive(Debug, Clone, Copy)]
struct SampledKey {
    slot: usize,
    size: u64,
    is_sized: bool,
    is_once: bool,
}

/// Uses, out of ten, that must have known sizes for the curve to be in bytes.
const SIZED_OF_TEN: u64 = 9;

/// Reuse distances of the sample.
#[derive(Debug)]
pub(super) struct Reuse {
    keys: HashMap<u64, SampledKey>,
    hashes: BTreeSet<u64>,
    /// Threshold of the sample: keys with a hash below it are sampled.
    threshold: u64,
    /// Keys and their sizes by the time of the last use, as a Fenwick tree.
    tree: Vec<(u64, u64)>,
    next_slot: usize,
    by_keys: Sizes,
    by_size: Sizes,
    /// Uses in the sample, and those with a known size.
    uses: u64,
    sized: u64,
    /// Reads of keys without an earlier use, and all reads.
    first: f64,
    reads: f64,
    all_reads: u64,
    /// Distances in keys and bytes, and their weights, before they are added.
    weights: Vec<(u64, u64, f64)>,
}

const SLOTS: usize = KEYS_MAX * 8;

impl Default for Reuse {
    fn default() -> Self {
        Self {
            keys: HashMap::new(),
            hashes: BTreeSet::new(),
            threshold: u64::MAX,
            tree: vec![(0, 0); SLOTS + 1],
            next_slot: 0,
            by_keys: Sizes::default(),
            by_size: Sizes::default(),
            uses: 0,
            sized: 0,
            first: 0.0,
            reads: 0.0,
            all_reads: 0,
            weights: Vec::new(),
        }
    }
}

impl Reuse {
    /// Adds a use of a key, with the `size` of its value, if known.
    pub(super) fn add(&mut self, hash: u64, is_read: bool, key_bytes: u64, size: Option<u64>) {
        self.all_reads += u64::from(is_read);
        if hash >= self.threshold {
            return;
        }
        if self.next_slot == SLOTS {
            self.renumber();
        }
        let scale = u64::MAX as f64 / self.threshold as f64;
        let known = self.keys.get(&hash).copied();
        let is_sized = size.is_some() || known.is_some_and(|key| key.is_sized);
        self.uses += 1;
        self.sized += u64::from(is_sized);
        let size = match (size, known) {
            (Some(size), _) => size + key_bytes + ITEM_BYTES,
            (None, Some(key)) => key.size,
            (None, None) => key_bytes + ITEM_BYTES,
        };
        if let Some(key) = known {
            if is_read {
                let (keys, bytes) = self.sum_from(key.slot);
                let scaled = |distance: u64| (distance as f64 * scale) as u64;
                self.weights.push((scaled(keys), scaled(bytes), scale));
                self.add_weights(false);
            }
            self.take(key);
        } else if is_read {
            self.first += scale;
        }
        if is_read {
            self.reads += scale;
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        self.put(slot, 1, size);
        let is_once = known.is_none();
        self.keys.insert(hash, SampledKey { slot, size, is_sized, is_once });
        if known.is_none() {
            self.hashes.insert(hash);
            if self.hashes.len() > KEYS_MAX {
                self.shrink();
            }
        }
    }

    /// Adds weighted distances to the distribution, with weights rounded to a thousandth.
    fn add_weights(&mut self, is_last: bool) {
        if self.weights.len() < 1024 && !is_last {
            return;
        }
        for (keys, bytes, weight) in self.weights.drain(..) {
            self.by_keys.add(keys, (weight * 1000.0) as u64);
            self.by_size.add(bytes, (weight * 1000.0) as u64);
        }
    }

    /// Removes the key with the largest hash, which reduces the sampled share.
    fn shrink(&mut self) {
        if let Some(largest) = self.hashes.pop_last() {
            self.threshold = largest;
            if let Some(key) = self.keys.remove(&largest) {
                self.take(key);
            }
        }
    }

    /// Counts the keys used since a slot, inclusive, and sums their sizes.
    fn sum_from(&self, slot: usize) -> (u64, u64) {
        let until = |mut at: usize| {
            let mut sum = (0_u64, 0_u64);
            while at > 0 {
                let (keys, bytes) = self.tree[at];
                sum = (sum.0.wrapping_add(keys), sum.1.wrapping_add(bytes));
                at &= at - 1;
            }
            sum
        };
        let (all, before) = (until(SLOTS), until(slot));
        (all.0.wrapping_sub(before.0), all.1.wrapping_sub(before.1))
    }

    fn take(&mut self, key: SampledKey) {
        self.put(key.slot, 1_u64.wrapping_neg(), key.size.wrapping_neg());
    }

    fn put(&mut self, slot: usize, keys: u64, bytes: u64) {
        let mut at = slot + 1;
        while at <= SLOTS {
            let sum = &mut self.tree[at];
            *sum = (sum.0.wrapping_add(keys), sum.1.wrapping_add(bytes));
            at += at & at.wrapping_neg();
        }
    }

    /// Moves the keys to the first slots, in order.
    fn renumber(&mut self) {
        let mut order: Vec<(usize, u64)> =
            self.keys.iter().map(|(hash, key)| (key.slot, *hash)).collect();
        order.sort_unstable();
        self.tree.fill((0, 0));
        self.next_slot = order.len();
        for (slot, (_, hash)) in order.into_iter().enumerate() {
            if let Some(key) = self.keys.get_mut(&hash) {
                key.slot = slot;
                let size = key.size;
                self.put(slot, 1, size);
            }
        }
    }

    /// Share of the sample's keys that were used once.
    pub(super) fn used_once(&self) -> Option<f64> {
        let once = self.keys.values().filter(|key| key.is_once).count();
        (!self.keys.is_empty()).then(|| once as f64 / self.keys.len() as f64)
    }

    /// Returns whether sizes of the curve are in bytes rather than keys.
    pub(super) fn is_in_bytes(&self) -> bool {
        self.sized > 0 && self.sized * 10 >= self.uses * SIZED_OF_TEN
    }

    /// The curve, from the smallest cache with a hit to one that holds everything.
    pub(super) fn curve(&mut self) -> Vec<MissPoint> {
        self.add_weights(true);
        if self.reads == 0.0 {
            return Vec::new();
        }
        // Reads that the sample lacks belong to a key that is read often: they have no distance.
        let missing = (self.all_reads as f64 - self.reads).max(-self.reads);
        let total = self.reads + missing;
        let mut missed = total;
        let mut points = vec![MissPoint { size: 0, miss_ratio: 1.0 }];
        missed -= missing;
        let distances = if self.is_in_bytes() { &self.by_size } else { &self.by_keys };
        for (size, weight) in distances.steps(64) {
            missed -= weight as f64 / 1000.0;
            let miss_ratio = (missed / total.max(1.0)).clamp(0.0, 1.0);
            points.push(MissPoint { size, miss_ratio });
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    /// Keys read in turn miss in every cache that does not hold all of them, and hit in one that does.
    #[test]
    fn a_loop_over_keys_needs_room_for_all() {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        for keys in [1000_u64, 50_000] {
            let mut reuse = Reuse::default();
            for read in 0..keys * 4 {
                reuse.add(hasher.hash_one(read % keys), true, 4, Some(40));
            }
            let curve = reuse.curve();
            let all = keys * 100;
            let at =
                |size: u64| curve.iter().rev().find(|point| point.size <= size).unwrap().miss_ratio;
            assert!(at(all / 2) > 0.95, "{keys}: {curve:?}");
            assert!((at(all * 11 / 10) - 0.25).abs() < 0.05, "{keys}: {curve:?}");
        }
    }

    #[test]
    fn where_most_sizes_are_not_known_the_cache_holds_keys() {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        for sized in [0_u64, 50, 100] {
            let mut reuse = Reuse::default();
            for read in 0..1000_u64 {
                let key = read % 100;
                reuse.add(hasher.hash_one(key), true, 44, (key < sized).then_some(900));
            }
            let curve = reuse.curve();
            let half = curve.iter().find(|point| point.miss_ratio <= 0.5).unwrap().size;
            let expected = if sized == 100 { 100_000 } else { 100 };
            assert!(half.abs_diff(expected) <= expected / 20, "{sized}: {half}");
            assert_eq!(reuse.is_in_bytes(), sized == 100);
        }
    }

    #[test]
    fn keys_used_once_are_a_share() {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut reuse = Reuse::default();
        for key in 0..40_000_u64 {
            reuse.add(hasher.hash_one(key), true, 4, None);
            if key % 4 == 0 {
                reuse.add(hasher.hash_one(key), true, 4, None);
            }
        }
        assert!((reuse.used_once().unwrap() - 0.75).abs() < 0.02);
    }
}
