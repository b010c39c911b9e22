//! `--fail-on-regression`: whether a server is worse than the first by more than allowed, and with what
//! certainty.

use measure::statistics::holm;
use serde::Serialize;

use super::headline::{HELP, watched};
use super::rows::called;
use super::{Comparison, RatioRow, RefusalKind, TestComparison};
use crate::document::{Tone, Verdict};
use crate::groups::unique;
use crate::{Metric, listed};

/// A watched figure of a server and of the first.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedFigure {
    /// The test, by its whole name, or the command of a source.
    pub test: String,
    /// Names of the first server and of the other.
    pub names: [String; 2],
    /// The comparison of the figure.
    pub row: RatioRow,
}

impl WatchedFigure {
    fn describe(&self) -> String {
        format!("{} of {}", called(self.row.metric), self.test)
    }
}

/// Result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateState {
    /// Nothing is worse than allowed, and the intervals exclude it.
    Passed,
    /// The runs do not decide.
    Undecided,
    /// Something surely is worse, or more requests failed than allowed.
    Failed,
}

impl GateState {
    /// The result with its grounds, for the top of a page.
    pub fn verdict(self, text: impl Into<String>) -> Verdict {
        let (headline, tone) = match self {
            Self::Passed => ("Gate passed", Tone::Good),
            Self::Failed => ("Gate failed", Tone::Bad),
            Self::Undecided => ("Gate undecided", Tone::Warning),
        };
        Verdict::new(headline, text).toned(tone)
    }
}

/// A gate and its grounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Result of the gate.
    pub state: GateState,
    /// Surely worse than allowed: the chance that any of these is wrong is 5 % in all.
    pub found: Vec<WatchedFigure>,
    /// Perhaps worse: the intervals do not exclude it.
    pub possible: Vec<WatchedFigure>,
    /// Without an interval, so that there is no conclusion.
    pub unknown: Vec<WatchedFigure>,
    /// Unmeasured figures, each with its test.
    pub missing: Vec<(String, Metric)>,
    /// Number of figures judged, each with a chance to be wrong.
    pub judged: usize,
}

impl Comparison {
    /// Returns the result of `--fail-on-regression`; `None` without the option.
    pub fn gate(&self) -> Option<Gate> {
        self.threshold.map(|percent| self.gate_of(percent))
    }

