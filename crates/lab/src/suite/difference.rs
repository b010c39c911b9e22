//! Comparison of two suites of the same specs, in which the chance that any reported difference is wrong is
//! one in twenty in all.
//!
//! The two did not alternate, so the interval of a spec includes the machine's changes between hours, more the
//! more both were disturbed, and the excess of disturbances of one of them ([`Held`]). Errors are no noise: a spec that
//! fails more is worse.

use measure::statistics::{Interval, RatioEstimate, SPREAD_MAX, holm};
use report::{Direction, Finding, Held, Metric, noise_deviation};

use super::{Entry, Suite};
use crate::figures::Figures;

/// Change of a figure in another hour of a quiet machine at least, as a standard deviation.
const DRIFT: f64 = 0.01;
/// Share of delayed requests from which their effect on a median is unknown.
const DELAYED_MIN: f64 = 0.02;
/// Largest tolerated increase of failures, as a share of all requests.
const FAILURES_MAX: f64 = 0.001;

/// The figure by which a spec is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedFigure {
    /// Requests per second.
    Throughput,
    /// Median response time in nanoseconds, if both sides kept the rate in the spec, so that throughput does
    /// not depend on the server.
    Median,
    /// Microseconds of the server's CPU for each request.
    ServerCpu,
}

/// A spec in both suites.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Name of the spec.
    pub name: String,
    /// The compared figure.
    pub by: ComparedFigure,
    /// Values of that figure: the geometric mean of each side's rounds, to match the ratio of logarithms.
    pub values: [f64; 2],
    /// Ratio of the second to the first.
    pub ratio: f64,
    /// Interval that holds the ratio; `None` with a single round of a side.
    pub interval: Option<Interval>,
    /// Set if the spec differs, by Holm's method over all specs.
    pub differs: bool,
    /// Set if the spec is worse by more than allowed, by Holm's method over all specs, or more of its
    /// requests fail.
    pub worse: bool,
    /// Set if the interval allows the spec to be worse by more than allowed, or without a limit by more than
    /// is worth tuning for.
    pub is_open: bool,
    /// Shares of failed requests.
    pub failed: [f64; 2],
    /// The second 99th percentile over the first, of the means of both.
    pub p99_ratio: Option<f64>,
}

/// Two suites, spec by spec.
#[derive(Debug, Clone)]
pub struct SuiteComparison {
    /// Names of the two suites.
    pub names: [String; 2],
    /// Specs in both: first those that differ, in order of change; then the others in the order of the
    /// suites.
    pub rows: Vec<Difference>,
    /// Specs without a ratio, with the reasons.
    pub left_out: Vec<String>,
    /// Largest allowed decrease of throughput, as a share, if there is a limit.
    pub threshold: Option<f64>,
    /// Set if the first suite has measured a spec without a ratio that both have.
    pub lacks: bool,
}

impl SuiteComparison {
    /// Compares by [`Metric::ServerCpu`], or by throughput; `threshold` is the share by which the second may
    /// be worse.
    pub fn new(
        names: [String; 2],
        before: &Suite,
        after: &Suite,
        metric: Metric,
        threshold: Option<f64>,
    ) -> Self {
        let mut lacks = false;
        let mut left_out = Vec::new();
        let (mut rows, mut ratios) = (Vec::new(), Vec::new());
        for entry in &before.specs {
            let Some(other) = after.specs.iter().find(|other| other.name == entry.name) else {
                left_out.push(format!("{}: only in {}", entry.name, names[0]));
                continue;
            };
            let by = match metric {
                Metric::ServerCpu => ComparedFigure::ServerCpu,
                _ => ComparedFigure::from_entries([entry, other]),
            };
            let values = [entry, other].map(|entry| by.values(entry));
            let drift = by.deviation([entry, other]);
            let ratio = RatioEstimate::of_sittings(&values[0], &values[1], 0.0, drift);
            match ratio.map(|ratio| ratio.stretched(by.excuse([entry, other]))) {
                Some(ratio) => {
                    rows.push(row([entry, other], by, values, &ratio));
                    ratios.push(ratio);
                }
                None => {
                    lacks |= !entry.figures.is_empty();
                    left_out.push(format!("{}: not measured in both", entry.name));
                }
            }
        }
        let only = after.specs.iter().filter(|e| before.specs.iter().all(|o| o.name != e.name));
        left_out.extend(only.map(|entry| format!("{}: only in {}", entry.name, names[1])));
        let differ = holm(&ratios.iter().map(two_sided).collect::<Vec<_>>(), 1);
        let least = 1.0 - threshold.unwrap_or_default();
        let most = match metric {
            Metric::ServerCpu => 1.0 + threshold.unwrap_or_default(),
            // The inverse: a time is as much longer as a throughput would be lower.
            _ => 1.0 / least,
        };
        let p_values = rows.iter().zip(&ratios).map(|(row, ratio)| match row.by.better() {
            Direction::Higher => ratio.p_below(least).unwrap_or(1.0),
            Direction::Lower => ratio.p_above(most).unwrap_or(1.0),
        });
        let worse = holm(&p_values.collect::<Vec<_>>(), 1);
        let sure = differ.into_iter().zip(worse);
        for ((row, ratio), (differs, worse)) in rows.iter_mut().zip(&ratios).zip(sure) {
            row.differs = differs || row.fails_more();
            row.worse = threshold.is_some() && (worse || row.fails_more());
            row.is_open = match (row.interval, threshold, row.by.better()) {
                (None, ..) => true,
                (Some(_), None, _) => !differs && !ratio.is_within(SPREAD_MAX),
                (Some(of), Some(_), Direction::Higher) => of.low < least,
                (Some(of), Some(_), Direction::Lower) => of.high > most,
            };
        }
        let size = |row: &Difference| if row.differs { row.ratio.ln().abs() } else { -1.0 };
        rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
        Self { names, rows, left_out, threshold, lacks }
    }

