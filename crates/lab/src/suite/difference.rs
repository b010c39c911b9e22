//! Two suites of the same specs: which of them differ, so that of all that are called different together, one is
//! wrongly so in one comparison of twenty.

use report::Finding;
use statistics::{Interval, Ratio, holm};

use super::{Entry, Suite};
use crate::figures::Figures;

/// The figure by which a spec is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedFigure {
    /// Requests per second.
    Throughput,
    /// The median response time in nanoseconds, where both sides kept the rate that the spec demands: throughput is
    /// then the same whatever the server does.
    Median,
}

/// A spec in both suites.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// What is compared.
    pub by: ComparedFigure,
    /// That figure, the geometric mean of each side's rounds, as the ratio is that of logarithms.
    pub values: [f64; 2],
    /// The second over the first, and what holds it 95 times in 100.
    pub ratio: f64,
    /// What holds the ratio; `None` with a single round of a side.
    pub interval: Option<Interval>,
    /// Whether it differs, after Holm over all specs.
    pub differs: bool,
    /// Whether it is worse by more than allowed, after Holm over all specs.
    pub worse: bool,
    /// The second 99th percentile over the first, of the means of both.
    pub p99_ratio: Option<f64>,
}

/// Two suites, spec by spec.
#[derive(Debug, Clone)]
pub struct SuiteComparison {
    /// What the two are called.
    pub names: [String; 2],
    /// Specs in both: those that differ first, the greatest change on top; then in the order of the suites.
    pub rows: Vec<Difference>,
    /// Specs of which there is no ratio, and why.
    pub left_out: Vec<String>,
    /// A decrease of throughput beyond this share is too much, if one is.
    pub threshold: Option<f64>,
}

impl SuiteComparison {
    /// Compares; `threshold` is the share of throughput that the second may lose.
    #[must_use]
    pub fn new(names: [String; 2], before: &Suite, after: &Suite, threshold: Option<f64>) -> Self {
        let mut left_out = Vec::new();
        let (mut rows, mut ratios) = (Vec::new(), Vec::new());
        for entry in &before.specs {
            let Some(other) = after.specs.iter().find(|other| other.name == entry.name) else {
                left_out.push(format!("{}: only in {}", entry.name, names[0]));
                continue;
            };
            let by = ComparedFigure::of([entry, other]);
            let values = [entry, other].map(|entry| by.values(entry));
            match Ratio::unpaired(&values[0], &values[1], 0.0) {
                Some(ratio) => {
                    rows.push(row([entry, other], by, values, &ratio));
                    ratios.push(ratio);
                }
                None => left_out.push(format!("{}: not measured in both", entry.name)),
            }
        }
        let only = after.specs.iter().filter(|e| before.specs.iter().all(|o| o.name != e.name));
        left_out.extend(only.map(|entry| format!("{}: only in {}", entry.name, names[1])));
        let differ = holm(&ratios.iter().map(two_sided).collect::<Vec<_>>(), 1);
        let least = 1.0 - threshold.unwrap_or_default();
        let p_worse = |(row, ratio): (&Difference, &Ratio)| match row.by {
            ComparedFigure::Throughput => ratio.p_below(least).unwrap_or(1.0),
            ComparedFigure::Median => ratio.p_above(1.0 / least).unwrap_or(1.0),
        };
        let worse = holm(&rows.iter().zip(&ratios).map(p_worse).collect::<Vec<_>>(), 1);
        for (row, (differs, worse)) in rows.iter_mut().zip(differ.into_iter().zip(worse)) {
            row.differs = differs;
            row.worse = worse && threshold.is_some();
        }
        let size = |row: &Difference| if row.differs { row.ratio.ln().abs() } else { -1.0 };
        workload::sort::sort_by(&mut rows, |a, b| size(b).total_cmp(&size(a)));
        Self { names, rows, left_out, threshold }
    }

    /// Whether a spec is worse than allowed.
    #[must_use]
    pub fn regressed(&self) -> bool {
        self.rows.iter().any(|row| row.worse)
    }

