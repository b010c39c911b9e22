//! Two servers compared: for each test and figure the ratio B / A, how sure it is, and what limited each side.
//!
//! Owns which values meet, which ratios count as a regression, and what a reader must be warned of.
//! The arithmetic is `statistics`'s, the figures are [`Metric`]'s. Carrying out the runs is left to
//! the caller, layouts to the files beside this.

mod csv;
#[cfg(test)]
mod failure_tests;
mod gate;
#[cfg(test)]
mod gate_tests;
mod headline;
mod json;
mod limits;
mod names;
mod operations;
mod refusal;
mod rows;
mod saved;
#[cfg(test)]
mod saved_tests;
mod sure;
mod terms;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use measure::Ending;
use serde::Serialize;
use workload::{Endpoint, Plan};

use crate::{
    Cause, CountUnit, Failures, Figures, Finding, LimitedBy, Metric, Run, Summary, Warning, escape,
};

pub use csv::{write_head as write_csv_head, write_test as write_csv_test};
pub use gate::{Gate, GateState, Regression, WATCHED, joint_gate, joint_notes, notes};
pub use headline::{called, change};
pub use json::{document, subject_value, to_json};
pub use limits::{Caution, Limit, Limits, describe_limits, limited};
use names::distinct_parts;
pub(crate) use names::shortened;
pub use names::{SettingDifference, differing_settings, name};
pub use operations::OperationComparison;
pub use refusal::{QUIETER_MACHINE, Refusal, RefusalKind, describe_void};
pub use rows::{Row, verdict};
pub use saved::{beside, load_of, of_saved, options_of, unlike, unlike_beside_words};
pub use statistics::Conclusion;
pub use sure::{Width, next_blocks};
pub use terms::{HITS_APART_MAX, Table, Terms};
pub use text::{
    warning, write_differences, write_foot, write_head, write_quiet_test, write_table, write_terms,
    write_test, write_warnings, write_words,
};

/// The name of the JSON document's layout.
pub const SCHEMA: &str = "keystorm.compare/1";

/// What is compared, in the order of reports.
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

/// How values of the two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// In blocks of A B B A: each block has one ratio, that of its geometric means, and the two runs of a side bound
    /// how well blocks may agree ([`Ratio::of_blocks`](statistics::Ratio::of_blocks)). What changes steadily while a
    /// block runs cancels out of the ratio.
    Blocks,
    /// Not at all: two samples.
    None,
}

/// One of the two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// What sentences and charts call it.
    pub name: String,
    /// Product and version, as the server says.
    pub server: String,
    /// Where it was, or what was started.
    pub address: String,
    /// The file that its runs are from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How it was started, where it was started for this; one that has several processes tells of the
    /// first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// Its settings, as far as it shows them, without secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
}

impl Subject {
    /// The subject of a run, as the runs of `address` know it.
    #[must_use]
    pub fn new(facts: &host::ServerFacts, address: String, file: Option<String>) -> Self {
        let server = facts.name().unwrap_or_else(|| "unknown server".to_owned());
        Self { name: server.clone(), server, address, file, ..Self::default() }
    }

    /// The same of a run that was kept.
    #[must_use]
    pub fn of_run(run: &Run, file: String) -> Self {
        let address = match &run.plan.target.endpoint {
            Endpoint::Spawned { program: Some(program), .. } => format!("started as {program}"),
            endpoint => endpoint.to_string(),
        };
        let mut subject = Self::new(&run.server, address, Some(file));
        let watched = run.watched.servers.first();
        let settings = watched.map_or(&[][..], |server| &server.settings);
        subject.settings = settings.iter().map(|of| (of.name.clone(), of.value.clone())).collect();
        if let (true, Some(config)) = (subject.settings.is_empty(), &run.server.config) {
            let known = [("appendonly", &config.appendonly), ("save", &config.save)];
            subject.settings = known.map(|(name, value)| (name.to_owned(), value.clone())).to_vec();
        }
        subject
    }

    /// In a line, safe for a terminal.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { name, server, address, file, .. } = self;
        let file = file.as_ref().map_or(String::new(), |file| format!(" ({file})"));
        escape(match name.strip_prefix(server.as_str()) {
            Some("") => format!("{server} on {address}{file}"),
            Some(_) if name.ends_with(address.as_str()) => format!("{name}{file}"),
            Some(_) => format!("{name}: on {address}{file}"),
            None => format!("{name}: {server} on {address}{file}"),
        })
    }
}

/// The per cent of a side's requests that may fail where nobody says how many.
pub const ERRORS_DEFAULT: f64 = 0.1;

