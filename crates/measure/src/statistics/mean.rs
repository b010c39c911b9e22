//! The mean of a sample, with its confidence interval.

use super::{ERROR_RATE, student};

/// The widest half-width of an interval, relative to its mean, that allows a conclusion.
///
/// Jain, "The Art of Computer Systems Performance Analysis" (1991), 13.9, defines the necessary number of
/// runs as the one that brings the half-width below a chosen share of the mean, and Georges et al. (see the
/// crate) stop repeating by the same rule. The 5 % are our choice: in a wider interval, differences that
/// people tune for are lost.
pub const SPREAD_MAX: f64 = 0.05;

/// A range from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Returns whether a value lies within.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The mean of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// Number of values.
    pub count: usize,
    /// The arithmetic mean.
    pub mean: f64,
    /// Range that holds the true mean 95 times in 100, by Student's t. `None` for a single value, which shows
    /// no spread.
    pub interval: Option<Interval>,
}

impl Mean {
    /// The mean of these values; `None` if there are none, or if one is not finite.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let Moments { count, mean, variance } = Moments::from_values(values)?;
        let freedom = count as f64 - 1.0;
        let interval = variance.and_then(|variance| {
            let half = student::two_sided(ERROR_RATE, freedom)? * (variance / count as f64).sqrt();
            Some(Interval { low: mean - half, high: mean + half })
        });
        Some(Self { count, mean, interval })
    }

    /// Half the width of the interval relative to the mean; `None` without an interval. 0 if all values are
    /// 0.
    pub fn spread(&self) -> Option<f64> {
        let half = self.interval.map(|interval| (interval.high - interval.low) / 2.0)?;
        Some(if half == 0.0 { 0.0 } else { half / self.mean.abs() })
    }

    /// Returns whether the values vary too much, or are too few, to conclude anything from the mean; see
    /// [`SPREAD_MAX`].
    pub fn too_wide(&self) -> bool {
        self.spread().is_none_or(|spread| spread.is_nan() || spread > SPREAD_MAX)
    }
}

/// Count, mean and variance of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) count: usize,
    pub(crate) mean: f64,
    /// Sample variance (divisor n − 1); `None` for a single value.
    pub(crate) variance: Option<f64>,
}

impl Moments {
    pub(crate) fn from_values(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = (count > 1).then(|| squares / (count as f64 - 1.0));
        Some(Self { count, mean, variance })
    }

    /// Computes the moments of the values' logarithms; values must be above 0.
    pub(crate) fn of_logarithms(values: &[f64]) -> Option<Self> {
        Self::from_values(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Noise;

    #[test]
    fn a_known_sample_has_its_known_interval() {
        // 2, 4, 6: mean 4, standard deviation 2, t of two degrees of freedom 4.3027.
        let mean = Mean::from_values(&[2.0, 4.0, 6.0]).unwrap();
        let interval = mean.interval.unwrap();
        let half = 4.302_652_7 * 2.0 / 3.0_f64.sqrt();
        assert_eq!((mean.count, mean.mean), (3, 4.0));
        assert!((interval.high - 4.0 - half).abs() < 1e-5, "{interval:?}");
        assert!((interval.low - 4.0 + half).abs() < 1e-5, "{interval:?}");
        assert!(mean.too_wide());
    }

    #[test]
    fn one_value_has_no_interval_and_nothing_no_mean() {
        let one = Mean::from_values(&[5.0]).unwrap();
        assert_eq!((one.mean, one.interval, one.spread()), (5.0, None, None));
        assert!(one.too_wide());
        assert_eq!(Mean::from_values(&[]), None);
        assert_eq!(Mean::from_values(&[1.0, f64::NAN]), None);
        assert_eq!(Mean::from_values(&[1.0, f64::INFINITY]), None);
    }

    #[test]
    fn what_does_not_vary_is_certain() {
        for value in [0.0, 7.0] {
            let mean = Mean::from_values(&[value; 4]).unwrap();
            assert_eq!(mean.interval, Some(Interval { low: value, high: value }));
            assert_eq!(mean.spread(), Some(0.0));
            assert!(!mean.too_wide());
        }
    }

    #[test]
    fn five_per_cent_is_the_bound() {
        // Two values a and b: half-width is 12.706 * |a - b| / 2.
        let spread = |d: f64| Mean::from_values(&[1.0 - d, 1.0 + d]).unwrap();
        assert!(!spread(0.0039).too_wide(), "{:?}", spread(0.0039).spread());
        assert!(spread(0.0040).too_wide(), "{:?}", spread(0.0040).spread());
    }

    #[test]
    fn an_interval_of_95_per_cent_holds_the_truth_that_often() {
        for count in [2, 3, 5, 10, 30] {
            let held = (0..2_000).filter(|seed| {
                let mut noise = Noise::new(*seed);
                let values: Vec<f64> = (0..count).map(|_| 100.0 + 7.0 * noise.normal()).collect();
                Mean::from_values(&values).unwrap().interval.unwrap().holds(100.0)
            });
            let held = held.count();
            assert!((1_860..=1_940).contains(&held), "{held} of 2000 with {count} values");
        }
    }
}
