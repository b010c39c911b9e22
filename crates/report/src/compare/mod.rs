//! Servers compared with the first of them: for each test and figure the ratio, its certainty, and the limits
//! of each side.
//!
//! Owns the pairing of values, the definition of a regression, and warnings for the reader. [`measure::statistics`]
//! has the arithmetic, [`Metric`] the figures. The caller carries out the runs, and sibling files lay out the
//! result.

mod csv;
mod curve;
mod digest;
#[cfg(test)]
mod failure_tests;
mod gate;
#[cfg(test)]
mod gate_tests;
mod headline;
mod json;
mod limits;
mod names;
#[cfg(test)]
mod noise_tests;
mod operations;
mod question;
#[cfg(test)]
mod question_tests;
mod refusal;
mod replayed;
mod rows;
mod saved;
#[cfg(test)]
mod saved_tests;
mod side;
mod sittings;
mod subject;
mod sure;
mod terms;
mod tested;
#[cfg(test)]
pub(crate) mod tests;

use serde::Serialize;
use workload::Plan;

use crate::groups::by_frequency;
use crate::{Cause, CountUnit, Metric};

pub use csv::{write_head as write_csv_head, write_test as write_csv_test};
pub use curve::{Knee, RateCurve};
pub(crate) use digest::response_times;
pub use digest::{COMPARED, RunDigest};
pub use gate::{Gate, GateState, WatchedFigure, notes};
pub use headline::WATCHED;
pub use json::to_json;
pub use limits::{Caution, Limit, Limits, describe_limits, limited};
pub use measure::statistics::Conclusion;
pub use names::{
    SettingDifference, column_names, differing_settings, distinct_parts, name, shortened,
};
pub use operations::OperationComparison;
pub use question::{Candidate, ClauseValue, Question, TargetState};
pub use refusal::{Refusal, RefusalKind, describe_void, share};
pub use replayed::{
    AnswerComparison, Difference, HeadRoom, ReplayedTraffic, SpeedRange, Unjudged, UnjudgedReason,
};
pub use rows::{RatioRow, called, change, finding, verdict};
pub use saved::{beside, load_of, of_saved, options_of, unlike};
pub use side::Side;
use sittings::Excuse;
pub use subject::{Subject, program};
pub use sure::{Width, next_blocks};
pub use terms::{HIT_RATIO_DIFFERENCE_MAX, Table, Terms};
pub use tested::{ComparedTest, FigureRow, spoiled};

/// The name of the JSON document's layout.
pub const SCHEMA: &str = "keystorm.compare/1";

/// Pairing of the values of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// In blocks of A B B A: each block has one ratio, that of its geometric means, and the two runs of a
    /// side bound the possible agreement of blocks
    /// ([`RatioEstimate::of_blocks`](measure::statistics::RatioEstimate::of_blocks)). Steady changes during a block
    /// cancel out of the ratio.
    Blocks,
    /// Unpaired: two samples, each from a session of its own.
    None,
}

/// Default percentage of a side's requests that may fail.
pub const ERRORS_DEFAULT: f64 = 0.1;

/// Settings common to the tests of a comparison.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Names of the two sides.
    pub names: [String; 2],
    /// Pairing of the values.
    pub pairing: Pairing,
    /// Precision of percentiles in digits, from the plan.
    pub precision: u8,
    /// Set if a schedule sets the throughput.
    pub open_loop: bool,
    /// Set if commands are judged separately, as those of a source are.
    pub by_command: bool,
    /// Unit of rates and CPU times.
    pub unit: CountUnit,
    /// Percentage of a side's requests that may fail; above it, there is no ratio.
    pub errors_allowed: f64,
    /// Largest number of times that growing data is judged; the looks share the chance of an error.
    pub looks: u32,
    /// Number of tests with a headline in a report, each with a chance to be wrong.
    pub headlines: usize,
}

impl Setup {
    /// Makes the setup of runs of a plan.
    pub fn new(plan: &Plan, names: [String; 2], pairing: Pairing, errors_allowed: f64) -> Self {
        Self {
            names,
            pairing,
            precision: plan.recording.precision,
            open_loop: plan.load.pace.schedule().is_some(),
            by_command: plan.has_source(),
            unit: CountUnit::from_plan(plan),
            errors_allowed,
            looks: 1,
            headlines: 1,
        }
    }

    /// Returns the setup for this number of headlines and of looks.
    pub fn among(self, headlines: usize, looks: u32) -> Self {
        Self { looks, headlines, ..self }
    }
}

