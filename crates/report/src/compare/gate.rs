//! `--fail-on-regression`: whether the second server is worse than allowed, and how sure that is.

use serde::Serialize;
use statistics::holm;

use super::headline::called;
use super::{Comparison, RefusalKind, Row, TestComparison};
use crate::Metric;

/// What the gate watches: what a service promises.
pub const WATCHED: [Metric; 2] = [Metric::Throughput, Metric::P99];

/// A figure by which the second server is, or may be, worse than allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The test, by its whole name.
    pub test: String,
    /// The figure.
    pub metric: Metric,
    /// The second over the first.
    pub ratio: f64,
    /// The interval of the ratio in words.
    pub interval: String,
    /// How many blocks, or runs a side, would find a change as large as is allowed.
    pub blocks_for_it: Option<usize>,
    /// The smallest change that those there were could find, as a share.
    pub smallest_visible: Option<f64>,
}

/// What came of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateState {
    /// Nothing is worse than allowed, and the intervals leave no room for it.
    Passed,
    /// Something surely is, or more requests failed than may.
    Failed,
    /// The runs do not say.
    Undecided,
}

/// A gate, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// What came of it.
    pub state: GateState,
    /// Surely worse than allowed: the chance that any of these is wrong is 5 % in all.
    pub found: Vec<Regression>,
    /// Not found to be, but their intervals leave room for it.
    pub possible: Vec<Regression>,
    /// Without an interval, so that there is no conclusion.
    pub unknown: Vec<Regression>,
}

impl Comparison {
    /// What `--fail-on-regression` comes to; `None` where nobody asked for it.
    #[must_use]
    pub fn gate(&self) -> Option<Gate> {
        self.threshold.map(|percent| self.gate_of(percent))
    }

    /// Whether the second server is worse than the first by more than `percent`, by the figures in
    /// [`WATCHED`].
    #[must_use]
    pub fn gate_of(&self, percent: f64) -> Gate {
        let with_ratio = self.tests.iter().filter(|test| test.refused.is_none());
        let rows = with_ratio.flat_map(|test| {
            WATCHED.into_iter().filter_map(move |metric| Some((test, watched(test, metric)?)))
        });
        let regression = |test: &TestComparison, row: &Row| Regression {
            test: self.name_of(test),
            metric: row.metric,
            ratio: row.ratio.ratio,
            interval: row.describe_interval(),
            blocks_for_it: row.ratio.count_for(percent / 100.0),
            smallest_visible: row.ratio.smallest_visible(),
        };
        let (mut found, mut possible, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        let mut judged = Vec::new();
        for (test, row) in rows {
            match row.p_worse(percent) {
                Some(p) => judged.push((test, row, p)),
                None => unknown.push(regression(test, row)),
            }
        }
        // Many figures, and many looks, are many chances to be wrong.
        let small = holm(&judged.iter().map(|(.., p)| *p).collect::<Vec<_>>(), self.looks);
        for ((test, row, _), small) in judged.into_iter().zip(small) {
            if small {
                found.push(regression(test, row));
            } else if row.may_be_worse(percent) {
                possible.push(regression(test, row));
            }
        }
        let refused = || self.tests.iter().filter_map(|test| test.refused.as_ref());
        let broken = refused().any(|refused| refused.kind == RefusalKind::Failures);
        let open = !possible.is_empty() || !unknown.is_empty() || refused().next().is_some();
        let state = match () {
            () if broken || !found.is_empty() => GateState::Failed,
            () if open || self.tests.is_empty() || !self.complete => GateState::Undecided,
            () => GateState::Passed,
        };
        Gate { state, found, possible, unknown }
    }
}

/// A figure that the gate watches. A get of several keys may be several requests to one side.
pub(super) fn watched(test: &TestComparison, metric: Metric) -> Option<&Row> {
    match (metric, test.row(Metric::Keys)) {
        (Metric::Throughput, Some(keys)) => Some(keys),
        (metric, _) => test.row(metric),
    }
}

/// What came of the gate, a sentence a line: first the one that the exit code follows from. None without
/// a gate.
#[must_use]
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let refused = comparison.tests.iter().filter_map(|test| Some((test, test.refused.as_ref()?)));
    let refused = |failures: bool| {
        let of =
            refused.clone().filter(move |(_, why)| (why.kind == RefusalKind::Failures) == failures);
        of.map(|(test, why)| format!("{}: {}", comparison.name_of(test), why.text))
    };
    let (Some(percent), Some(gate)) = (comparison.threshold, comparison.gate()) else {
        return Vec::new();
    };
    let [first, second] = comparison.names();
    let figure =
        |regression: &Regression| format!("{} of {}", called(regression.metric), regression.test);
    let failed = gate.found.iter().map(|regression| {
        let Regression { ratio, interval, .. } = regression;
        format!(
            "{second} is worse than {first} by more than {percent} % in {} (ratio {ratio:.3}, 95 % \
             interval {interval})",
            figure(regression)
        )
    });
    let failed = failed.chain(refused(true)).map(|text| format!("Gate failed: {text}."));
    let possible = gate.possible.iter().map(|regression| {
        let advice = match regression.blocks_for_it {
            Some(blocks) => format!("to see {percent} % use --repeat {blocks}"),
            None => "make the runs longer, or the machine quieter".to_owned(),
        };
        format!(
            "the runs do not say whether {second} is worse than {first} by more than {percent} % \
             in {} (95 % interval of the ratio {}); {advice}",
            figure(regression),
            regression.interval
        )
    });
    let unknown = gate.unknown.iter().map(|regression| {
        let figure = figure(regression);
        format!("{figure} has no interval with one run per side; use --repeat")
    });
    let undecided = possible.chain(unknown).chain(refused(false));
    let undecided = undecided.map(|text| match gate.state {
        // The gate has failed for another reason; this one alone would leave it open.
        GateState::Failed => format!("Also undecided: {text}."),
        _ => format!("Gate undecided: {text}."),
    });
    let mut lines: Vec<String> = failed.chain(undecided).collect();
    match gate.state {
        GateState::Passed => lines.push(format!(
            "Gate passed: {second} is not worse than {first} by more than {percent} % in throughput \
             or p99 of any test."
        )),
        GateState::Undecided if lines.is_empty() => {
            lines.push("Gate undecided: not every test was compared.".to_owned());
        }
        GateState::Undecided | GateState::Failed => {}
    }
    lines
}
