//! How two samples compare: a ratio, the interval that holds the true one, and what to conclude.
//!
//! Everything happens to logarithms, where a ratio is a difference, the noise of benchmarks (which
//! is a share of the figure) is alike on both sides, and B over A is the mirror of A over B.

use crate::mean::Moments;
use crate::{ERROR_RATE, Interval, POWER, SPREAD_MAX, student};

/// A figure of B over that of A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio of the geometric means.
    pub ratio: f64,
    /// Holds the true ratio 95 times in 100. `None` with a single value of a side (of two samples)
    /// or a single block (of a paired one): what has no spread has no interval.
    pub interval: Option<Interval>,
    /// What the interval follows from.
    pub(crate) error: Option<StandardError>,
}

/// In logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardError {
    pub(crate) error: f64,
    pub(crate) freedom: f64,
    /// How many blocks, or values of the smaller side, it is of.
    pub(crate) count: usize,
    /// What the instrument cannot tell apart, to be added on either side.
    pub(crate) resolution: f64,
}

/// What a ratio allows to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// The two differ: the interval does not hold 1. True of equals one time in twenty.
    Differ,
    /// No difference was found, and one of more than [`SPREAD_MAX`] would have been: the interval
    /// holds 1 and nothing farther from it than that.
    Alike,
    /// The interval is too wide to conclude: it holds both 1 and differences that matter.
    TooWide,
    /// One value a side: there is no interval.
    Single,
}

/// More blocks than that are no advice.
pub const COUNT_MAX: usize = 1000;

impl StandardError {
    /// The difference of logarithms that `count` blocks of this spread find in [`POWER`] of all cases.
    fn visible(&self, count: usize) -> Option<f64> {
        let freedom = self.freedom * (count as f64 - 1.0) / (self.count as f64 - 1.0);
        if freedom < 1.0 {
            return None;
        }
        let error = self.error * (self.count as f64 / count as f64).sqrt();
        let found = student::two_sided(ERROR_RATE, freedom)?;
        let often = student::two_sided(2.0 * (1.0 - POWER), freedom)?;
        Some((found + often) * error + self.resolution.max(0.0))
    }
}

impl Ratio {
    /// Of measurements that belong together: each block has a value of A and one of B, taken side
    /// by side, so that what slows the machine for a while slows both. `resolution` is the relative
    /// difference that the instrument cannot see, 0 for none. `None` if the counts differ, there is
    /// nothing, or a value is not above 0.
    #[must_use]
    pub fn paired(a: &[f64], b: &[f64], resolution: f64) -> Option<Self> {
        if a.len() != b.len() {
            return None;
        }
        let differences: Vec<f64> =
            logarithms(a)?.iter().zip(logarithms(b)?).map(|(a, b)| b - a).collect();
        let Moments { count, mean, variance } = Moments::from_values(&differences)?;
        let error = variance.map(|variance| StandardError {
            error: (variance / count as f64).sqrt(),
            freedom: count as f64 - 1.0,
            count,
            resolution,
        });
        Some(Self::from_error(mean, error))
    }

    /// Of two samples that have nothing to do with each other, whose spreads may differ (Welch,
    /// "The Generalization of Student's Problem when Several Different Population Variances are
    /// Involved", Biometrika 1947). `resolution` and `None` as in [`paired`](Self::paired), except that
    /// the counts may differ.
    #[must_use]
    pub fn unpaired(a: &[f64], b: &[f64], resolution: f64) -> Option<Self> {
        let (a, b) = (Moments::of_logarithms(a)?, Moments::of_logarithms(b)?);
        let of_mean = |m: Moments| m.variance.map(|variance| variance / m.count as f64);
        let error = of_mean(a).zip(of_mean(b)).map(|(va, vb)| {
            let share = |v: f64, count: usize| v * v / (count as f64 - 1.0);
            let freedom = (va + vb).powi(2) / (share(va, a.count) + share(vb, b.count));
            // Without any spread the degrees are 0 / 0; every choice gives the same interval.
            let freedom =
                if freedom.is_finite() { freedom } else { (a.count + b.count - 2) as f64 };
            StandardError {
                error: (va + vb).sqrt(),
                freedom,
                count: a.count.min(b.count),
                resolution,
            }
        });
        Some(Self::from_error(b.mean - a.mean, error))
    }

