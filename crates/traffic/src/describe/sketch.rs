//! Counts of streams in constant memory: the number of distinct items, and the most frequent ones.

use std::collections::{BTreeSet, HashMap};

/// Counter of distinct hashes, within about 1 % (HyperLogLog, Flajolet et al., 2007, with linear counting for small
/// numbers).
#[derive(Debug, Clone)]
pub(super) struct DistinctCounter<const PRECISION: u32 = 14> {
    /// 2^`PRECISION` registers of a byte; as many bits of a hash choose one.
    registers: Vec<u8>,
}

impl<const PRECISION: u32> Default for DistinctCounter<PRECISION> {
    fn default() -> Self {
        Self { registers: vec![0; 1 << PRECISION] }
    }
}

impl<const PRECISION: u32> DistinctCounter<PRECISION> {
    pub(super) fn add(&mut self, hash: u64) {
        let register = (hash >> (64 - PRECISION)) as usize;
        let rank = (hash << PRECISION | 1 << (PRECISION - 1)).leading_zeros() as u8 + 1;
        self.registers[register] = self.registers[register].max(rank);
    }

    pub(super) fn count(&self) -> u64 {
        let total = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|rank| 0.5_f64.powi(i32::from(*rank))).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / total) * total * total / sum;
        let empty = self.registers.iter().filter(|rank| **rank == 0).count() as f64;
        let is_small = estimate <= 2.5 * total && empty > 0.0;
        (if is_small { total * (total / empty).ln() } else { estimate }).round() as u64
    }
}

/// The most frequent items (Space-Saving, Metwally et al., 2005).
#[derive(Debug, Default)]
pub(super) struct Top<const CAPACITY: usize> {
    items: HashMap<Box<[u8]>, Counter>,
    /// Counts and names in ascending order, to find the smallest.
    order: BTreeSet<(u64, Box<[u8]>)>,
}

#[derive(Debug, Clone, Copy)]
struct Counter {
    count: u64,
    /// Largest excess of the count.
    error: u64,
}

/// A frequent item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: Vec<u8>,
    /// Upper bound of its count; the lower one is `count - error`.
    pub(super) count: u64,
    pub(super) error: u64,
}

impl<const CAPACITY: usize> Top<CAPACITY> {
    pub(super) fn add(&mut self, name: &[u8]) {
        let is_full = self.items.len() == CAPACITY;
        if let Some(counter) = self.items.get_mut(name) {
            if is_full {
                let mut entry = (counter.count, Box::from(name));
                self.order.remove(&entry);
                entry.0 += 1;
                self.order.insert(entry);
            }
            counter.count += 1;
            return;
        }
        if self.items.len() < CAPACITY {
            self.items.insert(name.into(), Counter { count: 1, error: 0 });
            if self.items.len() == CAPACITY {
                let all = self.items.iter().map(|(name, counter)| (counter.count, name.clone()));
                self.order = all.collect();
            }
            return;
        }
        let Some((error, smallest)) = self.order.pop_first() else { return };
        self.items.remove(&smallest);
        let count = error + 1;
        self.items.insert(name.into(), Counter { count, error });
        self.order.insert((count, name.into()));
    }

    /// Returns whether some items may not be counted.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() == CAPACITY
    }

    /// The items by their certain counts.
    pub(super) fn sorted(&self) -> Vec<Item> {
        let items = self.items.iter().map(|(name, counter)| Item {
            name: name.to_vec(),
            count: counter.count,
            error: counter.error,
        });
        let mut items: Vec<Item> = items.collect();
        items.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    #[test]
    fn distinct_items_are_counted_within_some_percent() {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        for count in [0_u64, 1, 100, 10_000, 200_000] {
            let mut distinct = DistinctCounter::<14>::default();
            for item in 0..count * 2 {
                distinct.add(hasher.hash_one(item % count.max(1)));
            }
            let found = distinct.count() as f64;
            assert!((found - count as f64).abs() <= count as f64 * 0.03, "{count}: {found}");
        }
    }

    #[test]
    fn the_items_that_come_most_often_are_found_with_bounds() {
        let mut top = Top::<50>::default();
        let mut exact = HashMap::new();
        for number in 0..40_000_u64 {
            // Item k comes about 1 / k of the time, among many that come once.
            let item = if number % 3 == 0 { 1_000_000 + number } else { number % 7 * (number % 5) };
            *exact.entry(item).or_insert(0_u64) += 1;
            top.add(&item.to_le_bytes());
        }
        for item in top.sorted().into_iter().take(5) {
            let exact = exact[&u64::from_le_bytes(item.name[..].try_into().unwrap())];
            assert!(item.count >= exact && item.count - item.error <= exact, "{item:?} {exact}");
            assert!(exact > 1000, "{item:?} {exact}");
        }
    }
}
