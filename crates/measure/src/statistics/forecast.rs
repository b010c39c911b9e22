//! A forecast of the next value of a level from earlier values, to judge whether a new one is like them.
//!
//! The prediction interval is Student's t (Hahn and Meeker, "Statistical Intervals", 1991, 4.7), applied to
//! logarithms, as in ratios. An outlier counts as moderately far off (Huber), so one bad day does not hide
//! the next.

use super::mean::Moments;
use super::steps::{median, spread};
use super::{ERROR_RATE, Interval, POWER, student};

/// Standard deviations from the median at which outliers are clipped.
const CLIP: f64 = 3.5;
/// Addition to [`CLIP`] for few values, which show their spread only roughly: for n values, this number
/// divided by n.
const CLIP_OF_FEW: f64 = 5.0;
/// Minimum number of values that can show which of them is an outlier.
const CLIPPED_MIN: usize = 6;
/// Difference of logarithms that is due to rounding: equal values differ from their mean by no more.
const ROUNDING: f64 = 1e-12;

/// A level of values, and the forecast for the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Geometric mean of the values.
    pub level: f64,
    /// Range of the next value in 95 of 100 cases. With several figures, all their ranges hold together that
    /// often.
    pub interval: Interval,
    /// The smallest change, relative to the level, that one more value reveals four times in five.
    pub smallest_visible: f64,
    mean: f64,
    error: f64,
    freedom: f64,
}

impl Forecast {
    /// Predicts the next value from these; `None` for fewer than three values, or if one is not above 0.
    /// `figures` is the number of figures judged together.
    pub fn from_values(values: &[f64], figures: usize) -> Option<Self> {
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let Moments { count, mean, variance } = Moments::from_values(&clipped(&logarithms))?;
        let error_rate = ERROR_RATE / figures.max(1) as f64;
        let (count, variance) = (count as f64, variance?);
        let freedom = count - 1.0;
        if freedom < 2.0 {
            return None;
        }
        let error = (variance * (1.0 + 1.0 / count)).sqrt();
        let found = student::two_sided(error_rate, freedom)?;
        let often = student::two_sided(2.0 * (1.0 - POWER), freedom)?;
        Some(Self {
            level: mean.exp(),
            interval: Interval {
                low: (mean - found * error - ROUNDING).exp(),
                high: (mean + found * error + ROUNDING).exp(),
            },
            smallest_visible: ((found + often) * error).exp() - 1.0,
            mean,
            error,
            freedom,
        })
    }

    /// The probability of a value this high or higher (this low or lower if `sign` is -1) if the true level
    /// were the earlier one times `bound`.
    pub fn p_beyond(&self, value: f64, bound: f64, sign: f64) -> Option<f64> {
        let beyond = sign * (value.ln() - self.mean - bound.ln());
        if self.error < ROUNDING {
            return Some(if beyond > ROUNDING { 0.0 } else { 1.0 });
        }
        student::above(beyond / self.error, self.freedom)
    }
}

/// The values, clipped at `limit` standard deviations from the median.
fn clipped(values: &[f64]) -> Vec<f64> {
    let middle = median(values);
    let off: Vec<f64> = values.iter().map(|value| value - middle).collect();
    let reach = CLIP * (1.0 + CLIP_OF_FEW / values.len() as f64) * spread(&off);
    let is_known = values.len() >= CLIPPED_MIN && values.iter().all(|value| value.is_finite());
    let reach = if is_known { reach } else { f64::INFINITY };
    values.iter().map(|v| v.clamp(middle - reach, middle + reach)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Noise;

    /// Ten values of one level, and a further one whose level is `times` as high.
    fn values(seed: u64, times: f64) -> (Vec<f64>, f64) {
        let mut noise = Noise::new(seed);
        let mut value = || 50.0 * (0.01 * noise.normal()).exp();
        ((0..10).map(|_| value()).collect(), value() * times)
    }

    #[test]
    fn the_interval_holds_the_next_value_95_times_in_100() {
        let held = (0..2_000).filter(|seed| {
            let (before, next) = values(*seed, 1.0);
            Forecast::from_values(&before, 1).unwrap().interval.holds(next)
        });
        let held = held.count();
        assert!((1_860..=1_940).contains(&held), "{held} of 2000");
    }

    #[test]
    fn few_values_and_heavy_tails_miss_no_more_often() {
        for count in [3, 4, 5, 7, 11, 40] {
            for (figures, most) in [(1, 130), (4, 45)] {
                for tails in [false, true] {
                    let missed = (0..2_000).filter(|seed| {
                        let mut noise = Noise::new(*seed);
                        let mut value = || {
                            // Student's t of 4, which is far off more often.
                            let squares: f64 = (0..4).map(|_| noise.normal().powi(2)).sum();
                            let off = noise.normal();
                            if tails { off / (squares / 4.0).sqrt() } else { off }.exp()
                        };
                        let before: Vec<f64> = (0..count).map(|_| value()).collect();
                        !Forecast::from_values(&before, figures).unwrap().interval.holds(value())
                    });
                    let (missed, most) = (missed.count(), if tails { 2 * most } else { most });
                    assert!(missed <= most, "{missed} of 2000: {count}, {figures}, {tails}");
                }
            }
        }
    }

    #[test]
    fn a_bad_day_before_does_not_hide_the_next() {
        let mut before: Vec<f64> = (0..11).map(|n| 10.0 + f64::from(n % 4)).collect();
        before[5] = 473.0;
        let forecast = Forecast::from_values(&before, 2).unwrap();
        assert!(!forecast.interval.holds(455.0), "{forecast:?}");
        assert!((10.0..14.0).contains(&forecast.level), "{forecast:?}");
    }

    #[test]
    fn the_smallest_visible_change_shows_four_times_in_five() {
        // The change that the true spread makes visible, since each sample estimates its own.
        let visible: f64 = (0..500)
            .map(|s| Forecast::from_values(&values(s, 1.0).0, 1).unwrap().smallest_visible)
            .sum::<f64>()
            / 500.0;
        let shown = (0..2_000).filter(|seed| {
            let (before, next) = values(*seed, 1.0 + visible);
            next > Forecast::from_values(&before, 1).unwrap().interval.high
        });
        let shown = shown.count();
        assert!((1_500..=1_700).contains(&shown), "{shown} of 2000");
    }

    #[test]
    fn one_sided_probabilities_are_of_the_side_asked_for() {
        let forecast = Forecast::from_values(&[100.0, 101.0, 99.0, 100.5, 99.5], 1).unwrap();
        assert!(forecast.p_beyond(90.0, 1.0, -1.0).unwrap() < 0.001);
        assert!(forecast.p_beyond(90.0, 0.85, -1.0).unwrap() > 0.99);
        assert!(forecast.p_beyond(110.0, 1.0, 1.0).unwrap() < 0.001);
        assert_eq!(Forecast::from_values(&[1.0, 2.0], 1), None);
        assert_eq!(Forecast::from_values(&[1.0, 2.0, 0.0], 1), None);
        let certain = Forecast::from_values(&[8.085_503; 10], 1).unwrap();
        assert!(certain.interval.holds(8.085_503) && !certain.interval.holds(8.085_504));
        let certain = Forecast::from_values(&[2.0; 4], 1).unwrap();
        let p_below = |value| certain.p_beyond(value, 1.0, -1.0);
        assert_eq!((p_below(1.9), p_below(2.0)), (Some(0.0), Some(1.0)));
    }
}
