//! The number of values until the ratio of new values to earlier ones is known with the desired precision.
//!
//! Calculated with logarithms and Welch's degrees of freedom, as in
//! [`Ratio::unpaired`](crate::Ratio::unpaired).

use crate::mean::Moments;
use crate::{COUNT_MAX, ERROR_RATE, student};

/// Minimum number of new values whose own spread is used; fewer show less of it than the earlier values.
const SPREAD_OF: usize = 3;

/// The side that has too few values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleShortage {
    /// There are too few new values: this is the total needed.
    New(usize),
    /// There are too few earlier values, however many new ones follow: this number is needed on each side;
    /// `None` if even [`COUNT_MAX`] are too few.
    Both(Option<usize>),
}

/// Computes the number of values until the ratio of `new` to `before` is known to ±`share`, if further values
/// spread like these. `None` for fewer than two earlier values, or if a value is not above 0.
#[must_use]
pub fn needed(before: &[f64], new: &[f64], share: f64) -> Option<SampleShortage> {
    let (before, new) = (moments(before)?, moments(new)?);
    let spread = before.variance?;
    let new_spread = new.variance.filter(|_| new.count >= SPREAD_OF).unwrap_or(spread);
    let is_enough = |of_before: usize, of_new: usize| {
        let half = half(spread / of_before as f64, of_before, new_spread / of_new as f64, of_new);
        half.is_some_and(|half| half <= share.ln_1p())
    };
    let new_alone = (new.count.max(2)..=COUNT_MAX).find(|count| is_enough(before.count, *count));
    let both = || (before.count.max(new.count)..=COUNT_MAX).find(|count| is_enough(*count, *count));
    Some(new_alone.map_or_else(|| SampleShortage::Both(both()), SampleShortage::New))
}

fn moments(values: &[f64]) -> Option<Moments> {
    Moments::from_values(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())
}

/// Half of the interval of a difference of two means, of these squared errors.
fn half(a: f64, count_a: usize, b: f64, count_b: usize) -> Option<f64> {
    let share = |error: f64, count: usize| error * error / (count as f64 - 1.0);
    let freedom = (a + b).powi(2) / (share(a, count_a) + share(b, count_b));
    let freedom = if freedom.is_finite() { freedom } else { (count_a + count_b - 2) as f64 };
    Some(student::two_sided(ERROR_RATE, freedom)? * (a + b).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Noise, Ratio};

    fn values(seed: u64, count: usize, spread: f64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        (0..count).map(|_| 50.0 * (spread * noise.normal()).exp()).collect()
    }

    #[test]
    fn as_many_new_values_as_it_says_make_the_ratio_as_narrow() {
        let mut halves = 0.0;
        for seed in 0..200 {
            let (before, new) = (values(seed, 40, 0.02), values(seed + 1_000, 5, 0.02));
            let Some(SampleShortage::New(count)) = needed(&before, &new, 0.015) else {
                panic!("{seed}")
            };
            assert!((5..=COUNT_MAX).contains(&count));
            let all = values(seed + 2_000, count, 0.02);
            halves += Ratio::unpaired(&before, &all, 0.0).unwrap().half_width().unwrap();
        }
        let mean = halves / 200.0;
        assert!((0.010..=0.017).contains(&mean), "{mean}");
    }

    #[test]
    fn what_is_narrow_already_needs_no_more_and_two_new_ones_are_the_least() {
        let before = values(7, 40, 0.001);
        assert_eq!(needed(&before, &values(8, 6, 0.001), 0.02), Some(SampleShortage::New(6)));
        assert_eq!(needed(&before, &[51.0], 0.02), Some(SampleShortage::New(2)));
        // New ones that spread more need more than those before them say.
        let Some(SampleShortage::New(count)) = needed(&before, &values(9, 5, 0.05), 0.02) else {
            panic!("the new ones are too few")
        };
        assert!(count > 15, "{count}");
    }

    #[test]
    fn where_those_before_are_too_few_no_number_of_new_ones_does() {
        let (before, new) = (values(3, 4, 0.03), values(4, 1, 0.03));
        let Some(SampleShortage::Both(Some(count))) = needed(&before, &new, 0.01) else {
            panic!("those before are too few")
        };
        assert!((50..=300).contains(&count), "{count}");
        assert_eq!(needed(&before, &new, 0.000_1), Some(SampleShortage::Both(None)));
        assert_eq!(needed(&before[..1], &new, 0.02), None);
        assert_eq!(needed(&[50.0, 0.0], &new, 0.02), None);
        assert_eq!(
            needed(&[50.0; 5], &new, 0.02),
            Some(SampleShortage::New(2)),
            "without any spread"
        );
    }
}
