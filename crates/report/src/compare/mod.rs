//! Servers compared with the first of them: for each test and figure the ratio, how sure it is, and what limited each
//! side.
//!
//! Owns which values meet, which ratios count as a regression, and what a reader must be warned of.
//! The arithmetic is `statistics`'s, the figures are [`Metric`]'s. Carrying out the runs is left to
//! the caller, layouts to the files beside this.

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
mod sittings;
mod subject;
mod sure;
mod terms;
mod tested;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Serialize;
use workload::Plan;

use crate::{Cause, CountUnit, Failures, Held, Metric, Run, Summary};

pub use csv::{write_head as write_csv_head, write_test as write_csv_test};
pub use curve::{Knee, RateCurve};
pub use digest::RunDigest;
pub use gate::{Gate, GateState, Regression, WATCHED, notes};
pub use headline::{called, change};
pub use json::to_json;
pub use limits::{Caution, Limit, Limits, describe_limits, limited};
pub use names::{SettingDifference, differing_settings, distinct_parts, name, shortened};
pub use operations::OperationComparison;
pub use question::{Candidate, ClauseValue, Question, TargetState};
pub use refusal::{Refusal, RefusalKind, describe_void, share};
pub use replayed::{
    AnswerComparison, Difference, HeadRoom, ReplayedTraffic, SpeedRange, Unjudged, UnjudgedReason,
};
pub use rows::{Row, verdict};
pub use saved::{beside, load_of, of_saved, options_of, unlike, unlike_beside_words};
use sittings::Excuse;
pub use statistics::Conclusion;
pub use subject::{Subject, program};
pub use sure::{Width, next_blocks};
pub use terms::{HITS_APART_MAX, Table, Terms};
pub use tested::{ComparedTest, FigureRow, TestSide, spoiled};

/// The name of the JSON document's layout.
pub const SCHEMA: &str = "keystorm.compare/1";

/// Figures that are compared, in the order of reports.
pub const COMPARED: [Metric; 9] = [
    Metric::Throughput,
    Metric::Keys,
    Metric::P50,
    Metric::P90,
    Metric::P95,
    Metric::P99,
    Metric::P99_9,
    Metric::ClientCpu,
    Metric::ServerCpu,
];

/// Pairing of the values of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// In blocks of A B B A: each block has one ratio, that of its geometric means, and the two runs of a side bound
    /// how well blocks may agree ([`RatioEstimate::of_blocks`](statistics::RatioEstimate::of_blocks)). What changes
    /// steadily while a
    /// block runs cancels out of the ratio.
    Blocks,
    /// Not at all: two samples, each of a sitting of its own.
    None,
}

/// The per cent of a side's requests that may fail where nobody says how many.
pub const ERRORS_DEFAULT: f64 = 0.1;

/// Settings that the tests of a comparison have in common.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Names of the two sides.
    pub names: [String; 2],
    /// Pairing of the values.
    pub pairing: Pairing,
    /// Digits of a percentile, as the plan has them.
    pub precision: u8,
    /// Set if a schedule sets the throughput.
    pub open_loop: bool,
    /// Recorded traffic is sent, of which each command is judged.
    pub recorded: bool,
    /// Unit of rates and CPU times.
    pub unit: CountUnit,
    /// The per cent of a side's requests that may fail; with more, there is no ratio.
    pub errors_allowed: f64,
    /// Number of times that growing data is judged, at most: each look has its share of the chance to be wrong.
    pub looks: u32,
    /// Number of tests that a report has a headline of: each is a chance to be wrong.
    pub headlines: usize,
}

impl Setup {
    /// Makes the setup of runs of a plan.
    #[must_use]
    pub fn new(plan: &Plan, names: [String; 2], pairing: Pairing, errors_allowed: f64) -> Self {
        let (precision, open_loop) =
            (plan.recording.precision, plan.load.pace.schedule().is_some());
        let unit = CountUnit::from_plan(plan);
        let (looks, headlines) = (1, 1);
        let recorded = plan.recorded.is_some();
        Self {
            names,
            pairing,
            precision,
            open_loop,
            recorded,
            unit,
            errors_allowed,
            looks,
            headlines,
        }
    }

    /// Returns the setup for this number of headlines and of looks.
    #[must_use]
    pub fn among(self, headlines: usize, looks: u32) -> Self {
        Self { looks, headlines, ..self }
    }
}

