//! Comparison of two sides that were measured in blocks, each side several times per block.
//!
//! A few blocks may agree by chance, and then their spread is misleading. The spread of a side's values
//! within a block limits how well blocks can agree, so the wider of the two intervals is used.

use super::ratio::{RatioEstimate, StandardError};
use super::{ERROR_RATE, mean::Moments, student};

/// The values of a side, one list per block.
pub type BlockValues = [Vec<f64>];

impl RatioEstimate {
    /// Compares blocks in each of which both sides were measured once or more, in turn. The value of a side
    /// in a block is its geometric mean. The interval is at least as wide as the ratios of the blocks
    /// require, and as the repeated values require. `resolution` and `None` are as in
    /// [`paired`](Self::paired); a block must not be empty.
    pub fn of_blocks(a: &BlockValues, b: &BlockValues, resolution: f64) -> Option<Self> {
        let means = |side: &BlockValues| -> Option<Vec<f64>> {
            side.iter().map(|values| Some(Moments::of_logarithms(values)?.mean.exp())).collect()
        };
        let of_repeats = repeats(a, b);
        Self::of_pairs(&means(a)?, &means(b)?, resolution, |of_blocks| match of_repeats {
            Some(of_repeats) if of_repeats.half() > of_blocks.half() => of_repeats,
            _ => of_blocks,
        })
    }
}

/// Standard error of the difference of logarithms, from repeated values; `None` without any.
fn repeats(a: &BlockValues, b: &BlockValues) -> Option<StandardError> {
    let (mut squares, mut freedom, mut of_mean) = (0.0, 0.0, 0.0);
    for values in a.iter().chain(b) {
        let Moments { count, variance, .. } = Moments::of_logarithms(values)?;
        let more = count as f64 - 1.0;
        squares += variance.unwrap_or_default() * more;
        freedom += more;
        of_mean += 1.0 / count as f64;
    }
    let count = a.len();
    let error = (squares / freedom * of_mean).sqrt() / count as f64;
    (freedom > 0.0).then_some(StandardError { error, freedom, count })
}

impl StandardError {
    fn half(&self) -> f64 {
        student::two_sided(ERROR_RATE, self.freedom).map_or(f64::INFINITY, |t| t * self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Noise;

    #[test]
    fn two_blocks_that_agree_by_chance_have_an_interval_as_wide_as_their_runs_differ() {
        // The 99th percentiles of a rehearsal of one server with itself beside other work.
        let a = [vec![1.539, 1.558], vec![0.773, 1.426]];
        let b = [vec![0.325, 0.319], vec![0.166, 0.288]];
        let ratio = RatioEstimate::of_blocks(&a, &b, 0.001).unwrap();
        let interval = ratio.interval.unwrap();
        assert!((ratio.ratio - 0.208).abs() < 0.001, "{ratio:?}");
        assert!(interval.low < 0.13 && interval.high > 0.33, "{ratio:?}");
    }

    #[test]
    fn blocks_that_differ_count_although_their_runs_agree() {
        let a = [vec![1.0, 1.0], vec![1.0, 1.0], vec![1.0, 1.0]];
        let b = [vec![1.0, 1.0], vec![1.2, 1.2], vec![1.1, 1.1]];
        let once = |side: &[Vec<f64>]| side.iter().map(|runs| vec![runs[0]]).collect::<Vec<_>>();
        let paired = RatioEstimate::of_blocks(&once(&a), &once(&b), 0.0).unwrap();
        assert_eq!(RatioEstimate::of_blocks(&a, &b, 0.0), Some(paired));
    }

    #[test]
    fn equals_are_distinguished_less_than_one_time_in_twenty() {
        for blocks in [2, 3, 5] {
            let wrong = (0..2_000).filter(|seed| {
                let mut noise = Noise::new(*seed);
                let mut side = || -> Vec<Vec<f64>> {
                    let mut block = |_| vec![noise.normal().exp(), noise.normal().exp()];
                    (0..blocks).map(&mut block).collect()
                };
                let (a, b) = (side(), side());
                !RatioEstimate::of_blocks(&a, &b, 0.0).unwrap().interval.unwrap().holds(1.0)
            });
            let wrong = wrong.count();
            assert!((10..=100).contains(&wrong), "{wrong} of 2000, {blocks} blocks");
        }
    }

    #[test]
    fn what_has_no_logarithm_has_no_ratio() {
        let good = [vec![1.0]];
        for bad in [vec![], vec![0.0], vec![f64::NAN], vec![1.0, -1.0]] {
            assert_eq!(RatioEstimate::of_blocks(&good, &[bad], 0.0), None);
        }
        assert_eq!(RatioEstimate::of_blocks(&[], &[], 0.0), None);
    }
}