/// Comparison of one test on a server and on the first.
#[derive(Debug, Clone)]
pub struct TestComparison {
    /// Name of the test.
    pub name: String,
    /// Settings common to all tests.
    pub setup: Setup,
    /// A and B.
    pub sides: [Side; 2],
    /// A row for each figure that both sides have.
    pub rows: Vec<RatioRow>,
    /// Comparison of each operation of a mix.
    pub operations: Vec<OperationComparison>,
    /// Reasons for doubt of a ratio.
    pub warnings: Vec<Caution>,
    /// Number of the test's table, if there are several.
    pub table: Option<usize>,
    /// Reason why the test has no ratios, if it has none.
    pub refused: Option<Refusal>,
    /// Void blocks, in which the client did not do its work, by cause, the most frequent first.
    pub void: Vec<(Cause, usize)>,
}

impl TestComparison {
    /// Compares the runs of a test.
    pub fn new(name: &str, setup: &Setup, a: &[RunDigest], b: &[RunDigest]) -> Self {
        let figures = [a, b].map(|side| side.iter().map(|glance| glance.figures).collect());
        let excuse = match setup.pairing {
            Pairing::Blocks => Excuse::default(),
            Pairing::None => Excuse::of_runs([a, b]),
        };
        let rows = COMPARED.into_iter();
        let rows = rows.filter_map(|metric| rows::row(metric, setup, figures.each_ref(), &excuse));
        let [first, second] = &setup.names;
        let sides = [Side::new(first, a), Side::new(second, b)];
        let mut warnings = limits::warnings(sides.each_ref().map(Side::mostly), setup);
        warnings.retain(|caution| !setup.by_command || *caution != Caution::RateSet);
        Self {
            name: name.to_owned(),
            setup: setup.clone(),
            sides,
            rows: rows.collect(),
            operations: operations::compared(setup, [a, b], &excuse),
            warnings,
            table: None,
            refused: refusal::of_runs(setup, [a, b]),
            void: Vec::new(),
        }
    }

    /// Adds void blocks with their causes and runs; failures in them count.
    pub fn with_void(mut self, causes: &[Cause], runs: [&[RunDigest]; 2]) -> Self {
        self.void = by_frequency(causes.iter().copied());
        for (side, runs) in self.sides.iter_mut().zip(runs) {
            side.failures += side::failures(runs);
        }
        let failures = self.sides.each_ref().map(|side| side.failures);
        let failed = refusal::failed(&self.setup, failures);
        self.refused =
            failed.or_else(|| refusal::of_void(self.counted().0, &self.void)).or(self.refused);
        self
    }

    /// Returns the test with percentiles of all requests together instead of means over runs, like the
    /// judgement of a target, so that a figure has one value in a report.
    pub fn pooled(mut self) -> Self {
        let times = self.sides.each_ref().map(|side| response_times(side.counted()));
        for row in &mut self.rows {
            let Some(quantile) = row.metric.quantile() else { continue };
            for (mean, times) in row.means.iter_mut().zip(&times) {
                let ns = times.as_ref().and_then(|times| times.quantile_ns(quantile));
                *mean = ns.map_or(*mean, |ns| ns as f64 / 1e6);
            }
        }
        self
    }

    /// Returns the reasons for doubt of a ratio, a sentence each without a full stop.
    pub fn cautions(&self) -> Vec<String> {
        self.warnings.iter().map(|caution| caution.describe(&self.setup.names)).collect()
    }

    /// Describes the void blocks, in a sentence without a full stop.
    pub fn describe_void(&self) -> Option<String> {
        refusal::describe_void(&self.void).filter(|_| self.refused.is_none())
    }

    /// Returns the test as a part of this table; it has ratios only if the runs allow it.
    pub fn on_equal_terms(mut self, table: usize, a: &[RunDigest], b: &[RunDigest]) -> Self {
        self.table = Some(table);
        for (side, runs) in self.sides.iter_mut().zip([a, b]) {
            side.hit_ratio = terms::hit_ratio(runs);
        }
        self.refused = self.refused.take().or_else(|| refusal::of_terms(&self.sides));
        // The refusal says the one, the table the other.
        let refused = self.refused.is_some();
        self.warnings.retain(|caution| match caution {
            Caution::ByClient(_) => !refused,
            Caution::RateSet => false,
            Caution::Disturbed | Caution::ByNetwork | Caution::FewInFlight => true,
        });
        self
    }

    /// All rows, including those of its operations.
    pub fn all_rows(&self) -> impl Iterator<Item = &RatioRow> {
        self.rows.iter().chain(self.operations.iter().flat_map(|of| &of.rows))
    }

