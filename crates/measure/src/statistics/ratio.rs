//! Comparison of two samples: a ratio, the interval that holds the true one, and the conclusion.
//!
//! All computations use logarithms: a ratio becomes a difference, noise in proportion to the figure becomes
//! equal on both sides, and B over A mirrors A over B.
//!
//! Noise is not assumed to be normal. The mean of few blocks is judged by Student's t; noise with heavy tails
//! makes it more cautious, never less (Benjamini, "Is the t Test Really Conservative When the Parent
//! Distribution Is Long-Tailed?", JASA 1983). With [`MEDIAN_MIN`] blocks or more, the sign test also judges
//! their median; it assumes only that noise hits both sides alike. Each test gets half of the error rate, and
//! the interval is what both allow. So a few spoiled blocks cost precision, but do not decide.

use super::mean::Moments;
use super::sign::{Tail, order_statistic};
use super::{ERROR_RATE, Interval, POWER, SPREAD_MAX, student};

/// Minimum number of blocks whose median is judged as well as their mean: with fewer, the sign test shows
/// nothing at half of [`ERROR_RATE`].
const MEDIAN_MIN: usize = 7;

/// Ratio of a figure of B to that of A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio of the geometric means.
    pub ratio: f64,
    /// Range that holds the true ratio 95 times in 100.
    pub interval: Option<Interval>,
}

/// Ratio of a figure of B to that of A, with the evidence for the probability of any bound.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioEstimate {
    /// The ratio of the geometric means. If the median of blocks is judged, it is the median of the means of
    /// all pairs of blocks (Hodges and Lehmann, 1963), which no outlying block decides.
    pub ratio: f64,
    /// Range that holds the true ratio 95 times in 100. `None` for a single value per side (unpaired), or for
    /// a single block (paired): without a spread there is no interval.
    pub interval: Option<Interval>,
    /// Evidence from which the interval is computed.
    evidence: Option<Evidence>,
}

/// The evidence for an interval, as logarithms.
#[derive(Debug, Clone, PartialEq)]
struct Evidence {
    mean: MeanEvidence,
    /// The blocks in order of size, if their median is judged.
    sorted: Vec<f64>,
}

/// The evidence of the mean alone.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MeanEvidence {
    center: f64,
    error: StandardError,
    /// Differences of logarithms, below and above, that the instrument cannot resolve or a known disturbance
    /// explains.
    slack: [f64; 2],
    /// Share of intervals that miss the true value.
    rate: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardError {
    pub(crate) error: f64,
    pub(crate) freedom: f64,
    /// Number of blocks, or of values of the smaller side.
    pub(crate) count: usize,
}

/// Conclusions that a ratio allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// The sides differ: the interval does not include 1. For equal sides this happens one time in twenty.
    Differ,
    /// The sides differ by no more than [`SPREAD_MAX`]: the interval includes 1 and nothing farther from 1
    /// than that.
    Alike,
    /// The interval is inconclusive: it includes both 1 and differences that matter.
    Undecided,
    /// There is no interval, as each side has one value.
    Single,
}

/// Maximum number of blocks that are worth recommending.
pub const COUNT_MAX: usize = 1000;

impl MeanEvidence {
    /// The probability of a difference like the measured one, or a larger one, if the true difference were
    /// `bound`.
    fn p_beyond(self, bound: f64, side: Tail) -> Option<f64> {
        let StandardError { error, freedom, .. } = self.error;
        let beyond = match side {
            Tail::Above => self.center - self.with_slack(bound, side),
            Tail::Below => self.with_slack(bound, side) - self.center,
        };
        match error > 0.0 {
            true => student::above(beyond / error, freedom),
            false if beyond > 0.0 => Some(0.0),
            false => Some(1.0),
        }
    }

    /// The bound, moved by the slack: a difference within the slack does not count.
    fn with_slack(self, bound: f64, side: Tail) -> f64 {
        match side {
            Tail::Above => bound + self.slack[0],
            Tail::Below => bound - self.slack[1],
        }
    }
}

