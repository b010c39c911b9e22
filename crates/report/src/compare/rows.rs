//! One figure of both sides: the ratio, its certainty, and the conclusion about B.

use measure::statistics::{Conclusion, Interval, Mean, RatioEstimate};

use super::sittings::Excuse;
use super::{Pairing, Setup};
use crate::{Direction, Figures, Metric};

/// Largest change that is shown in digits.
const PERCENT_MAX: f64 = 1e6;

/// Comparison of one figure of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioRow {
    /// Figure that is compared.
    pub metric: Metric,
    /// The values of each run, A's and B's.
    pub values: [Vec<f64>; 2],
    /// Geometric means of both sides.
    pub means: [f64; 2],
    /// B over A.
    pub ratio: RatioEstimate,
    /// The smallest noticeable change, whatever the ratio, in the unit of the figure.
    pub least: f64,
}

impl RatioRow {
    /// Returns whether the ratio makes B the better one, whatever its interval. `None` if they are equal.
    pub fn b_is_better(&self) -> Option<bool> {
        let higher = self.ratio.ratio > 1.0;
        let wanted = self.metric.better() == Direction::Higher;
        (self.ratio.ratio != 1.0).then_some(higher == wanted)
    }

    /// The interval as text.
    pub fn describe_interval(&self) -> String {
        self.ratio
            .interval
            .map_or("none".to_owned(), |of| format!("{} to {}", factor(of.low), factor(of.high)))
    }

    /// The ratio that is worse than 1 by this many per cent.
    fn bound(&self, percent: f64) -> f64 {
        match self.metric.better() {
            Direction::Higher => 1.0 - percent / 100.0,
            Direction::Lower => 1.0 + (percent / 100.0).max(self.least / self.means[0]),
        }
    }

    /// Returns whether the whole interval is within unnoticeable changes.
    fn is_slight(&self) -> bool {
        let share = self.least / self.means[0];
        self.ratio
            .interval
            .is_some_and(|of| of.low >= (1.0 - share).max(0.0) && of.high <= 1.0 + share)
    }

    /// Probability of the measured ratio, or of one as far off in either direction, if B were worse by
    /// exactly `percent`. It is below 5 % exactly if the interval lies beyond that, so that gates and tables
    /// agree.
    pub(super) fn p_worse(&self, percent: f64) -> Option<f64> {
        let one_sided = match self.metric.better() {
            Direction::Higher => self.ratio.p_below(self.bound(percent)),
            Direction::Lower => self.ratio.p_above(self.bound(percent)),
        };
        one_sided.map(|p| (2.0 * p).min(1.0))
    }

    /// Returns whether the whole interval is worse by more than `percent`.
    pub(super) fn is_worse(&self, percent: f64) -> bool {
        self.ratio.interval.is_some_and(|Interval { low, high }| match self.metric.better() {
            Direction::Higher => high < self.bound(percent),
            Direction::Lower => low > self.bound(percent),
        })
    }

    /// Returns whether the interval allows B to be worse by more than `percent`.
    pub(super) fn may_be_worse(&self, percent: f64) -> bool {
        self.ratio.interval.is_none_or(|Interval { low, high }| match self.metric.better() {
            Direction::Higher => low < self.bound(percent),
            Direction::Lower => high > self.bound(percent),
        })
    }
}

/// A factor in at most six columns; more than three digits of a large one are useless.
fn factor(factor: f64) -> String {
    match factor {
        f if f < 10.0 => format!("{f:.3}"),
        f if f < 1_000.0 => format!("{f:.1}"),
        f if f < 100_000.0 => format!("{f:.0}"),
        f => format!("{f:.0e}"),
    }
}

/// Makes the row of the values of both sides, if both have the figure.
pub(super) fn row(
    metric: Metric,
    setup: &Setup,
    [a, b]: [&Vec<Figures>; 2],
    excuse: &Excuse,
) -> Option<RatioRow> {
    // A bucket of a histogram is so wide; neighbours may hold the same latency.
    let resolution = metric.quantile().map_or(0.0, |_| 0.1_f64.powi(setup.precision.into()));
    let values = |side: &[Figures]| -> Option<Vec<f64>> {
        side.iter().map(|figures| figures.get(metric)).collect()
    };
    let values = [values(a)?, values(b)?];
    let ratio = match setup.pairing {
        Pairing::None => {
            let drift = excuse.deviation(metric);
            RatioEstimate::of_sittings(&values[0], &values[1], resolution, drift)
                .map(|ratio| ratio.stretched(excuse.for_metric(metric)))
        }
        Pairing::Blocks => {
            let [a, b] = [0, 1].map(|side| -> Vec<Vec<f64>> {
                values[side].chunks_exact(2).map(<[f64]>::to_vec).collect()
            });
            RatioEstimate::of_blocks(&a, &b, resolution).map(|ratio| ratio.of_looks(setup.looks))
        }
    };
    let means = [geometric_mean(&values[0])?, geometric_mean(&values[1])?];
    let least = if setup.by_command { noticed(metric) } else { 0.0 };
    Some(RatioRow { metric, means, ratio: ratio?, values, least })
}

/// The smallest noticeable change of a command: 50 µs, or half a microsecond of the server's CPU.
fn noticed(metric: Metric) -> f64 {
    match metric {
        Metric::ServerCpu => 0.5,
        metric if metric.quantile().is_some() => 0.05,
        _ => 0.0,
    }
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    Mean::from_values(&logarithms).map(|mean| mean.mean.exp())
}

/// Describes B by a ratio, in a word.
pub fn finding(row: &RatioRow) -> &'static str {
    match row.ratio.conclusion() {
        Conclusion::Single | Conclusion::Undecided => "undecided",
        Conclusion::Alike => "alike",
        Conclusion::Differ if row.is_slight() => "alike",
        Conclusion::Differ if row.b_is_better() == Some(true) => "better",
        Conclusion::Differ => "worse",
    }
}

/// Describes B by a ratio, for tables.
pub fn verdict(row: &RatioRow) -> String {
    let found = finding(row);
    match row.ratio.conclusion() {
        Conclusion::Differ if row.is_slight() => format!("{found}, negligible difference"),
        Conclusion::Differ => format!("{found}, {}", change(row.ratio.ratio)),
        _ => found.to_owned(),
    }
}

/// A figure in a sentence.
pub fn called(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::Keys => "keys per second",
        Metric::Mean => "mean response time",
        Metric::Min => "min",
        Metric::P50 => "p50",
        Metric::P90 => "p90",
        Metric::P95 => "p95",
        Metric::P99 => "p99",
        Metric::P99_9 => "p99.9",
        Metric::Max => "max",
        Metric::ClientCpu => "client CPU per request",
        Metric::ServerCpu => "server CPU per request",
        Metric::Instructions => "instructions per request",
    }
}

/// Change that a ratio expresses, with its sign.
pub fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = usize::from(percent.abs() < 100.0);
    if percent < PERCENT_MAX {
        format!("{percent:+.decimals$} %")
    } else {
        format!("over +{PERCENT_MAX:.0} %")
    }
}