    /// Judges whether a server is worse than the first by more than `percent`, by the watched figures.
    pub fn gate_of(&self, percent: f64) -> Gate {
        let (rows, missing) = self.watched_rows();
        let (mut found, mut possible, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        let mut judged = Vec::new();
        for watched in rows {
            match watched.row.p_worse(percent) {
                Some(p) => judged.push((watched, p)),
                None => unknown.push(watched),
            }
        }
        // Many figures, and many looks, are many chances to be wrong.
        let small = holm(&judged.iter().map(|(_, p)| *p).collect::<Vec<_>>(), self.looks);
        let figures = judged.len();
        for ((watched, _), small) in judged.into_iter().zip(small) {
            if small {
                found.push(watched);
            } else if watched.row.may_be_worse(percent) {
                possible.push(watched);
            }
        }
        let names = self.names();
        let faults =
            self.replayed.as_ref().is_some_and(|of| !of.faults(&names, percent).is_empty());
        let broken = faults || self.has_failures();
        // Of recorded traffic with few commands of each kind nothing may be known.
        let lacks = figures + unknown.len() == 0
            || !unknown.is_empty()
            || !missing.is_empty()
            || self.pairs().filter_map(|pair| pair.refused.as_ref()).next().is_some();
        let open = !possible.is_empty() || lacks;
        let state = match () {
            () if broken || !found.is_empty() => GateState::Failed,
            () if open || self.tests.is_empty() || !self.complete => GateState::Undecided,
            () => GateState::Passed,
        };
        Gate { state, found, possible, unknown, missing, judged: figures }
    }

    /// The watched figures of all tests, and the unmeasured ones, each with its test.
    fn watched_rows(&self) -> (Vec<WatchedFigure>, Vec<(String, Metric)>) {
        let (mut rows, mut missing) = (Vec::new(), Vec::new());
        for test in &self.tests {
            let judged = test.pairs.iter().filter(|pair| pair.refused.is_none());
            for (pair, metric) in
                judged.flat_map(|pair| self.watched.iter().map(move |m| (pair, *m)))
            {
                let figures = if pair.setup.by_command {
                    of_commands(pair, metric)
                } else {
                    vec![(self.name_of(test), watched(pair, metric))]
                };
                for (test, row) in figures {
                    match row.cloned() {
                        Some(row) => {
                            rows.push(WatchedFigure { test, names: pair.setup.names.clone(), row });
                        }
                        None => missing.push((test, metric)),
                    }
                }
            }
        }
        (rows, missing)
    }
}

/// A figure of each command of recorded traffic that is frequent enough, or rare but slow.
fn of_commands(test: &TestComparison, metric: Metric) -> Vec<(String, Option<&RatioRow>)> {
    let rows = test.operations.iter().filter_map(|of| {
        let row = of.rows.iter().find(|row| row.metric == metric)?;
        Some((of.name.clone(), Some(row)))
    });
    rows.collect()
}

/// Most open questions listed; the others are counted.
const OPEN_MAX: usize = 8;

/// Describes the gate's result, one sentence a line, of which the first decides the exit code. Empty without
/// a gate.
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let Some((percent, gate)) = comparison.threshold.zip(comparison.gate()) else {
        return Vec::new();
    };
    let failed = failures(comparison, percent, &gate).into_iter();
    let failed = failed.map(|text| format!("Gate failed: {text}."));
    let open = open_questions(comparison, percent, &gate).into_iter();
    let open = open.map(|text| match gate.state {
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
    match gate.state {
        GateState::Passed => lines.extend(passed(comparison, percent)),
        GateState::Undecided if lines.is_empty() => {
            lines.push("Gate undecided: not every test was compared.".to_owned());
        }
        GateState::Undecided | GateState::Failed => {}
    }
    lines
}

/// Sentences on what a passed gate excludes, one for each server.
fn passed(comparison: &Comparison, percent: f64) -> Vec<String> {
    let names = comparison.names();
    let figures = figures(&comparison.watched);
    let each = if comparison.replayed.is_some() { "command" } else { "test" };
    let lines = names.iter().skip(1).map(|name| {
        let first = &names[0];
        format!(
            "Gate passed: {name} is not worse than {first} by more than {percent} % in {figures} of any {each}."
        )
    });
    lines.collect()
}

/// Tests without a ratio and the reasons, without repetition: those refused for failed requests, or the
/// others.
fn refusals(comparison: &Comparison, failures: bool) -> Vec<String> {
    unique(comparison.tests.iter().flat_map(|test| {
        let refused = test.pairs.iter().filter_map(|pair| pair.refused.as_ref());
        let refused = refused.filter(move |why| (why.kind == RefusalKind::Failures) == failures);
        refused.map(|why| format!("{}: {}", comparison.name_of(test), why.text))
    }))
}

/// Figures in a sentence.
fn figures(watched: &[Metric]) -> String {
    let names: Vec<&str> = watched.iter().map(|metric| called(*metric)).collect();
    listed(&names, " or ")
}

/// Returns the reasons why a gate fails, a part of a sentence each.
fn failures(comparison: &Comparison, percent: f64, gate: &Gate) -> Vec<String> {
    let found = gate.found.iter().map(|found| {
        let WatchedFigure { names: [first, second], row, .. } = found;
        format!(
            "{second} is worse than {first} by more than {percent} % in {} (ratio {:.3}, 95 % interval {})",
            found.describe(),
            row.ratio.ratio,
            row.describe_interval()
        )
    });
    let replayed = comparison.replayed.iter();
    let faults = replayed.flat_map(|of| of.faults(&comparison.names(), percent));
    found.chain(faults).chain(refusals(comparison, true)).collect()
}

/// Returns the reasons why a gate neither fails nor passes, a part of a sentence each.
fn open_questions(comparison: &Comparison, percent: f64, gate: &Gate) -> Vec<String> {
    let possible = gate.possible.iter().map(|possible| {
        let WatchedFigure { names: [first, second], row, .. } = possible;
        let (figure, interval) = (possible.describe(), row.describe_interval());
        if row.is_worse(percent) {
            // The table calls it worse; the gate allows for all figures together.
            return format!(
                "{second} looks worse than {first} by more than {percent} % in {figure} (95 % interval of \
                 the ratio {interval}), but with {} figures judged that may be chance; use more blocks \
                 (--repeat)",
                gate.judged * comparison.looks as usize
            );
        }
        let advice = match row.ratio.count_for(percent / 100.0) {
            Some(blocks) => format!("to see {percent} % use --repeat {blocks}"),
            None => HELP.to_owned(),
        };
        format!(
            "the runs do not say whether {second} is worse than {first} by more than {percent} % \
             in {figure} (95 % interval of the ratio {interval}); {advice}"
        )
    });
    let unknown = gate.unknown.iter().map(|unknown| {
        format!("{} has no interval with one run per side; use --repeat", unknown.describe())
    });
    let missing = gate.missing.iter().map(|(test, metric)| {
        format!(
            "{} of {test} was not measured: the server does not tell it, or is not asked",
            called(*metric)
        )
    });
    possible.chain(unknown).chain(missing).chain(refusals(comparison, false)).collect()
}
