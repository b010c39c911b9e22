//! Estimate of the exponent of Zipf's law from the counts of keys.
//!
//! Keys that are drawn a few times have counts that differ by chance alone, so sorted counts look skewed even
//! for equally likely keys. Therefore the fit uses how many keys occurred once, twice, and so on: under a
//! law, each key occurs a Poisson number of times. The number of keys, some of which never occurred, is
//! chosen so that the expected number of distinct keys matches; the exponent is the most likely one. Its
//! interval includes all values whose likelihood is not surely lower, so it is valid at the boundary 0, too.

use serde::Serialize;

/// A fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Zipf {
    /// The exponent: rank k is as likely as 1 / k^exponent. 0 if all keys may be equally likely.
    pub exponent: f64,
    /// Standard error of the exponent, if keys are drawn by that law.
    pub error: f64,
    /// Number of keys in the fit.
    pub ranks: usize,
    /// Number of keys under the law, including those that never occurred.
    pub keys: u64,
    /// Deviation of the counts from the law beyond chance, averaged over frequent keys: 0.1 is 10 %.
    pub deviation: f64,
    /// Set if keys follow the law. Otherwise it is only the nearest one.
    pub fits: bool,
}

impl Zipf {
    /// Returns whether both laws may be equal.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        (self.exponent - other.exponent).abs() <= ENDS * (self.error + other.error)
    }
}

/// Counts of keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts<'c> {
    /// Count of each key with `known_from` occurrences or more, in descending order.
    pub(super) known: &'c [u64],
    /// Count from which all keys are known.
    pub(super) known_from: u64,
    /// Counts of a sample of all keys.
    pub(super) sample: &'c [u64],
    /// Share of keys in the sample.
    pub(super) sampled: f64,
    /// Number of distinct keys.
    pub(super) distinct: f64,
    /// Total number of occurrences.
    pub(super) draws: f64,
}

impl<'c> Counts<'c> {
    /// Takes the counts of all keys, in descending order.
    pub(super) fn of_all(counts: &'c [u64]) -> Self {
        Self {
            known: counts,
            known_from: 1,
            sample: &[],
            sampled: 1.0,
            distinct: counts.len() as f64,
            draws: counts.iter().sum::<u64>() as f64,
        }
    }
}

/// Minimum number of keys for a law.
const KEYS_MIN: usize = 10;
/// Largest number of keys, including those that never occurred.
const KEYS_MAX: f64 = 1e12;
const EXPONENT_MAX: f64 = 5.0;
/// Distance between the exponents of the first search.
const STEP: f64 = 0.25;
/// Largest standard error of a usable exponent.
const ERROR_MAX: f64 = 0.25;
/// Count up to which counts are distinguished; larger ones are grouped in ranges of this ratio.
const SINGLE_MAX: u64 = 32;
const BIN_RATIO: f64 = 1.1;
/// Rank up to which ranks are distinguished; later ones are grouped in ranges of this ratio.
const RANKS_SINGLE: f64 = 32.0;
const RANK_RATIO: f64 = 1.03;
/// Fall of the log-likelihood from its maximum to the ends of a 95 % interval.
const FALL: f64 = 1.920_729;
/// Half-width of a normal 95 % interval in standard errors.
const ENDS: f64 = 1.959_964;
/// Count below which chance dominates.
const COUNT_MIN: u64 = 30;
const DEVIATION_RANKS: usize = 10_000;
/// Largest deviation of a fitting law: of frequent keys on average, or in the share of keys with another
/// number of occurrences, beyond chance.
const DEVIATION_MAX: f64 = 0.2;
const MISFIT_MAX: f64 = 0.1;
/// Minimum number of repetitions from which the number of unseen keys can be estimated.
const REPEATS_MIN: f64 = 10.0;