    /// Returns whether a spec is worse than allowed.
    pub fn regressed(&self) -> bool {
        self.rows.iter().any(|row| row.worse)
    }

    /// Returns whether the runs leave open for a spec whether it is worse than allowed.
    pub fn undecided(&self) -> bool {
        self.rows.is_empty() || self.lacks || self.open().next().is_some()
    }

    /// Specs for which the runs leave it open.
    pub fn open(&self) -> impl Iterator<Item = &Difference> {
        self.rows.iter().filter(|row| row.is_open && !row.worse)
    }
}

/// Probability of a ratio as far from 1 as this one, between equals.
fn two_sided(ratio: &RatioEstimate) -> f64 {
    match (ratio.p_above(1.0), ratio.p_below(1.0)) {
        (Some(above), Some(below)) => (2.0 * above.min(below)).min(1.0),
        _ => 1.0,
    }
}

impl ComparedFigure {
    fn from_entries(both: [&Entry; 2]) -> Self {
        let kept = both.into_iter().all(|entry| {
            let mut rounds = entry.figures.iter();
            rounds.all(|figures| figures.finding == Some(Finding::ScheduleKept))
        });
        if kept { Self::Median } else { Self::Throughput }
    }

    fn values(self, entry: &Entry) -> Vec<f64> {
        match self {
            Self::Throughput => entry.rates(),
            Self::Median => entry.figures.iter().map(|figures| figures.p50_ns as f64).collect(),
            Self::ServerCpu => entry.server_cpu_us.iter().flatten().copied().collect(),
        }
    }

    fn better(self) -> Direction {
        if self == Self::Throughput { Direction::Higher } else { Direction::Lower }
    }

    /// Factors by which the ratio may be lower and higher than measured, as others held up one side more.
    fn excuse(self, both: [&Entry; 2]) -> [f64; 2] {
        let held = both.map(held);
        let [before, after] = [held[0].beyond(held[1]), held[1].beyond(held[0])];
        match self {
            Self::Throughput => [before.factor(), after.factor()],
            // Work on a CPU that others use, too, costs more.
            Self::ServerCpu => [after.factor(), before.factor()],
            // The median without the delayed requests is not stored.
            Self::Median => [after, before]
                .map(|held| if held.delayed < DELAYED_MIN { held.factor() } else { f64::INFINITY }),
        }
    }

    /// Standard deviation of the figure between two sittings, as a share: that of a quiet machine, and that of
    /// the noise which both had.
    fn deviation(self, both: [&Entry; 2]) -> f64 {
        let [before, after] = both.map(held);
        DRIFT.hypot(noise_deviation(before.common(after).factor()))
    }
}

impl Difference {
    /// Returns whether more requests fail in the second.
    pub fn fails_more(&self) -> bool {
        self.failed[1] > self.failed[0] + FAILURES_MAX
    }

    /// Returns whether the second is slower, or fails more.
    pub fn is_slower(&self) -> bool {
        self.fails_more()
            || match self.by.better() {
                Direction::Higher => self.ratio < 1.0,
                Direction::Lower => self.ratio > 1.0,
            }
    }
}