    pub(crate) fn from_error(difference: f64, error: Option<StandardError>) -> Self {
        let interval = error.and_then(|StandardError { error, freedom, resolution, .. }| {
            let half = student::two_sided(ERROR_RATE, freedom)? * error + resolution.max(0.0);
            Some(Interval { low: (difference - half).exp(), high: (difference + half).exp() })
        });
        Self { ratio: difference.exp(), interval, error }
    }

    /// What to make of it.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let Some(interval) = self.interval else { return Conclusion::Single };
        let bound = (1.0 + SPREAD_MAX).ln();
        if !interval.holds(1.0) {
            Conclusion::Differ
        } else if interval.low.ln() >= -bound && interval.high.ln() <= bound {
            Conclusion::Alike
        } else {
            Conclusion::TooWide
        }
    }

    /// The smallest difference that so many blocks, or values a side, of this spread find four times in
    /// five, as a share of the figure. `None` without an interval.
    #[must_use]
    pub fn smallest_visible(&self) -> Option<f64> {
        let error = self.error?;
        Some(error.visible(error.count)?.exp() - 1.0)
    }

    /// How many blocks, or values a side, of this spread find a difference of `share` four times in five.
    /// `None` without an interval, or where even [`COUNT_MAX`] are too few.
    #[must_use]
    pub fn count_for(&self, share: f64) -> Option<usize> {
        let (error, wanted) = (self.error?, share.ln_1p());
        let enough = |count: usize| error.visible(count).is_some_and(|visible| visible <= wanted);
        least(enough)
    }

    /// Half the interval, as a share of the ratio: 0.02 for ±2 %. `None` without an interval.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        let interval = self.interval?;
        Some((interval.high / interval.low).sqrt() - 1.0)
    }

    /// How many blocks, or values a side, of this spread have an interval of no more than `share` to either side.
    /// `None` without an interval, or where even [`COUNT_MAX`] are too few.
    #[must_use]
    pub fn count_within(&self, share: f64) -> Option<usize> {
        let (of, wanted) = (self.error?, share.ln_1p());
        let half = |count: usize| {
            let freedom = of.freedom * (count as f64 - 1.0) / (of.count as f64 - 1.0);
            let error = of.error * (of.count as f64 / count as f64).sqrt();
            Some(student::two_sided(ERROR_RATE, freedom)? * error + of.resolution.max(0.0))
        };
        let enough = |count: usize| half(count).is_some_and(|half| half <= wanted);
        least(enough)
    }

    /// The probability of a ratio at least so far above `bound` if the true one were the bound: small
    /// says that it is above. `None` without an interval.
    #[must_use]
    pub fn p_above(&self, bound: f64) -> Option<f64> {
        self.p_beyond(self.ratio.ln() - bound.ln())
    }

    /// The probability of a ratio at least so far below `bound` if the true one were the bound. `None` without
    /// an interval.
    #[must_use]
    pub fn p_below(&self, bound: f64) -> Option<f64> {
        self.p_beyond(bound.ln() - self.ratio.ln())
    }

    fn p_beyond(&self, beyond: f64) -> Option<f64> {
        let StandardError { error, freedom, resolution, .. } = self.error?;
        let beyond = beyond - resolution.max(0.0);
        if error == 0.0 {
            return Some(if beyond > 0.0 { 0.0 } else { 1.0 });
        }
        student::above(beyond / error, freedom)
    }
}

/// The least count from 2 to [`COUNT_MAX`] that is enough, since what is enough shrinks with every further one.
fn least(enough: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut few, mut many) = (1, COUNT_MAX);
    if !enough(many) {
        return None;
    }
    while many - few > 1 {
        let middle = few.midpoint(many);
        if enough(middle) { many = middle } else { few = middle }
    }
    Some(many)
}

/// `None` where a value has none that is finite.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let logarithm = |value: &f64| Some(value.ln()).filter(|ln| ln.is_finite());
    values.iter().map(logarithm).collect()
}

