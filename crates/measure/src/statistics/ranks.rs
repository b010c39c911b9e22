//! Tests of whether later values are higher than earlier ones, by ranks alone, for any distribution.
//!
//! The exact test of Mann and Whitney ("On a Test of Whether One of Two Random Variables is Stochastically
//! Larger than the Other", Annals of Mathematical Statistics 1947). A tie counts against a difference.

use super::{ERROR_RATE, SIDE_MIN};

/// Maximum number of pairs that are counted exactly; beyond that, the normal approximation is close.
const EXACT_PAIRS_MAX: usize = 2_000;
/// Maximum number of values at the end that are tested alone: a longer level is found as a step in the whole
/// series.
const NEWEST_MAX: usize = 8;

/// The newest values of a series, if they lie beyond all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Newest {
    pub(crate) count: usize,
    /// Probability that values of one level do so, in either direction.
    pub(crate) p: f64,
}

/// Probability that `after` ranks this far above `before` if both are of one level; 1 if one of them is
/// empty.
pub fn p_higher(before: &[f64], after: &[f64]) -> f64 {
    let pairs = before.len() * after.len();
    if pairs == 0 {
        return 1.0;
    }
    let above = above(before, after);
    if pairs <= EXACT_PAIRS_MAX {
        return exact(before.len(), after.len(), above);
    }
    let z = z_score(before.len(), after.len(), above as f64 - 0.5);
    statrs::function::erf::erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// The newest values that lie beyond all earlier ones, if that is unlikely by chance. Each number of values
/// that is tried is another chance of an error: three values may use half of the error rate, four a quarter,
/// and so on. `figures` is the number of series examined.
pub(crate) fn newest(values: &[f64], figures: usize) -> Option<Newest> {
    let most = NEWEST_MAX.min(values.len().saturating_sub(SIDE_MIN));
    let mut rate = ERROR_RATE / figures.max(1) as f64;
    let mut best: Option<(f64, Newest)> = None;
    for count in SIDE_MIN..=most {
        rate /= 2.0;
        let (before, after) = values.split_at(values.len() - count);
        let pairs = before.len() * count;
        if above(before, after) == pairs || above(after, before) == pairs {
            // One choice of so many among all, to either side.
            let choices = (0..count).map(|n| (values.len() - n) as f64 / (count - n) as f64);
            let p = (2.0 / choices.product::<f64>()).min(1.0);
            if p <= rate && best.is_none_or(|(least, _)| p / rate < least) {
                best = Some((p / rate, Newest { count, p }));
            }
        }
    }
    best.map(|(_, newest)| newest)
}

/// Counts the pairs in which the later value is above the earlier one.
fn above(before: &[f64], after: &[f64]) -> usize {
    after.iter().map(|later| before.iter().filter(|earlier| later > earlier).count()).sum()
}

/// Computes the number of standard deviations by which the number of pairs exceeds half of all pairs.
fn z_score(before: usize, after: usize, above: f64) -> f64 {
    let (before, after) = (before as f64, after as f64);
    let sd = (before * after * (before + after + 1.0) / 12.0).sqrt();
    (above - before * after / 2.0) / sd.max(f64::MIN_POSITIVE)
}

/// Computes the probability that at least `above` pairs have the higher value later, if all orders are
/// equally likely. Recursion: the largest value of all is either an earlier one, or a later one that is above
/// every earlier one.
fn exact(before: usize, after: usize, above: usize) -> f64 {
    let pairs = before * after;
    // For each number of earlier values so far, and so many later ones, how probable each count of pairs is.
    let mut rows = vec![vec![0.0; pairs + 1]; before + 1];
    rows.iter_mut().for_each(|row| row[0] = 1.0);
    for later in 1..=after {
        let mut next = vec![vec![0.0; pairs + 1]; before + 1];
        next[0][0] = 1.0;
        for earlier in 1..=before {
            let share = later as f64 / (later + earlier) as f64;
            let probability = |count: usize, next: &[Vec<f64>]| {
                let below = count.checked_sub(earlier);
                let last_is_later = below.map_or(0.0, |below| rows[earlier][below]);
                share * last_is_later + (1.0 - share) * next[earlier - 1][count]
            };
            let counts = 0..=earlier * later;
            let row: Vec<f64> = counts.map(|count| probability(count, &next)).collect();
            next[earlier][..row.len()].copy_from_slice(&row);
        }
        rows = next;
    }
    rows[before][above..].iter().sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Noise;

    #[test]
    fn three_beyond_all_eleven_before_are_one_chance_in_364() {
        let before: Vec<f64> = (0..11).map(f64::from).collect();
        let after = [20.0, 30.0, 25.0];
        assert!((p_higher(&before, &after) - 1.0 / 364.0).abs() < 1e-12);
        let below = after.map(|value| -value);
        assert!((p_higher(&before, &below) - 1.0).abs() < 1e-12);
        assert!(p_higher(&before, &[10.0; 3]) > 1.0 / 364.0, "a tie counts against it");
        assert_eq!(p_higher(&before, &[]), 1.0);
        // The table of Mann and Whitney: 5 and 5 values, 4 pairs or fewer the other way round.
        assert!((exact(5, 5, 21) - 0.0476).abs() < 1e-4);
    }

    #[test]
    fn many_values_are_judged_as_few_are() {
        let (before, after): (Vec<f64>, Vec<f64>) =
            (0..90).map(f64::from).partition(|v| v % 3.0 > 0.5);
        let (before, after) = (&before[..], after.iter().map(|v| v + 12.0).collect::<Vec<_>>());
        let exact = exact(before.len(), after.len(), above(before, &after));
        let z = z_score(before.len(), after.len(), above(before, &after) as f64 - 0.5);
        let normal = statrs::function::erf::erfc(z / std::f64::consts::SQRT_2) / 2.0;
        assert!((exact / normal - 1.0).abs() < 0.05, "{exact} {normal}");
    }

    #[test]
    fn equal_values_have_no_newest_ones_19_times_in_20_whatever_their_distribution() {
        for count in [14, 40] {
            for power in [1.0, 6.0] {
                let wrong = (0..1_000).filter(|seed| {
                    let mut noise = Noise::new(*seed);
                    let values = (0..count).map(|_| (noise.normal() * power).exp());
                    newest(&values.collect::<Vec<_>>(), 1).is_some()
                });
                let wrong = wrong.count();
                assert!(wrong <= 50, "{wrong} of 1000 with {count} values");
            }
        }
    }
}