/// The most likely exponent for these counts; `None` if they do not determine it.
pub(super) fn fit(counts: &Counts<'_>) -> Option<Zipf> {
    let mut all = counts.known.iter().chain(counts.sample);
    let ranks = counts.known.len() + counts.sample.len();
    if ranks < KEYS_MIN || all.all(|count| *count < 2) {
        return None;
    }
    let bins = Bins::new(counts);
    let likelihood = |exponent: f64| bins.likelihood(&Law::new(exponent, counts));
    let points = (0..=(EXPONENT_MAX / STEP) as u32).map(|n| f64::from(n) * STEP);
    let best = points.map(|at| (at, likelihood(at))).max_by(|a, b| a.1.total_cmp(&b.1))?.0;
    let (exponent, most) = largest(&likelihood, (best - STEP).max(0.0), best + STEP);
    let end = |mut within: f64, mut without: f64| {
        for _ in 0..14 {
            let middle = f64::midpoint(within, without);
            *(if likelihood(middle) > most - FALL { &mut within } else { &mut without }) = middle;
        }
        within
    };
    let is_even = likelihood(0.0) > most - FALL;
    let low = if is_even { 0.0 } else { end(exponent, 0.0) };
    let high = end(exponent, EXPONENT_MAX + 1.0);
    let error = (high - low) / if is_even { ENDS } else { 2.0 * ENDS };
    let exponent = if is_even { 0.0 } else { exponent };
    let law = Law::new(exponent, counts);
    let keys = law.ranges.iter().map(|(ranks, _)| ranks).sum::<f64>().round() as u64;
    let deviation = law.deviation(counts.known);
    let fits = deviation <= DEVIATION_MAX && bins.misfit(&law) <= MISFIT_MAX;
    (error <= ERROR_MAX).then_some(Zipf { exponent, error, ranks, keys, deviation, fits })
}

/// Estimates the number of keys if they are equally likely, including unseen ones, as far as repetitions
/// allow.
pub(super) fn even_keys(counts: &Counts<'_>) -> u64 {
    if counts.draws - counts.distinct < REPEATS_MIN {
        return counts.distinct as u64;
    }
    Law::new(0.0, counts).ranges.iter().map(|(ranks, _)| ranks).sum::<f64>().round() as u64
}

/// Finds the maximum of a function between two points, with its value.
fn largest(of: &impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> (f64, f64) {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..20 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if of(left) > of(right) { high = right } else { low = left }
    }
    let at = f64::midpoint(low, high);
    (at, of(at))
}

/// A law: ranges of ranks, and the mean number of draws of each rank.
struct Law {
    /// Number of ranks, and draws of each.
    ranges: Vec<(f64, f64)>,
}

impl Law {
    /// Creates the law with the number of keys for which the expected number of distinct keys matches.
    fn new(exponent: f64, counts: &Counts<'_>) -> Self {
        // Ranges with their weights, and the sum of weights up to each.
        let (mut ranges, mut sum, mut from) = (Vec::new(), 0.0, 1.0_f64);
        while from < KEYS_MAX {
            let until = if from <= RANKS_SINGLE { from + 1.0 } else { (from * RANK_RATIO).ceil() };
            let middle = if from <= RANKS_SINGLE { from } else { (from * (until - 1.0)).sqrt() };
            let (ranks, weight) = (until - from, middle.powf(-exponent));
            sum += ranks * weight;
            ranges.push((ranks, weight, sum));
            from = until;
        }
        let law = |until: usize, part: f64| {
            let (ranks, weight, sum) = ranges[until];
            let scale = counts.draws / (sum - (1.0 - part) * ranks * weight);
            let whole = ranges[..until].iter().map(move |(n, weight, _)| (*n, weight * scale));
            whole.chain(std::iter::once((ranks * part, weight * scale)))
        };
        let come = |until: usize, part: f64| {
            law(until, part).map(|(ranks, mean)| ranks * -(-mean).exp_m1()).sum::<f64>()
        };
        let (mut low, mut high) = (0, ranges.len() - 1);
        while low < high {
            let middle = low.midpoint(high);
            if come(middle, 1.0) < counts.distinct { low = middle + 1 } else { high = middle }
        }
        let (mut least, mut most) = (0.0, 1.0);
        for _ in 0..12 {
            let part = f64::midpoint(least, most);
            *(if come(low, part) < counts.distinct { &mut least } else { &mut most }) = part;
        }
        Self { ranges: law(low, most).collect() }
    }

    /// Returns the mean deviation of sorted counts from the expectation of their ranks, beyond two standard
    /// deviations of chance.
    fn deviation(&self, counts: &[u64]) -> f64 {
        let counts = &counts[..counts.len().min(DEVIATION_RANKS)];
        let often = counts.partition_point(|count| *count >= COUNT_MIN);
        let (mut off, mut ranges, mut left) = (0.0, self.ranges.iter(), 0.0);
        let mut mean = 1.0;
        for count in &counts[..often] {
            while left < 0.5 {
                let Some((ranks, next)) = ranges.next() else { break };
                (left, mean) = (left + ranks, *next);
            }
            left -= 1.0;
            off += ((*count as f64 - mean).abs() - 2.0 * mean.sqrt()).max(0.0) / mean;
        }
        off / often.max(1) as f64
    }
}