/// Comparison of one test on a server and on the first.
#[derive(Debug, Clone)]
pub struct TestComparison {
    /// Name of the test.
    pub name: String,
    /// Settings that it has in common with the others.
    pub setup: Setup,
    /// Numbers of runs of A and of B.
    pub runs: [usize; 2],
    /// A row for each figure that both sides know.
    pub rows: Vec<Row>,
    /// Comparison of each operation of a mix.
    pub operations: Vec<OperationComparison>,
    /// Limits of A and B.
    pub limits: [Limits; 2],
    /// Reasons for doubt of a ratio.
    pub warnings: Vec<Caution>,
    /// Number of the table that the test belongs to, if there are several.
    pub table: Option<usize>,
    /// The share of reads that found their key, in hundredths, of A and of B, where that was compared.
    pub hit_ratios: [Option<f64>; 2],
    /// Reason why the test has no ratios, if it has none.
    pub refused: Option<Refusal>,
    /// The requests of A and of B, those of blocks that do not count included.
    pub failures: [Failures; 2],
    /// The share of the time for which others held up client or server, of A and of B.
    pub held: [f64; 2],
    /// All runs that count, of each side.
    pub counted: [Vec<Arc<Run>>; 2],
    /// Blocks in which the client did not do what was asked, and why, the most frequent first.
    pub void: Vec<(Cause, usize)>,
    /// Run of each side that is in the middle by throughput, to look at in full.
    pub middle: [Option<Arc<Run>>; 2],
}

impl TestComparison {
    /// Compares the runs of a test.
    #[must_use]
    pub fn new(name: &str, setup: &Setup, a: &[RunDigest], b: &[RunDigest]) -> Self {
        let figures = [a, b].map(|side| side.iter().map(|glance| glance.figures).collect());
        let excuse = match setup.pairing {
            Pairing::Blocks => Excuse::default(),
            Pairing::None => Excuse::of_runs([a, b]),
        };
        let rows = COMPARED.into_iter();
        let rows = rows.filter_map(|metric| rows::row(metric, setup, figures.each_ref(), &excuse));
        let limits = [limits::limits(a), limits::limits(b)];
        let mut warnings = limits::warnings(&limits, [a.len(), b.len()], setup.open_loop);
        warnings.retain(|caution| !setup.recorded || *caution != Caution::RateSet);
        Self {
            name: name.to_owned(),
            setup: setup.clone(),
            runs: [a.len(), b.len()],
            rows: rows.collect(),
            operations: operations::compared(setup, [a, b], &excuse),
            limits,
            warnings,
            table: None,
            hit_ratios: [None; 2],
            refused: refusal::of_runs(setup, [a, b]),
            held: [a, b].map(|side| Held::mean(side.iter().map(|glance| glance.held)).share),
            failures: [refusal::failures(a), refusal::failures(b)],
            void: Vec::new(),
            counted: [a, b].map(|side| side.iter().map(|glance| glance.run.clone()).collect()),
            middle: [middle(a), middle(b)],
        }
    }

    /// Adds blocks in which the client did not do what was asked, each with its cause, and their runs: what failed in
    /// them counts.
    #[must_use]
    pub fn with_void(mut self, causes: &[Cause], runs: [&[RunDigest]; 2]) -> Self {
        self.void = Cause::counts(causes);
        for (failures, runs) in self.failures.iter_mut().zip(runs) {
            *failures += refusal::failures(runs);
        }
        let of_void = || refusal::of_void(self.counted().0, &self.void);
        let failed = refusal::failed(&self.setup, self.failures);
        self.refused = failed.or_else(of_void).or(self.refused);
        self
    }

    /// Returns the test with percentiles of all requests together in place of those of the runs' mean, as a target is
    /// judged: one figure has one value in a report.
    #[must_use]
    pub fn pooled(mut self) -> Self {
        let times =
            self.counted.each_ref().map(|runs| response_times(runs.iter().map(|run| &**run)));
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
    #[must_use]
    pub fn cautions(&self) -> Vec<String> {
        self.warnings.iter().map(|caution| caution.describe(&self.setup.names)).collect()
    }

    /// Describes the blocks that do not count, in a sentence without a full stop.
    #[must_use]
    pub fn describe_void(&self) -> Option<String> {
        refusal::describe_void(&self.void).filter(|_| self.refused.is_none())
    }

    /// Returns the test as a part of the table of this number; it has ratios only if the runs allow it.
    #[must_use]
    pub fn on_equal_terms(mut self, table: usize, a: &[RunDigest], b: &[RunDigest]) -> Self {
        self.table = Some(table);
        self.hit_ratios = [terms::hit_ratio(a), terms::hit_ratio(b)];
        let refusal =
            || refusal::of_terms(&self.setup.names, self.hit_ratios, &self.limits, self.runs);
        self.refused = self.refused.take().or_else(refusal);
        // The refusal says the one, the table the other.
        let refused = self.refused.is_some();
        self.warnings.retain(|caution| match caution {
            Caution::ByClient(_) => !refused,
            Caution::RateSet => false,
            Caution::Disturbed | Caution::ByNetwork | Caution::FewInFlight => true,
        });
        self
    }

    /// All rows, those of its operations included.
    pub fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(self.operations.iter().flat_map(|of| &of.rows))
    }

