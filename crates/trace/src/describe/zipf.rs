//! The exponent of Zipf's law that the counts of the most frequent keys follow best.

use serde::Serialize;

/// A fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Zipf {
    /// The exponent: rank k is as likely as 1 / k^exponent.
    pub exponent: f64,
    /// Its standard error, if keys are drawn by that law.
    pub error: f64,
    /// How many of the most frequent keys it is a fit of.
    pub ranks: usize,
    /// How far the counts are from the law, in the mean over these keys: 0.1 is 10 %.
    pub deviation: f64,
}

/// Counts below this say more of chance than of a law.
const COUNT_MIN: u64 = 30;
/// Fewer keys are no law.
const RANKS_MIN: usize = 10;
const RANKS_MAX: usize = 10_000;
const EXPONENT_MAX: f64 = 5.0;

/// Fits counts, the largest first: the exponent that makes them most likely, given how many there are in all.
#[must_use]
pub fn fit(counts: &[u64]) -> Option<Zipf> {
    let ranks = counts.iter().take(RANKS_MAX).take_while(|count| **count >= COUNT_MIN).count();
    if ranks < RANKS_MIN {
        return None;
    }
    let counts = &counts[..ranks];
    let logs: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).ln()).collect();
    let total: f64 = counts.iter().map(|count| *count as f64).sum();
    let seen =
        counts.iter().zip(&logs).map(|(count, log)| *count as f64 * log).sum::<f64>() / total;
    // The likelihood is largest where the law's mean of ln(rank) is that of the counts; the mean falls as the
    // exponent grows.
    let (mut low, mut high) = (0.0, EXPONENT_MAX);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if moments(middle, &logs).0 > seen { low = middle } else { high = middle }
    }
    let exponent = f64::midpoint(low, high);
    let (_, variance, norm) = moments(exponent, &logs);
    let expected = logs.iter().map(|log| (-exponent * log).exp() / norm * total);
    let off =
        counts.iter().zip(expected).map(|(count, expected)| (*count as f64 / expected - 1.0).abs());
    Some(Zipf {
        exponent,
        error: 1.0 / (total * variance.max(1e-9)).sqrt(),
        ranks,
        deviation: off.sum::<f64>() / ranks as f64,
    })
}

/// Mean and variance of ln(rank) under the law, and what its weights sum to.
fn moments(exponent: f64, logs: &[f64]) -> (f64, f64, f64) {
    let (mut norm, mut first, mut second) = (0.0, 0.0, 0.0);
    for log in logs {
        let weight = (-exponent * log).exp();
        norm += weight;
        first += weight * log;
        second += weight * log * log;
    }
    let mean = first / norm;
    (mean, second / norm - mean * mean, norm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_exact_counts_is_found() {
        for exponent in [0.3, 0.7, 0.99, 1.2, 2.0] {
            let counts: Vec<u64> =
                (1..=1000).map(|rank| (1e8 / f64::from(rank).powf(exponent)) as u64).collect();
            let fit = fit(&counts).unwrap();
            assert!((fit.exponent - exponent).abs() < 0.001 && fit.deviation < 0.01, "{fit:?}");
        }
        assert_eq!(fit(&[100; 9]), None);
        let even = fit(&[1000; 500]).unwrap();
        assert!(even.exponent < 0.001, "{even:?}");
    }
}
