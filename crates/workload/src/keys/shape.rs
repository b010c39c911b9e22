//! Tests of the shapes of distributions: chi-square over a million draws.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::KeyDist;

/// Ranges that every distribution is checked with.
pub(super) const RANGES: [u64; 5] = [1, 2, 1000, 1_000_000_000, 1 << 63];
const DRAWS: u64 = 1_000_000;
const SEED: u64 = 20_261_122;
/// Minimum accepted probability. Seeds are fixed, so results never change; a wrong distribution is far below.
const P_MIN: f64 = 1e-4;
/// Minimum number of expected draws of a cell, below which chi-square does not apply.
const EXPECTED_MIN: f64 = 10.0;

/// Draws a million keys of each of [`RANGES`]; `cdf` of range and fraction is the expected part below that
/// fraction.
pub(super) fn at_every_range(text: &str, cdf: impl Fn(u64, f64) -> f64) {
    for range in RANGES {
        ranks_hold(text, range, |key| cdf(range, key as f64 / range as f64));
    }
}

/// Checks one range, in keys.
pub(super) fn ranks_hold(text: &str, range: u64, below: impl Fn(u64) -> f64) {
    let keys = text.parse::<KeyDist>().unwrap().over(range);
    keys_hold(text, range, below, |index| keys.draw(SEED.into(), index));
}

/// Draws a million keys and checks that all are in the range and each part of it has its share.
pub(super) fn keys_hold(
    what: &str,
    range: u64,
    below: impl Fn(u64) -> f64,
    draw: impl Fn(u64) -> u64,
) {
    let edges = edges(range);
    let mut counts = vec![0u64; edges.len()];
    for index in 0..DRAWS {
        let key = draw(index);
        assert!(key < range, "{what}: {key} is outside 0..{range}");
        counts[edges.partition_point(|edge| *edge <= key)] += 1;
    }
    let (mut chi2, mut cells) = (0.0, 0);
    let (mut expected, mut seen, mut start) = (0.0, 0.0, 0.0);
    for (edge, count) in edges.iter().zip(counts) {
        let end = below(*edge);
        expected += (end - start) * DRAWS as f64;
        seen += count as f64;
        start = end;
        if expected >= EXPECTED_MIN {
            chi2 += (seen - expected).powi(2) / expected;
            cells += 1;
            (expected, seen) = (0.0, 0.0);
        }
    }
    // What is left over is too rare for a cell of its own.
    assert!(seen <= expected + 30.0, "{what} of {range}: {seen} at the end, not {expected}");
    if cells > 1 {
        let p = ChiSquared::new(f64::from(cells - 1)).unwrap().sf(chi2);
        assert!(p > P_MIN, "{what} of {range}: chi-square {chi2} over {cells} cells, p = {p}");
    }
}

/// Ends of cells: dense at the start of the range, and spread over all of it.
fn edges(range: u64) -> Vec<u64> {
    let mut edges: Vec<u64> = (1..=range.min(20)).collect();
    let mut edge = 20.0;
    while edge < range as f64 / 1.3 {
        edge *= 1.3;
        edges.push(edge as u64);
    }
    edges.extend((1..=100).map(|n| (u128::from(range) * n / 100) as u64));
    edges.sort();
    edges.dedup();
    edges.retain(|edge| *edge > 0);
    edges
}

/// Kolmogorov-Smirnov against the uniform distribution.
pub(super) fn evenly_spread(what: &str, sorted: &[u64], range: u64) {
    let n = sorted.len() as f64;
    let off = |(i, key): (usize, &u64)| ((i as f64 + 0.5) / n - *key as f64 / range as f64).abs();
    let furthest = sorted.iter().enumerate().map(off).fold(0.0, f64::max) + 0.5 / n;
    // 99.9 % of samples are nearer.
    assert!(furthest < 1.95 / n.sqrt(), "{what}: {furthest} off the even spread");
}