impl Evidence {
    /// Returns the lower and the upper end, at the evidence's rate; `None` if part of the evidence has no
    /// ends.
    fn ends(&self) -> Option<[f64; 2]> {
        let MeanEvidence { center, error: StandardError { error, freedom, .. }, slack, rate } =
            self.mean;
        let rate = if self.sorted.is_empty() { rate } else { rate / 2.0 };
        let half = student::two_sided(rate, freedom)? * error;
        let mean = [center - half, center + half];
        let median = order_statistic(self.sorted.len(), rate / 2.0)
            .map(|rank| [self.sorted[rank - 1], self.sorted[self.sorted.len() - rank]]);
        let [low, high] = match median {
            Some(median) if median[0] > mean[1] || median[1] < mean[0] => median,
            Some(median) => [median[0].max(mean[0]), median[1].min(mean[1])],
            None => mean,
        };
        Some([low - slack[0], high + slack[1]])
    }

    /// Computes the probability as [`MeanEvidence::p_beyond`] does, for the median as well.
    fn p_beyond(&self, bound: f64, side: Tail) -> Option<f64> {
        let of_mean = self.mean.p_beyond(bound, side)?;
        if self.sorted.is_empty() {
            return Some(of_mean);
        }
        let of_median = side.probability(&self.sorted, self.mean.with_slack(bound, side));
        Some((2.0 * of_mean.min(of_median)).min(1.0))
    }

    /// The standard error for which Student's interval is as wide as this one.
    fn planned(&self) -> Option<StandardError> {
        let [low, high] = self.ends()?;
        let half = (high - low - self.mean.slack[0] - self.mean.slack[1]) / 2.0;
        let error = half / student::two_sided(self.mean.rate, self.mean.error.freedom)?;
        Some(StandardError { error, ..self.mean.error })
    }

    /// Half the width of the interval for `count` blocks with this spread. With `is_found`, it includes the
    /// margin to find a difference in [`POWER`] of all cases.
    fn half_of(&self, count: usize, is_found: bool) -> Option<f64> {
        let of = self.planned()?;
        let freedom = of.freedom * (count as f64 - 1.0) / (of.count as f64 - 1.0);
        if freedom < 1.0 {
            return None;
        }
        let error = of.error * (of.count as f64 / count as f64).sqrt();
        let often = if is_found { student::two_sided(2.0 * (1.0 - POWER), freedom)? } else { 0.0 };
        let half = (student::two_sided(self.mean.rate, freedom)? + often) * error;
        Some(half + self.mean.slack[0].max(self.mean.slack[1]))
    }
}

impl RatioEstimate {
    /// Compares paired measurements: each block has a value of A and one of B, taken in turn, so that a
    /// temporary slowdown affects both. `resolution` is the relative difference that the instrument cannot
    /// resolve, 0 for none. `None` if the counts differ, there are no values, or a value is not above 0.
    pub fn paired(a: &[f64], b: &[f64], resolution: f64) -> Option<Self> {
        Self::of_pairs(a, b, resolution, |error| error)
    }

    /// Compares pairs as [`paired`](Self::paired) does, with a function that corrects the standard error of the mean.
    pub(crate) fn of_pairs(
        a: &[f64],
        b: &[f64],
        resolution: f64,
        known: impl Fn(StandardError) -> StandardError,
    ) -> Option<Self> {
        if a.len() != b.len() {
            return None;
        }
        let mut differences: Vec<f64> =
            logarithms(a)?.iter().zip(logarithms(b)?).map(|(a, b)| b - a).collect();
        let Moments { count, mean, variance } = Moments::from_values(&differences)?;
        let Some(variance) = variance else {
            return Some(Self { ratio: mean.exp(), interval: None, evidence: None });
        };
        let freedom = count as f64 - 1.0;
        let error =
            known(StandardError { error: (variance / count as f64).sqrt(), freedom, count });
        let mut center = mean;
        if count < MEDIAN_MIN {
            differences.clear();
        } else {
            differences.sort_by(f64::total_cmp);
            center = median_of_means(&differences);
        }
        let slack = [resolution.max(0.0); 2];
        let mean = MeanEvidence { center: mean, error, slack, rate: ERROR_RATE };
        Some(Self::from_evidence(center, Evidence { mean, sorted: differences }))
    }

