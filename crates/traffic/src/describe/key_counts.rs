//! Frequencies of keys: of frequent ones individually, of others by a sample.

use std::collections::{BinaryHeap, HashMap};

use super::sketch::{Item, Top};
use super::zipf::Counts;

/// Maximum number of keys that are counted individually.
const TOP_KEYS: usize = 1 << 16;
/// Maximum number of keys of the sample beside them.
const SAMPLED_KEYS: usize = 1 << 15;
/// Minimum ratio of a known count of a frequent key to its possible excess.
const KNOWN_PARTS: u64 = 10;

/// Counts keys.
#[derive(Debug, Default)]
pub(super) struct KeyCounts<const TOP: usize = TOP_KEYS, const SAMPLED: usize = SAMPLED_KEYS> {
    top: Top<TOP>,
    sample: Sample<SAMPLED>,
}

/// Counts of the keys with the smallest hashes.
#[derive(Debug, Default)]
struct Sample<const CAPACITY: usize> {
    /// Pattern number and count of each key, by hash.
    keys: HashMap<u64, (u32, u64)>,
    hashes: BinaryHeap<u64>,
    /// Threshold of a full sample: keys with a hash below it are in the sample.
    threshold: Option<u64>,
}

impl<const CAPACITY: usize> Sample<CAPACITY> {
    fn add(&mut self, hash: u64, pattern: u32) {
        if self.threshold.is_some_and(|threshold| hash >= threshold) {
            return;
        }
        let known = self.keys.len();
        self.keys.entry(hash).or_insert((pattern, 0)).1 += 1;
        if self.keys.len() == known {
            return;
        }
        self.hashes.push(hash);
        if self.hashes.len() > CAPACITY
            && let Some(largest) = self.hashes.pop()
        {
            self.keys.remove(&largest);
            self.threshold = Some(largest);
        }
    }
}

impl<const TOP: usize, const SAMPLED: usize> KeyCounts<TOP, SAMPLED> {
    /// Adds a key whose pattern has this number.
    pub(super) fn add(&mut self, key: &[u8], hash: u64, pattern: u32) {
        self.top.add(key);
        self.sample.add(hash, pattern);
    }

    /// Returns the frequencies.
    pub(super) fn finish(&self) -> KeyFrequencies {
        let items = self.top.sorted();
        // Whatever is not among them came as often as the last of them at most.
        let missed = if self.top.is_full() { items.last().map_or(0, |item| item.count) } else { 0 };
        let sampled = self.sample.threshold.unwrap_or(u64::MAX) as f64 / u64::MAX as f64;
        let sample = self.sample.keys.values().copied().collect();
        KeyFrequencies { items, known_from: (missed * KNOWN_PARTS).max(1), sample, sampled }
    }
}

/// Frequencies of keys.
#[derive(Debug, Default)]
pub(super) struct KeyFrequencies {
    /// The most frequent keys, in order.
    pub(super) items: Vec<Item>,
    /// Count from which all keys are included.
    known_from: u64,
    /// Patterns and counts of a sample of all keys.
    sample: Vec<(u32, u64)>,
    sampled: f64,
}

impl KeyFrequencies {
    /// Calls `found` with the counts of all keys, or of those of a pattern. `items` are the most frequent
    /// ones of `distinct` keys, which occurred `draws` times in all.
    pub(super) fn find<'i, T>(
        &self,
        items: impl Iterator<Item = &'i Item>,
        pattern: Option<u32>,
        (distinct, draws): (u64, u64),
        found: impl FnOnce(&Counts<'_>) -> T,
    ) -> T {
        let counts = items.map(|item| item.count - item.error / 2);
        let known: Vec<u64> = counts.filter(|count| *count >= self.known_from).collect();
        if self.known_from == 1 {
            let distinct = known.len() as f64;
            return found(&Counts { distinct, draws: draws as f64, ..Counts::of_all(&known) });
        }
        let sample = self.sample.iter().filter(|of| pattern.is_none_or(|pattern| of.0 == pattern));
        let sample = sample.map(|(_, count)| *count);
        let sample: Vec<u64> = sample.filter(|count| *count < self.known_from).collect();
        found(&Counts {
            known: &known,
            known_from: self.known_from,
            sample: &sample,
            sampled: self.sampled,
            distinct: distinct as f64,
            draws: draws as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use workload::random::draw_unit;

    use super::super::zipf::fit;
    use super::*;

    #[test]
    fn the_exponent_is_found_although_most_keys_are_counted_in_a_sample_only() {
        for exponent in [0.0, 0.7, 1.0] {
            let mut counts = KeyCounts::<500, 2000>::default();
            let mut sum = 0.0;
            let weights = (1..=20_000).map(|rank: u32| {
                sum += f64::from(rank).powf(-exponent);
                sum
            });
            let sums: Vec<f64> = weights.collect();
            let mut seen = std::collections::HashSet::new();
            for number in 0..60_000 {
                let drawn = draw_unit(1, number);
                let rank = sums.partition_point(|sum| *sum < drawn * sums[sums.len() - 1]) as u64;
                let hash = rank.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
                counts.add(
                    &rank.to_le_bytes(),
                    hash.wrapping_mul(0xbf58_476d_1ce4_e5b9),
                    (rank % 2) as u32,
                );
                seen.insert(rank);
            }
            let counted = counts.finish();
            assert!(counted.known_from > 1 && counted.sampled < 0.2);
            let of = (seen.len() as u64, 60_000);
            let zipf = counted.find(counted.items.iter(), None, of, fit).unwrap();
            let off = (zipf.exponent - exponent).abs();
            assert!(off < 4.0 * zipf.error && zipf.error < 0.15, "{exponent}: {zipf:?}");
            let odd = counted.items.iter().filter(|item| item.name[0] % 2 == 1);
            let zipf = counted.find(odd, Some(1), (of.0 / 2, of.1 / 2), fit);
            assert!(zipf.is_none_or(|zipf| (zipf.exponent - exponent).abs() < 0.25), "{zipf:?}");
        }
    }
}