/// Which of several probabilities are small enough to act on, so that the chance of acting on any
/// of them wrongly is at most [`ERROR_RATE`] in all (Holm, "A Simple Sequentially Rejective Multiple
/// Test Procedure", Scandinavian Journal of Statistics 1979), over so many looks at growing data
/// (Bonferroni).
#[must_use]
pub fn holm(probabilities: &[f64], looks: u32) -> Vec<bool> {
    let rate = ERROR_RATE / f64::from(looks.max(1));
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    workload::sort::sort_by(&mut order, |a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut small = vec![false; probabilities.len()];
    for (rank, at) in order.iter().enumerate() {
        if probabilities[*at] > rate / (probabilities.len() - rank) as f64 {
            break;
        }
        small[*at] = true;
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Noise;

    /// How often, of 2,000 seeds, a comparison of `count` values a side says that they differ.
    fn found(paired: bool, count: usize, difference: f64) -> usize {
        let seeds = 0..2_000;
        let differ = seeds.filter(|seed| {
            let mut noise = Noise::new(*seed);
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..count {
                // What a block has in common is far larger than what is looked for.
                let block = if paired { (0.2 * noise.normal()).exp() } else { 1.0 };
                a.push(block * (0.005 * noise.normal()).exp());
                b.push(block * (0.005 * noise.normal()).exp() * (1.0 + difference));
            }
            let ratio = if paired { Ratio::paired } else { Ratio::unpaired }(&a, &b, 0.0).unwrap();
            ratio.conclusion() == Conclusion::Differ
        });
        differ.count()
    }

    #[test]
    fn equals_are_distinguished_one_time_in_twenty() {
        for paired in [true, false] {
            for count in [3, 5, 10] {
                let wrong = found(paired, count, 0.0);
                // Welch's degrees of freedom are an approximation that errs to the safe side.
                let least = if paired { 60 } else { 40 };
                assert!((least..=140).contains(&wrong), "{wrong} of 2000, {count}, {paired}");
            }
        }
    }

    #[test]
    fn two_per_cent_are_found() {
        for (paired, count, least) in [(true, 5, 1_900), (false, 5, 1_940), (true, 10, 1_990)] {
            let found = found(paired, count, 0.02);
            assert!(found >= least, "{found} of 2000, {count}, {paired}");
        }
    }

    /// How often, of 2,000 seeds, the interval of five blocks of A B B A holds the true ratio of 1
    /// when starts of a server differ by 2 % and runs of one start by half a per cent.
    fn held_over_starts(each_block: bool) -> usize {
        let held = (0..2_000).filter(|seed| {
            let mut noise = Noise::new(*seed);
            let (mut a, mut b, mut starts) = (Vec::new(), Vec::new(), [0.0; 2]);
            for block in 0..5 {
                if block == 0 || each_block {
                    starts = [0.02 * noise.normal(), 0.02 * noise.normal()];
                }
                // The geometric mean of the two runs of a side.
                let mut run = |start: f64| (start + 0.005 * noise.normal() / 2f64.sqrt()).exp();
                a.push(run(starts[0]));
                b.push(run(starts[1]));
            }
            Ratio::paired(&a, &b, 0.0).unwrap().interval.unwrap().holds(1.0)
        });
        held.count()
    }

    #[test]
    fn what_differs_from_start_to_start_is_in_the_interval_of_blocks_that_start_anew() {
        let held = held_over_starts(true);
        assert!((1_860..=1_940).contains(&held), "{held} of 2000");
        let held = held_over_starts(false);
        assert!(held < 1_000, "{held} of 2000 with one start for all blocks");
    }

    #[test]
    fn the_interval_holds_the_true_ratio_95_times_in_100() {
        let held = (0..2_000).filter(|seed| {
            let mut noise = Noise::new(*seed);
            let mut side = |mean: f64, spread: f64| -> Vec<f64> {
                (0..6).map(|_| mean * (spread * noise.normal()).exp()).collect()
            };
            let (a, b) = (side(50.0, 0.02), side(75.0, 0.05));
            Ratio::unpaired(&a, &b, 0.0).unwrap().interval.unwrap().holds(1.5)
        });
        let held = held.count();
        assert!((1_860..=1_940).contains(&held), "{held} of 2000");
    }

    #[test]
    fn a_ratio_turned_round_is_its_mirror() {
        let (a, b) = ([1.0, 1.1, 1.05], [2.0, 2.3, 2.2]);
        for ratio in [Ratio::paired, Ratio::unpaired] {
            let (there, back) = (ratio(&a, &b, 0.0).unwrap(), ratio(&b, &a, 0.0).unwrap());
            assert!((there.ratio * back.ratio - 1.0).abs() < 1e-12);
            let (there, back) = (there.interval.unwrap(), back.interval.unwrap());
            assert!((there.low * back.high - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_concluded_follows_from_the_interval() {
        let of = |d: &[f64]| Ratio::paired(&vec![1.0; d.len()], d, 0.0).unwrap().conclusion();
        assert_eq!(of(&[1.02, 1.021, 1.019]), Conclusion::Differ);
        assert_eq!(of(&[1.002, 0.999, 1.0]), Conclusion::Alike);
        assert_eq!(of(&[1.3, 0.8, 1.1]), Conclusion::TooWide);
        assert_eq!(of(&[1.3]), Conclusion::Single);
        assert_eq!(Ratio::unpaired(&[1.0, 1.0], &[2.0], 0.0).unwrap().interval, None);
        assert_eq!(Ratio::paired(&[1.0], &[1.0, 2.0], 0.0), None);
        assert_eq!(Ratio::unpaired(&[], &[1.0], 0.0), None);
        assert_eq!(Ratio::paired(&[0.0], &[1.0], 0.0), None);
    }

    #[test]
    fn a_step_of_the_instrument_is_no_difference() {
        let (a, b) = ([1.0; 3], [1.0009; 3]);
        let differs = |resolution| Ratio::paired(&a, &b, resolution).unwrap().conclusion();
        assert_eq!(differs(0.0), Conclusion::Differ);
        assert_eq!(differs(0.001), Conclusion::Alike);
        assert_eq!(Ratio::unpaired(&a, &b, 0.001).unwrap().conclusion(), Conclusion::Alike);
    }

    #[test]
    fn one_sided_probabilities_are_of_the_side_asked_for() {
        let ratio = Ratio::paired(&[1.0; 4], &[1.10, 1.11, 1.09, 1.10], 0.0).unwrap();
        assert!(ratio.p_above(1.05).unwrap() < 0.001);
        assert!(ratio.p_above(1.15).unwrap() > 0.99);
        assert!(ratio.p_below(0.95).unwrap() > 0.99);
        let certain = Ratio::paired(&[1.0; 2], &[1.1; 2], 0.0).unwrap();
        assert_eq!((certain.p_above(1.05), certain.p_above(1.2)), (Some(0.0), Some(1.0)));
        assert_eq!(Ratio::paired(&[1.0], &[1.1], 0.0).unwrap().p_above(1.0), None);
    }

    #[test]
    fn the_smallest_visible_difference_is_found_four_times_in_five() {
        for (paired, count) in [(true, 5), (true, 10), (false, 5)] {
            // The spread of `found`: half a per cent a side.
            let error = 0.005 * (2.0 / count as f64).sqrt();
            let freedom = if paired { count - 1 } else { 2 * count - 2 } as f64;
            let known = StandardError { error, freedom, count, resolution: 0.0 };
            let difference = known.visible(count).unwrap().exp() - 1.0;
            let found = found(paired, count, difference);
            assert!((1_500..=1_760).contains(&found), "{found} of 2000, {count}, {paired}");
        }
    }

    #[test]
    fn more_blocks_see_smaller_differences() {
        let ratio = Ratio::paired(&[1.0; 5], &[1.1, 0.9, 1.05, 0.95, 1.0], 0.0).unwrap();
        let seen = ratio.smallest_visible().unwrap();
        assert!((0.1..0.2).contains(&seen), "{seen}");
        assert_eq!(ratio.count_for(seen + 0.001), Some(5));
        let more = ratio.count_for(seen / 2.0).unwrap();
        assert!((10..=20).contains(&more), "{more}");
        assert_eq!(ratio.count_for(0.0001), None);
        assert_eq!(Ratio::paired(&[1.0], &[1.1], 0.0).unwrap().smallest_visible(), None);
    }

    #[test]
    fn of_many_at_once_only_what_is_surely_small_counts() {
        assert_eq!(holm(&[0.04], 1), [true]);
        assert_eq!(holm(&[0.04, 0.04], 1), [false, false]);
        assert_eq!(holm(&[0.04, 0.02], 1), [true, true]);
        assert_eq!(holm(&[0.5, 0.001, 0.02, 0.9], 1), [false, true, false, false]);
        assert!(holm(&[], 1).is_empty());
        let wrong = (0..2_000).filter(|seed| {
            let mut noise = Noise::new(*seed);
            holm(&[(); 8].map(|()| noise.uniform()), 1).contains(&true)
        });
        let wrong = wrong.count();
        assert!((60..=140).contains(&wrong), "{wrong} of 2000");
    }
}