    /// Compares two independent samples, whose spreads may differ (Welch, "The Generalization of Student's Problem when
    /// Several Different Population Variances are Involved", Biometrika 1947). `resolution` and `None` as in
    /// [`paired`](Self::paired), except that the counts may differ.
    pub fn unpaired(a: &[f64], b: &[f64], resolution: f64) -> Option<Self> {
        Self::of_samples([a, b], resolution, |_| 0.0)
    }

    /// Compares two samples that were taken at different times. A different time on the same machine adds
    /// uncertainty: at least the spread of values of one session, and a standard deviation of `drift`, as a
    /// share.
    pub fn of_sittings(a: &[f64], b: &[f64], resolution: f64, drift: f64) -> Option<Self> {
        Self::of_samples([a, b], resolution, |variance| variance.max(drift * drift))
    }

    /// Compares two samples. `sitting` gives the additional variance of a side, for any count, from the
    /// variance of its values.
    fn of_samples(
        sides: [&[f64]; 2],
        resolution: f64,
        sitting: impl Fn(f64) -> f64,
    ) -> Option<Self> {
        let [a, b] = sides.map(Moments::of_logarithms);
        let (a, b) = (a?, b?);
        let center = b.mean - a.mean;
        let Some((va, vb)) = a.variance.zip(b.variance) else {
            return Some(Self { ratio: center.exp(), interval: None, evidence: None });
        };
        let (mut square, mut uncertain) = (0.0, 0.0);
        for (variance, count) in [(va, a.count), (vb, b.count)] {
            let on_top = sitting(variance);
            square += variance / count as f64 + on_top;
            let known = if on_top == variance && variance > 0.0 { variance } else { 0.0 };
            let estimated = variance / count as f64 + known;
            uncertain += estimated * estimated / (count as f64 - 1.0);
        }
        let freedom = square.powi(2) / uncertain;
        // Without any spread the degrees are 0 / 0; every choice gives the same interval. A thousand are as
        // good as infinitely many.
        let freedom = if freedom.is_nan() { (a.count + b.count - 2) as f64 } else { freedom };
        let freedom = freedom.min(COUNT_MAX as f64);
        let error = StandardError { error: square.sqrt(), freedom, count: a.count.min(b.count) };
        let slack = [resolution.max(0.0); 2];
        let mean = MeanEvidence { center, error, slack, rate: ERROR_RATE };
        Some(Self::from_evidence(center, Evidence { mean, sorted: Vec::new() }))
    }

    fn from_evidence(center: f64, evidence: Evidence) -> Self {
        let ends = evidence.ends();
        let interval = ends.map(|[low, high]| Interval { low: low.exp(), high: high.exp() });
        let center = ends.map_or(center, |[low, high]| center.max(low).min(high));
        Self { ratio: center.exp(), interval, evidence: Some(evidence) }
    }

    /// Widens the interval for one of `looks` looks at growing data: the intervals of all looks together hold
    /// the true ratio 95 times in 100 (Bonferroni).
    pub fn of_looks(self, looks: u32) -> Self {
        let center = self.ratio.ln();
        match self.evidence {
            Some(mut evidence) => {
                evidence.mean.rate = ERROR_RATE / f64::from(looks.max(1));
                Self::from_evidence(center, evidence)
            }
            None => self,
        }
    }

    /// Widens the interval by a known disturbance of one side: the true value of B may be lower by the factor
    /// `low`, or higher by `high`, than measured.
    pub fn stretched(self, [low, high]: [f64; 2]) -> Self {
        let center = self.ratio.ln();
        match self.evidence {
            Some(mut evidence) => {
                evidence.mean.slack[0] += low.max(1.0).ln();
                evidence.mean.slack[1] += high.max(1.0).ln();
                Self::from_evidence(center, evidence)
            }
            None => self,
        }
    }

    /// Returns the conclusion from the interval.
    pub fn conclusion(&self) -> Conclusion {
        let Some(interval) = self.interval else { return Conclusion::Single };
        match () {
            () if !interval.holds(1.0) => Conclusion::Differ,
            () if self.is_within(SPREAD_MAX) => Conclusion::Alike,
            () => Conclusion::Undecided,
        }
    }

