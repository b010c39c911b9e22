//! `--fail-on-regression`: whether the second server is worse than allowed, and how sure that is.

use serde::Serialize;
use statistics::holm;

use super::headline::{HELP, called};
use super::{Comparison, RefusalKind, Row, TestComparison};
use crate::Metric;

/// Figures that a gate watches by default: those that a service promises.
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
    /// Set if that interval, by itself, is beyond the allowed range.
    pub is_beyond: bool,
    /// Number of blocks, or runs a side, that would find a change as large as is allowed.
    pub blocks_for_it: Option<usize>,
    /// The smallest change that those there were could find, as a share.
    pub smallest_visible: Option<f64>,
}

/// Result of a gate; of several, the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateState {
    /// Nothing is worse than allowed, and the intervals leave no room for it.
    Passed,
    /// The runs do not say.
    Undecided,
    /// Something surely is, or more requests failed than may.
    Failed,
}

/// A gate, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Result of the gate.
    pub state: GateState,
    /// Surely worse than allowed: the chance that any of these is wrong is 5 % in all.
    pub found: Vec<Regression>,
    /// Not found to be, but their intervals leave room for it.
    pub possible: Vec<Regression>,
    /// Without an interval, so that there is no conclusion.
    pub unknown: Vec<Regression>,
    /// Figures that were not measured, each with its test.
    pub missing: Vec<(String, Metric)>,
    /// Number of figures that were judged: each is a chance to be wrong.
    pub judged: usize,
}

impl Comparison {
    /// Returns the result of `--fail-on-regression`; `None` without the option.
    #[must_use]
    pub fn gate(&self) -> Option<Gate> {
        self.threshold.map(|percent| self.gate_of(percent))
    }

    /// Judges whether the second server is worse than the first by more than `percent`, by the watched figures.
    #[must_use]
    pub fn gate_of(&self, percent: f64) -> Gate {
        let with_ratio = self.tests.iter().filter(|test| test.refused.is_none());
        let (mut rows, mut missing) = (Vec::new(), Vec::new());
        for (test, metric) in
            with_ratio.flat_map(|test| self.watched.iter().map(move |m| (test, *m)))
        {
            if test.setup.recorded {
                rows.extend(of_commands(test, metric));
                continue;
            }
            match watched(test, metric) {
                Some(row) => rows.push((self.name_of(test), row)),
                None => missing.push((self.name_of(test), metric)),
            }
        }
        let regression = |test: String, row: &Row| Regression {
            test,
            metric: row.metric,
            ratio: row.ratio.ratio,
            interval: row.describe_interval(),
            is_beyond: row.is_worse(percent),
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
        let figures = judged.len();
        for ((test, row, _), small) in judged.into_iter().zip(small) {
            if small {
                found.push(regression(test, row));
            } else if row.may_be_worse(percent) {
                possible.push(regression(test, row));
            }
        }
        let refused = || self.tests.iter().filter_map(|test| test.refused.as_ref());
        let names = self.names();
        let faults =
            self.replayed.as_ref().is_some_and(|of| !of.faults(&names, percent).is_empty());
        let broken = faults || refused().any(|refused| refused.kind == RefusalKind::Failures);
        // Of recorded traffic with few commands of each kind nothing may be known.
        let lacks = figures + unknown.len() == 0
            || !unknown.is_empty()
            || !missing.is_empty()
            || refused().next().is_some();
        let open = !possible.is_empty() || lacks;
        let state = match () {
            () if broken || !found.is_empty() => GateState::Failed,
            () if open || self.tests.is_empty() || !self.complete => GateState::Undecided,
            () => GateState::Passed,
        };
        Gate { state, found, possible, unknown, missing, judged: figures }
    }
}

/// A figure that the gate watches. A get of several keys may be several requests to one side.
pub(super) fn watched(test: &TestComparison, metric: Metric) -> Option<&Row> {
    match (metric, test.row(Metric::Keys)) {
        (Metric::Throughput, Some(keys)) => Some(keys),
        (metric, _) => test.row(metric),
    }
}

/// A figure of each command of recorded traffic, where there are enough of it.
fn of_commands(test: &TestComparison, metric: Metric) -> impl Iterator<Item = (String, &Row)> {
    let row = move |of: &'_ super::OperationComparison| {
        of.rows.iter().position(|row| row.metric == metric)
    };
    test.operations.iter().filter_map(move |of| Some((of.name.clone(), &of.rows[row(of)?])))
}

/// Describes the gate's result, a sentence a line: first the one that the exit code follows from. Empty without a gate.
#[must_use]
pub fn notes(comparison: &Comparison) -> Vec<String> {
    joint_notes(std::slice::from_ref(comparison))
}

/// Returns the joint result of the gates of several comparisons: one that fails fails all. `None` without a gate.
#[must_use]
pub fn joint_gate(comparisons: &[Comparison]) -> Option<GateState> {
    comparisons.iter().filter_map(Comparison::gate).map(|gate| gate.state).max()
}