    /// Returns the row of a figure.
    pub fn row(&self, metric: Metric) -> Option<&RatioRow> {
        self.rows.iter().find(|row| row.metric == metric)
    }
}

/// All results of a comparison so far.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The servers; the others are compared with the first.
    pub subjects: Vec<Subject>,
    /// The target of the servers, in the user's text.
    pub target: Option<String>,
    /// Method of the runs, in a sentence.
    pub how: String,
    /// The command line that repeats the comparison, without passwords.
    pub command_line: String,
    /// Set if every test was compared as planned.
    pub complete: bool,
    /// The tests.
    pub tests: Vec<ComparedTest>,
    /// Warnings, such as differences that are not the servers'.
    pub warnings: Vec<String>,
    /// Percentage that `--fail-on-regression` allows.
    pub threshold: Option<f64>,
    /// The figures that it watches.
    pub watched: Vec<Metric>,
    /// Largest number of times that servers are judged; more mean more chances of an error.
    pub looks: u32,
    /// Percentage of a side's requests that may fail.
    pub errors_allowed: f64,
    /// Terms of a comparison of different protocols, if it is one.
    pub terms: Option<Terms>,
    /// Recorded traffic and its answers, if two servers got it.
    pub replayed: Option<ReplayedTraffic>,
}

impl Comparison {
    /// Returns the names of the servers.
    pub fn names(&self) -> Vec<String> {
        self.subjects.iter().map(|subject| subject.name.clone()).collect()
    }

    /// The settings in which the servers differ.
    pub fn differing_settings(&self) -> Vec<SettingDifference> {
        differing_settings(&self.subjects)
    }

    /// A test's name, after that of its table.
    pub fn name_of(&self, test: &ComparedTest) -> String {
        let table = test.table().zip(self.terms.as_ref());
        match table.and_then(|(at, terms)| terms.tables.get(at)) {
            Some(table) => format!("{}: {}", table.title, test.name),
            None => test.name.clone(),
        }
    }

    /// The comparisons of a server with the first, over all tests.
    pub fn pairs(&self) -> impl Iterator<Item = &TestComparison> {
        self.tests.iter().flat_map(|test| &test.pairs)
    }

    /// Returns whether the runs leave a question undecided: the gate's, the target's, or without these a
    /// test's.
    pub fn is_open(&self) -> bool {
        let asks_for_rates = self.curves().iter().any(RateCurve::has_several);
        let is_open = match self.gate() {
            Some(gate) => gate.state == GateState::Undecided,
            None if self.target.is_some() || asks_for_rates => false,
            None => self.pairs().any(TestComparison::is_open),
        };
        is_open || self.is_target_open()
    }

    /// Returns whether the runs do not decide for some server whether it keeps the target.
    pub fn is_target_open(&self) -> bool {
        let questions = self.tests.iter().filter_map(|test| test.question.as_ref());
        let mut candidates = questions.flat_map(|question| &question.candidates);
        candidates.any(|of| matches!(of.kept, Some(TargetState::Undecided | TargetState::Void)))
    }

    /// Returns whether all requests to all servers failed.
    pub fn has_served_nothing(&self) -> bool {
        let mut sides = self.pairs().flat_map(|pair| &pair.sides).peekable();
        sides.peek().is_some() && sides.all(|side| side.failures.are_all())
    }

    /// Returns whether more requests of a test failed than may.
    pub fn has_failures(&self) -> bool {
        let mut refused = self.pairs().filter_map(|pair| pair.refused.as_ref());
        refused.any(|refused| refused.kind == RefusalKind::Failures)
    }
}

/// Noise, as a share of the time, from which narrower intervals are worth advice.
const HELD_MIN: f64 = 0.03;

/// Describes the noise of runs that took turns while something stayed open, and the remedy.
pub fn noise(comparison: &Comparison) -> Option<String> {
    let in_turn = comparison.pairs().filter(|pair| pair.setup.pairing == Pairing::Blocks);
    let open = in_turn.filter(|pair| pair.is_open());
    let held = open.flat_map(|pair| &pair.sides).map(|side| side.held).fold(0.0, f64::max);
    (held >= HELD_MIN).then(|| {
        format!(
            "Other programs kept client or server from a CPU for up to {:.0} % of the time, in turn on all sides: \
             intervals are wider, and no side is favoured. To narrow them, put `chrt -f 10` in front of the command \
             (as root), give it CPUs of its own (--cpus, --server-cpus), or more time (--budget).",
            held * 100.0
        )
    })
}