    /// Returns the row of a figure.
    #[must_use]
    pub fn row(&self, metric: Metric) -> Option<&Row> {
        self.rows.iter().find(|row| row.metric == metric)
    }
}

/// The response times of all requests of these runs; `None` of no run.
pub(crate) fn response_times<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<measure::Latency> {
    let mut all = runs.map(|run| Summary::from_run(run).response_times);
    let mut times = all.next()?;
    all.for_each(|more| times.merge(&more));
    Some(times)
}

/// The run in the middle by throughput, the lower of two.
fn middle(side: &[RunDigest]) -> Option<Arc<Run>> {
    let throughput = |glance: &RunDigest| glance.figures.get(Metric::Throughput).unwrap_or(0.0);
    let mut sorted: Vec<&RunDigest> = side.iter().collect();
    sorted.sort_by(|a, b| throughput(a).total_cmp(&throughput(b)));
    Some(sorted.get(sorted.len().checked_sub(1)? / 2)?.run.clone())
}

/// All of it, as far as it has come.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The servers; the others are compared with the first.
    pub subjects: Vec<Subject>,
    /// The target that the servers are to keep, as it was typed.
    pub target: Option<String>,
    /// Method of the runs, in a sentence.
    pub how: String,
    /// The command line that compares anew, without passwords.
    pub command_line: String,
    /// Set if every test was compared as planned.
    pub complete: bool,
    /// The tests.
    pub tests: Vec<ComparedTest>,
    /// Differences beside the servers, and other warnings.
    pub warnings: Vec<String>,
    /// The per cent that `--fail-on-regression` allows.
    pub threshold: Option<f64>,
    /// The figures that it is about.
    pub watched: Vec<Metric>,
    /// Number of times, at most, that servers are judged: more are more chances to be wrong.
    pub looks: u32,
    /// The per cent of a side's requests that may fail.
    pub errors_allowed: f64,
    /// On which terms servers of different protocols are compared, if they are.
    pub terms: Option<Terms>,
    /// Recorded traffic, if two servers got that, and their answers.
    pub replayed: Option<ReplayedTraffic>,
}

impl Comparison {
    /// Returns the names of the servers.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.subjects.iter().map(|subject| subject.name.clone()).collect()
    }

    /// The settings in which the servers differ.
    #[must_use]
    pub fn differing_settings(&self) -> Vec<SettingDifference> {
        differing_settings(&self.subjects)
    }

    /// A test's name, behind that of its table.
    #[must_use]
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

    /// Returns whether the runs leave a question undecided: that of the gate, of the target, or else of a test.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let asks_for_rates = self.curves().iter().any(RateCurve::has_several);
        let is_open = match self.gate() {
            Some(gate) => gate.state == GateState::Undecided,
            None if self.target.is_some() || asks_for_rates => false,
            None => self.pairs().any(TestComparison::is_open),
        };
        is_open || self.is_target_open()
    }

    /// Returns whether the runs do not decide of some server whether it keeps the target.
    #[must_use]
    pub fn is_target_open(&self) -> bool {
        let questions = self.tests.iter().filter_map(|test| test.question.as_ref());
        let mut candidates = questions.flat_map(|question| &question.candidates);
        candidates.any(|of| matches!(of.kept, Some(TargetState::Undecided | TargetState::Void)))
    }

    /// Returns whether all requests to all servers failed.
    #[must_use]
    pub fn has_served_nothing(&self) -> bool {
        let mut failures = self.pairs().flat_map(|pair| &pair.failures).peekable();
        failures.peek().is_some() && failures.all(|failures| failures.are_all())
    }

    /// Returns whether more requests of a test failed than may.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        let mut refused = self.pairs().filter_map(|pair| pair.refused.as_ref());
        refused.any(|refused| refused.kind == RefusalKind::Failures)
    }
}

/// Noise that makes intervals worth narrowing, as a share of the time.
const HELD_MIN: f64 = 0.03;

/// Share of the time in which others held up client or servers while something stayed open, and what narrows its
/// intervals.
#[must_use]
pub fn noise(comparison: &Comparison) -> Option<String> {
    let open = comparison.pairs().filter(|pair| pair.is_open());
    let held = open.flat_map(|pair| pair.held).fold(0.0, f64::max);
    (held >= HELD_MIN).then(|| {
        format!(
            "Other programs kept client or server from a CPU for up to {:.0} % of the time, in turn on all sides: \
             intervals are wider, and no side is favoured. To narrow them, put `chrt -f 10` in front of the command \
             (as root), give it CPUs of its own (--cpus, --server-cpus), or more time (--budget).",
            held * 100.0
        )
    })
}