/// Open questions that are listed; the others are counted.
const OPEN_MAX: usize = 8;

/// Describes the joint result in sentences, as [`notes`] does.
#[must_use]
pub fn joint_notes(comparisons: &[Comparison]) -> Vec<String> {
    let gates = || comparisons.iter().filter_map(|of| Some((of, of.threshold?, of.gate()?)));
    let Some(state) = joint_gate(comparisons) else { return Vec::new() };
    let failed = gates().flat_map(|(of, percent, gate)| failures(of, percent, &gate));
    let failed = failed.map(|text| format!("Gate failed: {text}."));
    let open = gates().flat_map(|(of, percent, gate)| open_questions(of, percent, &gate));
    let open = open.map(|text| match state {
        // The gate has failed for another reason; this one alone would leave it open.
        GateState::Failed => format!("Also undecided: {text}."),
        _ => format!("Gate undecided: {text}."),
    });
    let open: Vec<String> = open.collect();
    let more = open.len().saturating_sub(OPEN_MAX);
    let more =
        (more > 0).then(|| format!("The same holds for {more} other figures in the tables."));
    let open = open.into_iter().take(OPEN_MAX).chain(more);
    let mut lines: Vec<String> = failed.chain(open).collect();
    match state {
        GateState::Passed => lines.extend(gates().map(|(of, percent, _)| {
            let [first, second] = of.names();
            format!(
                "Gate passed: {second} is not worse than {first} by more than {percent} % in {} of any {}.",
                figures(&of.watched),
                if of.replayed.is_some() { "command" } else { "test" }
            )
        })),
        GateState::Undecided if lines.is_empty() => {
            lines.push("Gate undecided: not every test was compared.".to_owned());
        }
        GateState::Undecided | GateState::Failed => {}
    }
    lines
}

/// Tests without a ratio, and why, of those of which too many requests failed or of the others.
fn refusals(comparison: &Comparison, failures: bool) -> impl Iterator<Item = String> {
    let refused = comparison.tests.iter().filter_map(|test| Some((test, test.refused.as_ref()?)));
    let of = refused.filter(move |(_, why)| (why.kind == RefusalKind::Failures) == failures);
    of.map(|(test, why)| format!("{}: {}", comparison.name_of(test), why.text))
}

/// Figures in a sentence.
fn figures(watched: &[Metric]) -> String {
    let names: Vec<&str> = watched.iter().map(|metric| called(*metric)).collect();
    match &names[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.join(""),
    }
}

fn figure_of(regression: &Regression) -> String {
    format!("{} of {}", called(regression.metric), regression.test)
}

/// Returns the reasons why a gate fails, a part of a sentence each.
fn failures(comparison: &Comparison, percent: f64, gate: &Gate) -> Vec<String> {
    let [first, second] = comparison.names();
    let found = gate.found.iter().map(|regression| {
        let Regression { ratio, interval, .. } = regression;
        format!(
            "{second} is worse than {first} by more than {percent} % in {} (ratio {ratio:.3}, 95 % \
             interval {interval})",
            figure_of(regression)
        )
    });
    let replayed = comparison.replayed.iter();
    let faults = replayed.flat_map(|of| of.faults(&comparison.names(), percent));
    found.chain(faults).chain(refusals(comparison, true)).collect()
}

/// Returns the reasons why a gate neither fails nor passes, a part of a sentence each.
fn open_questions(comparison: &Comparison, percent: f64, gate: &Gate) -> Vec<String> {
    let [first, second] = comparison.names();
    let possible = gate.possible.iter().map(|regression| {
        let (figure, interval) = (figure_of(regression), &regression.interval);
        if regression.is_beyond {
            // The table calls it worse; the gate allows for all figures together.
            return format!(
                "{second} looks worse than {first} by more than {percent} % in {figure} (95 % interval of \
                 the ratio {interval}), but with {} figures judged that may be chance; use more blocks \
                 (--repeat)",
                gate.judged * comparison.looks as usize
            );
        }
        let advice = match regression.blocks_for_it {
            Some(blocks) => format!("to see {percent} % use --repeat {blocks}"),
            None => HELP.to_owned(),
        };
        format!(
            "the runs do not say whether {second} is worse than {first} by more than {percent} % \
             in {figure} (95 % interval of the ratio {interval}); {advice}"
        )
    });
    let unknown = gate.unknown.iter().map(|regression| {
        let figure = figure_of(regression);
        format!("{figure} has no interval with one run per side; use --repeat")
    });
    let missing = gate.missing.iter().map(|(test, metric)| {
        format!(
            "{} of {test} was not measured: the server does not tell it, or is not asked",
            called(*metric)
        )
    });
    possible.chain(unknown).chain(missing).chain(refusals(comparison, false)).collect()
}
