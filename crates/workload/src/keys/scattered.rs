//! Zipf's law with its hot keys spread over the range.
//!
//! Each rank has its own key, by a bijection on the range, so that no two ranks share a key as they do under
//! a hash modulo the range. It does not depend on the seed, so the hot keys are the same in every run.

use super::KeyDraw;
use super::zipf::{Zipf, shape};
use crate::random::{self, Stream};

#[derive(Debug, Clone)]
struct ScatteredZipf {
    ranks: Zipf,
    places: Bijection,
}

pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    let ranks = Zipf::new(shape(parameters)?, range);
    Ok(Box::new(ScatteredZipf { ranks, places: Bijection::new(range) }))
}

impl KeyDraw for ScatteredZipf {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        self.places.apply(self.ranks.draw(stream, index))
    }
}

/// A permutation of `0..range` that looks random and has no table: a Feistel network over pairs `(left,
/// right)` of about the root of the range each, walked until it is in the range (Black and Rogaway, "Ciphers
/// with arbitrary finite domains", 2002). There are at most two roots of the range more pairs than numbers,
/// so a second step is rare.
#[derive(Debug, Clone, Copy)]
struct Bijection {
    range: u64,
    lefts: u64,
    rights: u64,
}

/// Rounds of the network, an even number. Four turn a pseudorandom function into a pseudorandom permutation
/// (Luby and Rackoff, 1988).
const ROUNDS: u64 = 4;

impl Bijection {
    fn new(range: u64) -> Self {
        let root = range.isqrt();
        let rights = if root * root == range { root } else { root + 1 };
        Self { range, lefts: range.div_ceil(rights), rights }
    }

    fn apply(&self, number: u64) -> u64 {
        let mut number = number;
        loop {
            number = self.network(number);
            if number < self.range {
                return number;
            }
        }
    }

    fn network(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number / self.rights, number % self.rights);
        for round in (0..ROUNDS).step_by(2) {
            left = shifted(left, right, round, self.lefts);
            right = shifted(right, left, round + 1, self.rights);
        }
        left * self.rights + right
    }
}

/// `number` shifted in `0..range` by a function of the other half and the round.
fn shifted(number: u64, other: u64, round: u64, range: u64) -> u64 {
    let by = random::within(random::draw(round, other), range);
    let to_end = range - by;
    if number < to_end { number + by } else { number - to_end }
}

#[cfg(test)]
mod tests {
    use super::super::zipf::tests::zeta;
    use super::super::{KeyDist, shape};
    use super::*;

    #[test]
    fn every_number_has_a_place_of_its_own() {
        for range in (1..=300).chain([1000, 1023, 1024, 1025, 65_536, 99_991]) {
            let bijection = Bijection::new(range);
            let mut places: Vec<u64> = (0..range).map(|number| bijection.apply(number)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..range), "of {range}");
        }
        for range in [1_000_000_007, 1 << 63, u64::MAX] {
            let bijection = Bijection::new(range);
            let mut places: Vec<u64> = (0..10_000).map(|number| bijection.apply(number)).collect();
            places.extend((range - 10_000..range).map(|number| bijection.apply(number)));
            places.sort_unstable();
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "of {range}");
            assert!(*places.last().unwrap() < range);
        }
    }

    #[test]
    fn ranks_are_those_of_zipf_and_places_all_over_the_range() {
        const RANGE: u64 = 1 << 20;
        let keys = "zipf-scattered:1.1".parse::<KeyDist>().unwrap().over(RANGE);
        let mut ranks = vec![0; RANGE as usize];
        let bijection = Bijection::new(RANGE);
        (0..RANGE).for_each(|rank| ranks[bijection.apply(rank) as usize] = rank);
        let below = |key| zeta(key, 1.1) / zeta(RANGE, 1.1);
        shape::keys_hold("zipf-scattered", RANGE, below, |index| {
            ranks[keys.draw(11.into(), index) as usize]
        });
        let mut hottest: Vec<u64> = (0..1000).map(|rank| bijection.apply(rank)).collect();
        hottest.sort_unstable();
        shape::evenly_spread("the thousand hottest", &hottest, RANGE);
    }

    #[test]
    fn the_same_keys_are_hot_for_every_seed() {
        let hottest = |seed: u64| {
            let keys = "zipf-scattered:2".parse::<KeyDist>().unwrap().over(1_000_000);
            let mut counts = std::collections::HashMap::<u64, u32>::new();
            (0..1000)
                .for_each(|index| *counts.entry(keys.draw(seed.into(), index)).or_default() += 1);
            counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0
        };
        assert_eq!(hottest(1), hottest(2));
    }
}