/// Numbers of keys by number of occurrences.
struct Bins {
    /// The least count of each bin, and the end of the last.
    edges: Vec<f64>,
    /// Number of keys in each used bin, and the share of all that was sampled for it.
    keys: Vec<(f64, f64)>,
}

impl Bins {
    fn new(counts: &Counts<'_>) -> Self {
        let most = counts.known.iter().chain(counts.sample).max().copied().unwrap_or(1) as f64;
        let mut edges: Vec<f64> = (1..=SINGLE_MAX).map(|count| count as f64).collect();
        let mut edge = SINGLE_MAX as f64 + 1.0;
        while edge <= 2.0 * most + 64.0 {
            edges.push(edge);
            edge = (edge * BIN_RATIO).round();
        }
        edges.push(edge);
        let known = edges.partition_point(|edge| *edge < counts.known_from as f64);
        let mut keys: Vec<(f64, f64)> = (0..edges.len() - 1)
            .map(|bin| (0.0, if bin < known { counts.sampled } else { 1.0 }))
            .collect();
        for (of, is_known) in [(counts.sample, false), (counts.known, true)] {
            for count in of {
                let bin = edges.partition_point(|edge| *edge <= *count as f64) - 1;
                keys[bin].0 += f64::from((bin >= known) == is_known);
            }
        }
        Self { edges, keys }
    }

    /// Returns the expected number of keys in each bin.
    fn expected(&self, law: &Law) -> Vec<f64> {
        let mut expected = vec![1e-9; self.keys.len()];
        for (ranks, mean) in &law.ranges {
            self.add(*ranks, *mean, &mut expected);
        }
        expected
    }

    /// Share of keys with another number of occurrences than expected, beyond two standard deviations of
    /// chance.
    fn misfit(&self, law: &Law) -> f64 {
        let (mut off, mut all) = (0.0, 0.0);
        for ((keys, share), expected) in self.keys.iter().zip(self.expected(law)) {
            let mean = share * expected;
            off += ((keys - mean).abs() - 2.0 * mean.sqrt()).max(0.0);
            all += keys;
        }
        off / (2.0 * f64::max(all, 1.0))
    }

    /// Log-likelihood of the bins under a law, up to a constant.
    fn likelihood(&self, law: &Law) -> f64 {
        let expected = self.expected(law);
        self.keys
            .iter()
            .zip(expected)
            .map(|((keys, share), expected)| keys * (share * expected).ln() - share * expected)
            .sum()
    }

    /// Adds the expected occurrences of these keys, each with this mean.
    fn add(&self, keys: f64, mean: f64, expected: &mut [f64]) {
        if mean < 4.0 * SINGLE_MAX as f64 {
            let mut probability = (-mean).exp();
            for (count, expected) in (1..=SINGLE_MAX).zip(&mut *expected) {
                probability *= mean / count as f64;
                *expected += keys * probability;
            }
        }
        if mean < 2.0 {
            return;
        }
        // The root of a Poisson number is nearly normal.
        let below = |edge: f64| normal(2.0 * ((edge - 0.25).sqrt() - mean.sqrt()));
        let first = SINGLE_MAX as usize;
        let from = self.edges.partition_point(|edge| 2.0 * (edge.sqrt() - mean.sqrt()) < -7.0);
        let mut at = from.max(first + 1) - 1;
        let mut before = below(self.edges[at]);
        while at + 1 < self.edges.len() && before < 1.0 - 1e-9 {
            let after = below(self.edges[at + 1]);
            expected[at] += keys * (after - before).max(0.0);
            (at, before) = (at + 1, after);
        }
    }
}