    /// Returns whether the whole interval is within ±`share` of 1.
    pub fn is_within(&self, share: f64) -> bool {
        let bound = share.ln_1p();
        self.interval.is_some_and(|of| of.low.ln() >= -bound && of.high.ln() <= bound)
    }

    /// Returns whether the ratio differs from 1 if `figures` figures are examined together (Bonferroni).
    pub fn differs_among(&self, figures: usize) -> bool {
        let Some(evidence) = &self.evidence else { return false };
        let rate = evidence.mean.rate / figures.max(1) as f64;
        let least = self.p_above(1.0).zip(self.p_below(1.0)).map(|(above, below)| above.min(below));
        least.is_some_and(|p| 2.0 * p <= rate)
    }

    /// The smallest relative difference that `count` blocks (or values per side) with this spread reveal four
    /// times in five. `None` without an interval.
    pub fn smallest_visible(&self) -> Option<f64> {
        let evidence = self.evidence.as_ref()?;
        Some(evidence.half_of(evidence.mean.error.count, true)?.exp() - 1.0)
    }

    /// Computes the number of blocks (or values per side) with this spread that reveal a difference of
    /// `share` four times in five. `None` without an interval, or if even [`COUNT_MAX`] are too few.
    pub fn count_for(&self, share: f64) -> Option<usize> {
        self.least(share, true)
    }

    /// Half the interval relative to the ratio: 0.02 for ±2 %. `None` without an interval.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|of| (of.high / of.low).sqrt() - 1.0)
    }

    /// Computes the number of blocks (or values per side) with this spread whose interval is within ±`share`.
    /// `None` without an interval, or if even [`COUNT_MAX`] are too few.
    pub fn count_within(&self, share: f64) -> Option<usize> {
        self.least(share, false)
    }

    /// The smallest sufficient count from 2 to [`COUNT_MAX`]; every larger count is sufficient, too.
    fn least(&self, share: f64, is_found: bool) -> Option<usize> {
        let (evidence, wanted) = (self.evidence.as_ref()?, share.ln_1p());
        let enough =
            |count: usize| evidence.half_of(count, is_found).is_some_and(|half| half <= wanted);
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

    /// The probability of a ratio this far above `bound`, or farther, if the true ratio were the bound: a
    /// small one shows that the ratio is above. `None` without an interval.
    pub fn p_above(&self, bound: f64) -> Option<f64> {
        self.evidence.as_ref()?.p_beyond(bound.ln(), Tail::Above)
    }

    /// The probability of a ratio this far below `bound`, or farther, if the true ratio were the bound.
    /// `None` without an interval.
    pub fn p_below(&self, bound: f64) -> Option<f64> {
        self.evidence.as_ref()?.p_beyond(bound.ln(), Tail::Below)
    }
}

/// The median of the means of all pairs of sorted values, each with itself included.
fn median_of_means(sorted: &[f64]) -> f64 {
    let pairs = sorted.iter().enumerate();
    let mut means: Vec<f64> =
        pairs.flat_map(|(at, a)| sorted[at..].iter().map(move |b| f64::midpoint(*a, *b))).collect();
    means.sort_by(f64::total_cmp);
    f64::midpoint(means[(means.len() - 1) / 2], means[means.len() / 2])
}

/// Logarithms of values; `None` if one is not finite.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| Some(value.ln()).filter(|ln| ln.is_finite())).collect()
}

/// Marks the probabilities that are small enough to act on, so that the chance of acting on any of them
/// wrongly is at most [`ERROR_RATE`] overall (Holm, "A Simple Sequentially Rejective Multiple Test
/// Procedure", Scandinavian Journal of Statistics 1979), over `looks` looks at growing data (Bonferroni).
pub fn holm(probabilities: &[f64], looks: u32) -> Vec<bool> {
    let rate = ERROR_RATE / f64::from(looks.max(1));
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
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
#[path = "ratio_tests.rs"]
mod tests;