/// What the tests of a comparison have in common.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What the two sides are called.
    pub names: [String; 2],
    /// How the values belong together.
    pub pairing: Pairing,
    /// Digits of a percentile, as the plan has them.
    pub precision: u8,
    /// Whether a schedule sets the throughput.
    pub open_loop: bool,
    /// What rates and CPU times are counted by.
    pub unit: CountUnit,
    /// The per cent of a side's requests that may fail; with more, there is no ratio.
    pub errors_allowed: f64,
}

impl Setup {
    /// That of runs of a plan.
    #[must_use]
    pub fn new(plan: &Plan, names: [String; 2], pairing: Pairing, errors_allowed: f64) -> Self {
        let (precision, open_loop) =
            (plan.recording.precision, plan.load.pace.schedule().is_some());
        let unit = CountUnit::from_plan(plan);
        Self { names, pairing, precision, open_loop, unit, errors_allowed }
    }
}

/// What a comparison takes from a run.
#[derive(Debug, Clone)]
pub struct RunDigest {
    figures: Figures,
    /// Of each operation of a mix, by name.
    operations: Vec<(String, Figures)>,
    failures: Failures,
    limited_by: LimitedBy,
    kept: bool,
    warnings: Vec<Warning>,
    run: Arc<Run>,
}

impl RunDigest {
    /// Of a run that ended as planned; `None` of any other.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let complete = run.measurement.ending == Ending::Complete;
        let glance = || {
            let summary = Summary::from_run(run);
            Self {
                figures: Figures::from_summary(&summary),
                operations: operations::figures(&summary.operations),
                failures: Failures::from_measurement(&run.measurement),
                limited_by: run.verdict.limited_by,
                kept: run.verdict.finding == Some(Finding::ScheduleKept),
                warnings: run.warnings.clone(),
                run: Arc::new(run.clone()),
            }
        };
        complete.then(glance)
    }

    /// A figure of the run; `None` where it was not measured.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        self.figures.get(metric)
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }
}

/// One test of both sides.
#[derive(Debug, Clone)]
pub struct TestComparison {
    /// Its name.
    pub name: String,
    /// What it has in common with the others.
    pub setup: Setup,
    /// How many runs there are of A and of B.
    pub runs: [usize; 2],
    /// A row for each figure that both sides know.
    pub rows: Vec<Row>,
    /// The same of each operation of a mix.
    pub operations: Vec<OperationComparison>,
    /// What limited A and B.
    pub limits: [Limits; 2],
    /// What to know before believing a ratio.
    pub warnings: Vec<Caution>,
    /// What spoiled runs.
    pub spoiled: Vec<SharedWarning>,
    /// Which of several tables it belongs to, by number.
    pub table: Option<usize>,
    /// The share of reads that found their key, in hundredths, of A and of B, where that was compared.
    pub hit_ratios: [Option<f64>; 2],
    /// Why it has no ratios, if it has none.
    pub refused: Option<Refusal>,
    /// The requests of A and of B.
    pub failures: [Failures; 2],
    /// All runs that count, of each side.
    pub counted: [Vec<Arc<Run>>; 2],
    /// Blocks that do not count, and what spoiled them, the most frequent first.
    pub void: Vec<(Cause, usize)>,
    /// Of each side the run in the middle by throughput, to look at in full.
    pub middle: [Option<Arc<Run>>; 2],
}

/// What runs warned of. Figures in the text are those of the first that did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedWarning {
    /// The warning of the first.
    pub warning: Warning,
    /// In how many runs of A and of B.
    pub runs: [usize; 2],
}

impl TestComparison {
    /// Compares the runs of a test.
    #[must_use]
    pub fn new(name: &str, setup: &Setup, a: &[RunDigest], b: &[RunDigest]) -> Self {
        let Setup { pairing, precision, open_loop, .. } = *setup;
        let figures = [a, b].map(|side| side.iter().map(|glance| glance.figures).collect());
        let rows = COMPARED.into_iter();
        let rows =
            rows.filter_map(|metric| rows::row(metric, pairing, precision, figures.each_ref()));
        let limits = [limits::limits(a), limits::limits(b)];
        let warnings = limits::warnings(&limits, [a.len(), b.len()], open_loop);
        let mut spoiled = Vec::new();
        for (side, glances) in [a, b].iter().enumerate() {
            for warning in glances.iter().flat_map(|glance| &glance.warnings) {
                let mut runs = [0, 0];
                runs[side] = 1;
                add(&mut spoiled, warning, runs);
            }
        }
        Self {
            name: name.to_owned(),
            setup: setup.clone(),
            runs: [a.len(), b.len()],
            rows: rows.collect(),
            operations: operations::compared(pairing, precision, [a, b]),
            limits,
            warnings,
            spoiled,
            table: None,
            hit_ratios: [None; 2],
            refused: refusal::of_runs(setup, [a, b]),
            failures: [refusal::failures(a), refusal::failures(b)],
            void: Vec::new(),
            counted: [a, b].map(|side| side.iter().map(|glance| glance.run.clone()).collect()),
            middle: [middle(a), middle(b)],
        }
    }