/// The share of a normal distribution below a point (Abramowitz and Stegun, 7.1.26).
fn normal(at: f64) -> f64 {
    let x = at.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592]
        .iter()
        .fold(0.0, |sum, factor| (sum + factor) * t);
    let tail = 0.5 * sum * (-x * x).exp();
    if at < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use workload::random::{SplitMix, draw};

    use super::*;

    /// Sorted counts of `keys` keys, drawn by the law with this mean number of draws.
    fn drawn(keys: usize, exponent: f64, draws_per_key: usize, seed: u64) -> Vec<u64> {
        let mut sum = 0.0;
        let weights = (1..=keys).map(|rank: usize| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        let sums: Vec<f64> = weights.collect();
        let mut counts = vec![0; keys];
        let mut random = SplitMix::new(draw(seed, 0));
        for _ in 0..keys * draws_per_key {
            let unit = (random.draw() >> 11) as f64 / (1_u64 << 53) as f64;
            counts[sums.partition_point(|sum| *sum < unit * sums[keys - 1]).min(keys - 1)] += 1;
        }
        counts.retain(|count| *count > 0);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn exponents_are_found_with_honest_errors_however_seldom_keys_are_drawn() {
        let (mut fits, mut covered) = (0, 0);
        for exponent in [0.0, 0.5, 0.8, 0.99, 1.2] {
            for draws_per_key in [1, 3, 30] {
                let mut mean = 0.0;
                for seed in 1..=4 {
                    let counts = drawn(2000, exponent, draws_per_key, seed);
                    let fit = fit(&Counts::of_all(&counts)).unwrap();
                    let off = (fit.exponent - exponent).abs();
                    assert!(off < 4.0 * fit.error + 0.01, "{exponent} {draws_per_key}: {fit:?}");
                    assert!(fit.error < 0.15 && fit.deviation < 0.05, "{exponent}: {fit:?}");
                    assert!(fit.fits, "{exponent}: {fit:?}");
                    fits += 1;
                    covered += u32::from(off < ENDS * fit.error);
                    mean += fit.exponent / 4.0;
                    if draws_per_key == 30 && exponent < 1.0 {
                        assert!((1950..2050).contains(&fit.keys), "{exponent}: {fit:?}");
                    }
                }
                assert!((mean - exponent).abs() < 0.04, "{exponent} {draws_per_key}: {mean}");
            }
        }
        assert!(covered * 100 >= fits * 88, "{covered} of {fits} intervals hold the exponent");
    }

    #[test]
    fn the_exponent_of_exact_counts_is_found() {
        for exponent in [0.3, 0.7, 0.99, 1.2, 2.0] {
            let counts: Vec<u64> =
                (1..=1000).map(|rank| (1e8 / f64::from(rank).powf(exponent)) as u64).collect();
            let fit = fit(&Counts::of_all(&counts)).unwrap();
            assert!((fit.exponent - exponent).abs() < 0.005 && fit.deviation < 0.02, "{fit:?}");
        }
    }

    /// Counts of keys of two groups, each with its own mean number of occurrences.
    #[test]
    fn a_law_that_does_not_fit_is_called_so() {
        for (hot, cold) in [((100, 900), (900, 11)), ((10, 5000), (10_000, 3))] {
            let mut random = SplitMix::new(1);
            let mut group = |(keys, mean): (usize, usize)| -> Vec<u64> {
                let mut counts = vec![0; keys];
                (0..keys * mean).for_each(|_| counts[random.draw() as usize % keys] += 1);
                counts
            };
            let mut counts = [group(hot), group(cold)].concat();
            counts.retain(|count| *count > 0);
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let fit = fit(&Counts::of_all(&counts));
            assert!(fit.is_none_or(|fit| !fit.fits), "{hot:?} {cold:?}: {fit:?}");
        }
    }

    #[test]
    fn keys_that_never_came_are_counted_by_repetitions() {
        let counts = drawn(20_000, 0.0, 1, 3);
        let some: Vec<u64> = counts.iter().copied().filter(|count| *count > 0).collect();
        assert!((19_000..21_000).contains(&even_keys(&Counts::of_all(&some))));
        assert_eq!(even_keys(&Counts::of_all(&[1; 50])), 50);
    }

    #[test]
    fn what_the_counts_do_not_tell_is_not_said() {
        let of = |counts: &[u64]| fit(&Counts::of_all(counts));
        assert_eq!((of(&[100; 9]), of(&[1; 900]), of(&[])), (None, None, None));
        assert_eq!(of(&drawn(20, 0.5, 1, 1)), None);
        let even = of(&[1000; 500]).unwrap();
        assert_eq!((even.exponent, even.keys), (0.0, 500));
    }
}
