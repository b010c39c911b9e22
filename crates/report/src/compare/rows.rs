//! One figure of both sides: the ratio, how sure it is, and what that says of B.

use statistics::{Conclusion, Interval, Mean, Ratio};

use super::Pairing;
use crate::{Direction, Figures, Metric};

/// One figure of both sides.
#[derive(Debug, Clone)]
pub struct Row {
    /// Which.
    pub metric: Metric,
    /// The values of each run, A's and B's.
    pub values: [Vec<f64>; 2],
    /// Their geometric means, whose ratio is the ratio.
    pub means: [f64; 2],
    /// B over A.
    pub ratio: Ratio,
}

/// An interval that goes further from its ratio than this says nothing, and is none.
const TELLING: f64 = 10.0;

impl Row {
    /// What holds the true ratio 95 times in 100. `None` where nothing is known of it, or so little
    /// that it could be ten times the ratio.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.ratio.interval.filter(|interval| interval.high <= TELLING * self.ratio.ratio)
    }

    /// Whether B is the better one by the ratio, whatever its interval. `None` where they are equal.
    #[must_use]
    pub fn b_is_better(&self) -> Option<bool> {
        let higher = self.ratio.ratio > 1.0;
        let wanted = self.metric.better() == Direction::Higher;
        (self.ratio.ratio != 1.0).then_some(higher == wanted)
    }

    /// The interval as text, or why there is none.
    #[must_use]
    pub fn describe_interval(&self) -> String {
        match (self.interval(), self.ratio.interval) {
            (Some(Interval { low, high }), _) => format!("{low:.3} to {high:.3}"),
            // One that says that the two differ says on which side of 1 the ratio is.
            (None, Some(Interval { low, .. })) if low > 1.0 => format!("above {low:.3}"),
            (None, Some(Interval { high, .. })) if high < 1.0 => format!("below {high:.3}"),
            (None, Some(_)) => "too wide".to_owned(),
            (None, None) => "none".to_owned(),
        }
    }

    /// The ratio that is worse than 1 by so many per cent.
    fn bound(&self, percent: f64) -> f64 {
        match self.metric.better() {
            Direction::Higher => 1.0 - percent / 100.0,
            Direction::Lower => 1.0 + percent / 100.0,
        }
    }

    /// The probability of what was measured, or of what is as far off in either direction, if B were worse by
    /// `percent` and no more: it is below 5 % exactly where the interval lies beyond that, so that a gate and
    /// a table say the same.
    pub(super) fn p_worse(&self, percent: f64) -> Option<f64> {
        let one_sided = match self.metric.better() {
            Direction::Higher => self.ratio.p_below(self.bound(percent)),
            Direction::Lower => self.ratio.p_above(self.bound(percent)),
        };
        one_sided.map(|p| (2.0 * p).min(1.0))
    }

    /// Whether the whole interval is worse by more than that.
    pub(super) fn is_worse(&self, percent: f64) -> bool {
        self.ratio.interval.is_some_and(|Interval { low, high }| match self.metric.better() {
            Direction::Higher => high < self.bound(percent),
            Direction::Lower => low > self.bound(percent),
        })
    }

    /// Whether the interval leaves room for B to be worse by more than that.
    pub(super) fn may_be_worse(&self, percent: f64) -> bool {
        self.ratio.interval.is_none_or(|Interval { low, high }| match self.metric.better() {
            Direction::Higher => low < self.bound(percent),
            Direction::Lower => high > self.bound(percent),
        })
    }
}

/// Of the values of both sides, where both know the figure.
pub(super) fn row(
    metric: Metric,
    pairing: Pairing,
    precision: u8,
    [a, b]: [&Vec<Figures>; 2],
) -> Option<Row> {
    // A bucket of a histogram is so wide; neighbours may hold the same latency.
    let resolution = if metric.is_percentile() { 0.1_f64.powi(precision.into()) } else { 0.0 };
    let values = |side: &[Figures]| -> Option<Vec<f64>> {
        side.iter().map(|figures| figures.get(metric)).collect()
    };
    let values = [values(a)?, values(b)?];
    let ratio = match pairing {
        Pairing::None => Ratio::unpaired(&values[0], &values[1], resolution),
        Pairing::Blocks => {
            let [a, b] = [0, 1].map(|side| -> Vec<Vec<f64>> {
                values[side].chunks_exact(2).map(<[f64]>::to_vec).collect()
            });
            Ratio::of_blocks(&a, &b, resolution)
        }
    };
    let means = [geometric_mean(&values[0])?, geometric_mean(&values[1])?];
    Some(Row { metric, means, ratio: ratio?, values })
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    Mean::from_values(&logarithms).map(|mean| mean.mean.exp())
}

/// What a ratio says of B, for tables.
#[must_use]
pub fn verdict(row: &Row) -> String {
    match row.ratio.conclusion() {
        Conclusion::Single | Conclusion::TooWide => "unknown".to_owned(),
        Conclusion::Alike => "alike".to_owned(),
        Conclusion::Differ => {
            let percent = (row.ratio.ratio - 1.0) * 100.0;
            let better = if row.b_is_better() == Some(true) { "better" } else { "worse" };
            let decimals = usize::from(percent.abs() < 100.0);
            format!("{better}, {percent:+.decimals$} %")
        }
    }
}