    /// The same, beside blocks that the client or the machine spoiled, each by this.
    #[must_use]
    pub fn with_void(mut self, causes: &[Cause]) -> Self {
        self.void = Cause::counts(causes);
        let of_void = refusal::of_void(self.counted().0, &self.void);
        self.refused = of_void.or(self.refused);
        self
    }

    /// What to know before believing a ratio, a sentence each without a full stop.
    #[must_use]
    pub fn cautions(&self) -> Vec<String> {
        self.warnings.iter().map(|caution| caution.describe(&self.setup.names)).collect()
    }

    /// What is to be known of blocks that do not count, in a sentence without a full stop.
    #[must_use]
    pub fn describe_void(&self) -> Option<String> {
        refusal::describe_void(&self.void).filter(|_| self.refused.is_none())
    }

    /// The same as a part of that table; it has ratios only if the runs allow it.
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

    /// One of its rows.
    #[must_use]
    pub fn row(&self, metric: Metric) -> Option<&Row> {
        self.rows.iter().find(|row| row.metric == metric)
    }
}

/// Adds what so many runs warn of: warnings about the same topic are one.
fn add(spoiled: &mut Vec<SharedWarning>, warning: &Warning, [a, b]: [usize; 2]) {
    match spoiled.iter_mut().find(|known| known.warning.topic() == warning.topic()) {
        Some(SharedWarning { runs, .. }) => *runs = [runs[0] + a, runs[1] + b],
        None => spoiled.push(SharedWarning { warning: warning.clone(), runs: [a, b] }),
    }
}

/// The run in the middle by throughput, the lower of two.
fn middle(side: &[RunDigest]) -> Option<Arc<Run>> {
    let throughput = |glance: &RunDigest| glance.figures.get(Metric::Throughput).unwrap_or(0.0);
    let mut sorted: Vec<&RunDigest> = side.iter().collect();
    workload::sort::sort_by(&mut sorted, |a, b| throughput(a).total_cmp(&throughput(b)));
    Some(sorted.get(sorted.len().checked_sub(1)? / 2)?.run.clone())
}

/// All of it, as far as it has come.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// A and B.
    pub subjects: [Subject; 2],
    /// How the runs were taken, in a sentence.
    pub how: String,
    /// The command line that compares anew, without passwords.
    pub command_line: String,
    /// Whether every test was compared as planned.
    pub complete: bool,
    /// The tests.
    pub tests: Vec<TestComparison>,
    /// What differs beside the servers, and what else there is to know.
    pub warnings: Vec<String>,
    /// The per cent that `--fail-on-regression` allows.
    pub threshold: Option<f64>,
    /// How often, at most, servers are judged: at so many moments, and each against the first. More are more
    /// chances to be wrong.
    pub looks: u32,
    /// The per cent of a side's requests that may fail.
    pub errors_allowed: f64,
    /// On which terms servers of different protocols are compared, if they are.
    pub terms: Option<Terms>,
}

impl Comparison {
    /// What the two are called.
    #[must_use]
    pub fn names(&self) -> [String; 2] {
        self.subjects.each_ref().map(|subject| subject.name.clone())
    }

    /// The settings in which the two differ.
    #[must_use]
    pub fn differing_settings(&self) -> Vec<SettingDifference> {
        differing_settings(&self.subjects)
    }

    /// A test's name, behind that of its table.
    #[must_use]
    pub fn name_of(&self, test: &TestComparison) -> String {
        let table = test.table.zip(self.terms.as_ref());
        match table.and_then(|(at, terms)| terms.tables.get(at)) {
            Some(table) => format!("{}: {}", table.title, test.name),
            None => test.name.clone(),
        }
    }

    /// What spoiled runs, over all tests, each once.
    #[must_use]
    pub fn spoiled(&self) -> Vec<SharedWarning> {
        let mut all = Vec::new();
        for SharedWarning { warning, runs } in self.tests.iter().flat_map(|test| &test.spoiled) {
            add(&mut all, warning, *runs);
        }
        all
    }

    /// How many runs of A and of B count.
    #[must_use]
    pub fn runs(&self) -> [usize; 2] {
        [0, 1].map(|side| self.tests.iter().map(|test| test.runs[side]).sum())
    }
}