/// Mean noise of a spec's rounds.
fn held(entry: &Entry) -> Held {
    Held::mean(entry.figures.iter().map(|figures| figures.held))
}

/// Share of a spec's requests that were answered with errors.
fn failed_share(entry: &Entry) -> f64 {
    let sum = |of: fn(&Figures) -> u64| entry.figures.iter().map(of).sum::<u64>() as f64;
    sum(|figures| figures.errors) / sum(|figures| figures.requests).max(1.0)
}

fn row(
    both: [&Entry; 2],
    by: ComparedFigure,
    values: [Vec<f64>; 2],
    ratio: &RatioEstimate,
) -> Difference {
    let count = |values: &[f64]| values.len().max(1) as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count(values);
    let tails = both.map(|entry| {
        mean(&entry.figures.iter().map(|figures| figures.p99_ns as f64).collect::<Vec<_>>())
    });
    Difference {
        name: both[0].name.clone(),
        by,
        values: values.map(|values| {
            (values.iter().map(|value| value.ln()).sum::<f64>() / count(&values)).exp()
        }),
        ratio: ratio.ratio,
        interval: ratio.interval,
        differs: false,
        worse: false,
        is_open: true,
        failed: both.map(failed_share),
        p99_ratio: (tails[0] > 0.0 && tails[1] > 0.0).then(|| tails[1] / tails[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::figures;
    use crate::suite::Spec;
    use measure::statistics::Noise;

    fn suite(of: &[(&str, Vec<f64>)]) -> Suite {
        let specs: Vec<Spec> =
            of.iter().map(|(name, _)| Spec { name: (*name).into(), ..Spec::default() }).collect();
        let mut suite = Suite::new("redis 7".into(), 3, &specs);
        for (entry, (_, rates)) in suite.specs.iter_mut().zip(of) {
            let figures = rates.iter().map(|rate| figures(*rate, 1_000_000)).collect();
            entry.figures = figures;
        }
        suite
    }

    fn judged(a: &Suite, b: &Suite, metric: Metric, percent: f64) -> SuiteComparison {
        let names = ["a", "b"].map(String::from);
        SuiteComparison::new(names, a, b, metric, Some(percent / 100.0))
    }

    fn compared(a: &[(&str, Vec<f64>)], b: &[(&str, Vec<f64>)]) -> SuiteComparison {
        judged(&suite(a), &suite(b), Metric::Throughput, 5.0)
    }

    #[test]
    fn what_changed_stands_on_top() {
        let same = vec![100.0, 101.0, 99.0];
        let before =
            [("x", same.clone()), ("y", same.clone()), ("z", same.clone()), ("gone", same.clone())];
        let after = [
            ("x", same.clone()),
            ("y", vec![80.0, 81.0, 79.0]),
            ("z", vec![120.0, 121.0, 122.0]),
            ("new", same),
        ];
        let compared = compared(&before, &after);
        let names: Vec<&str> = compared.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["y", "z", "x"]);
        assert_eq!(
            compared.rows.iter().map(|row| row.differs).collect::<Vec<_>>(),
            [true, true, false]
        );
        assert_eq!(
            compared.rows.iter().map(|row| row.worse).collect::<Vec<_>>(),
            [true, false, false]
        );
        let [before, after] = compared.rows[0].values;
        assert!((after / before - compared.rows[0].ratio).abs() < 1e-9, "{after} over {before}");
        assert!(compared.regressed());
        assert_eq!(compared.left_out, ["gone: only in a", "new: only in b"]);
    }

    #[test]
    fn loads_of_a_rate_that_was_kept_are_compared_by_their_latency() {
        let kept = |medians: [u64; 3]| {
            let mut suite = suite(&[("x", vec![1000.0; 3])]);
            for (figures, median) in suite.specs[0].figures.iter_mut().zip(medians) {
                figures.finding = Some(Finding::ScheduleKept);
                figures.p50_ns = median;
            }
            suite
        };
        let [a, b] = [kept([500, 505, 510]), kept([900, 905, 910])];
        let of = |a: &Suite, b: &Suite| judged(a, b, Metric::Throughput, 20.0);
        let slower = of(&a, &b);
        assert!(slower.rows[0].is_slower() && slower.rows[0].by == ComparedFigure::Median);
        assert!(slower.rows[0].worse && slower.regressed());
        let faster = of(&b, &a);
        assert!(faster.rows[0].differs && !faster.rows[0].is_slower() && !faster.regressed());
        let both = of(&a, &suite(&[("x", vec![900.0, 910.0, 920.0])]));
        assert_eq!(
            both.rows[0].by,
            ComparedFigure::Throughput,
            "one side was slower than its rate"
        );
    }

    #[test]
    fn a_suite_of_a_quiet_minute_is_not_slower_in_a_noisy_one() {
        let held = |share: f64, rates: &[f64]| {
            let mut suite = suite(&[("x", rates.to_vec())]);
            for figures in &mut suite.specs[0].figures {
                figures.held = Held { share, delayed: share };
            }
            suite
        };
        let of = |a: &Suite, b: &Suite| judged(a, b, Metric::Throughput, 5.0);
        let (quiet, noisy) = (held(0.0, &[100.0, 101.0, 99.0]), held(0.45, &[60.0, 61.0, 59.0]));
        let compared = of(&quiet, &noisy);
        assert!(compared.undecided() && !compared.regressed() && !compared.rows[0].differs);
        // What that noise cannot explain is found all the same, and what gets faster under it is faster.
        let broken = of(&quiet, &held(0.45, &[10.0, 10.1, 9.9]));
        assert!(broken.regressed() && broken.rows[0].worse);
        let faster = of(&noisy, &held(0.45, &[120.0, 121.0, 119.0]));
        assert!(faster.rows[0].differs && !faster.undecided() && !faster.regressed());
        // The same noise does not cost the same twice.
        let again = of(&noisy, &held(0.45, &[75.0, 76.0, 74.0]));
        assert!(!again.rows[0].differs && !again.regressed(), "{:?}", again.rows);
        // The interval is that of another hour: what lies within 5 % of nothing is passed, what may not is open.
        let wide = of(&quiet, &held(0.0, &[65.2, 110.0, 90.0]));
        assert!(wide.undecided() && !wide.regressed(), "{:?}", wide.rows);
    }

    #[test]
    fn what_a_request_costs_the_server_is_judged_where_a_gate_names_it() {
        let of = |rates: [f64; 3], cpu_us: [Option<f64>; 3]| {
            let mut suite = suite(&[("x", rates.to_vec())]);
            suite.specs[0].server_cpu_us = cpu_us.to_vec();
            suite
        };
        let judge = |a: &Suite, b: &Suite| judged(a, b, Metric::ServerCpu, 5.0);
        let cheap = of([100.0, 60.0, 140.0], [10.0, 10.1, 10.05].map(Some));
        let dear = of([140.0, 90.0, 100.0], [12.0, 12.1, 12.05].map(Some));
        let worse = judge(&cheap, &dear);
        assert!(worse.regressed() && worse.rows[0].is_slower(), "{:?}", worse.rows);
        assert!((worse.rows[0].ratio - 1.2).abs() < 0.01, "{:?}", worse.rows);
        let better = judge(&dear, &cheap);
        assert!(!better.regressed() && !better.undecided() && better.rows[0].differs);
        // What one of them does not tell, says nothing.
        assert!(judge(&cheap, &of([100.0; 3], [None; 3])).undecided());
        assert!(judge(&cheap, &suite(&[("y", vec![100.0; 3])])).undecided());
    }

    #[test]
    fn errors_are_no_noise() {
        let fails = |errors: u64| {
            let mut suite = suite(&[("x", vec![100_000.0; 3])]);
            suite.specs[0].figures.iter_mut().for_each(|figures| figures.errors = errors);
            suite
        };
        let compared = SuiteComparison::new(
            ["a", "b"].map(String::from),
            &fails(0),
            &fails(900),
            Metric::Throughput,
            Some(0.05),
        );
        assert!(compared.regressed() && compared.rows[0].is_slower());
    }

    #[test]
    fn one_round_decides_nothing() {
        let compared = compared(&[("x", vec![100.0])], &[("x", vec![50.0])]);
        assert!(compared.undecided() && !compared.regressed() && !compared.rows[0].differs);
    }

    #[test]
    fn twenty_equals_have_a_wrong_difference_in_one_comparison_of_twenty() {
        let mut noise = Noise::new(5);
        let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let mut round =
            || -> Vec<f64> { (0..3).map(|_| 1000.0 * (0.02 * noise.normal()).exp()).collect() };
        let wrong = (0..300).filter(|_| {
            let mut side = || names.iter().map(|name| (name.as_str(), round())).collect::<Vec<_>>();
            let (a, b) = (side(), side());
            compared(&a, &b).rows.iter().any(|row| row.differs)
        });
        let wrong = wrong.count();
        assert!(wrong <= 30, "{wrong} of 300");
    }
}