    /// Whether nothing can be said of a spec, as it was measured once.
    #[must_use]
    pub fn undecided(&self) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| row.interval.is_none())
    }
}

/// The probability of a ratio as far from 1 as this one, of equals.
fn two_sided(ratio: &Ratio) -> f64 {
    match (ratio.p_above(1.0), ratio.p_below(1.0)) {
        (Some(above), Some(below)) => (2.0 * above.min(below)).min(1.0),
        _ => 1.0,
    }
}

impl ComparedFigure {
    fn of(both: [&Entry; 2]) -> Self {
        let kept = |entry: &Entry| {
            let mut rounds = rounds(entry).iter();
            rounds.all(|figures| figures.finding == Some(Finding::ScheduleKept))
        };
        if both.into_iter().all(kept) { Self::Median } else { Self::Throughput }
    }

    fn values(self, entry: &Entry) -> Vec<f64> {
        match self {
            Self::Throughput => entry.rates(),
            Self::Median => rounds(entry).iter().map(|figures| figures.p50_ns as f64).collect(),
        }
    }
}

impl Difference {
    /// Whether the second is slower.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        match self.by {
            ComparedFigure::Throughput => self.ratio < 1.0,
            ComparedFigure::Median => self.ratio > 1.0,
        }
    }
}

fn rounds(entry: &Entry) -> &[Figures] {
    entry.main().map(|role| role.figures.as_slice()).unwrap_or_default()
}

fn row(both: [&Entry; 2], by: ComparedFigure, values: [Vec<f64>; 2], ratio: &Ratio) -> Difference {
    let count = |values: &[f64]| values.len().max(1) as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count(values);
    let geometric = |values: Vec<f64>| {
        (values.iter().map(|value| value.ln()).sum::<f64>() / count(&values)).exp()
    };
    let p99 = |entry: &Entry| {
        mean(&rounds(entry).iter().map(|figures| figures.p99_ns as f64).collect::<Vec<_>>())
    };
    let tails = both.map(p99);
    Difference {
        name: both[0].name.clone(),
        by,
        values: values.map(geometric),
        ratio: ratio.ratio,
        interval: ratio.interval,
        differs: false,
        worse: false,
        p99_ratio: (tails[0] > 0.0 && tails[1] > 0.0).then(|| tails[1] / tails[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::figures;
    use crate::suite::{RoleResult, Spec};
    use statistics::Noise;

    fn suite(of: &[(&str, Vec<f64>)]) -> Suite {
        let spec = |(name, _): &(&str, Vec<f64>)| Spec { name: (*name).into(), ..Spec::default() };
        let specs: Vec<Spec> = of.iter().map(spec).collect();
        let mut suite = Suite::new("redis 7".into(), 3, &specs);
        for (entry, (_, rates)) in suite.specs.iter_mut().zip(of) {
            let figures = rates.iter().map(|rate| figures(*rate, 1_000_000)).collect();
            entry.roles = vec![RoleResult { figures, ..RoleResult::default() }];
        }
        suite
    }

    fn compared(a: &[(&str, Vec<f64>)], b: &[(&str, Vec<f64>)]) -> SuiteComparison {
        SuiteComparison::new(["a", "b"].map(String::from), &suite(a), &suite(b), Some(0.05))
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
        assert!(compared.regressed() && !compared.undecided());
        assert_eq!(compared.left_out, ["gone: only in a", "new: only in b"]);
    }

    #[test]
    fn loads_of_a_rate_that_was_kept_are_compared_by_their_latency() {
        let kept = |medians: [u64; 3]| {
            let mut suite = suite(&[("x", vec![1000.0; 3])]);
            for (figures, median) in suite.specs[0].roles[0].figures.iter_mut().zip(medians) {
                figures.finding = Some(Finding::ScheduleKept);
                figures.p50_ns = median;
            }
            suite
        };
        let [a, b] = [kept([500, 505, 510]), kept([900, 905, 910])];
        let of = |a: &Suite, b: &Suite| {
            SuiteComparison::new(["a", "b"].map(String::from), a, b, Some(0.2))
        };
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
