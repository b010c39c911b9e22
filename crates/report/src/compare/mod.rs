//! Two servers compared: for each test and figure the ratio B / A, how sure it is, and what limited
//! each side.
//!
//! Owns which values meet, which ratios count as a regression, and what a reader must be warned of.
//! The arithmetic is `statistics`'s, the figures are [`Metric`]'s. Carrying out the runs is left to
//! the caller, layouts to the files beside this.

mod csv;
mod json;
mod operations;
mod saved;
mod terms;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use measure::Ending;
use serde::Serialize;
use statistics::{Conclusion, Interval, Mean, Ratio, holm};
use workload::Endpoint;

use crate::warned::alike;
use crate::{Better, Figures, LimitedBy, Metric, Run, Summary, escape};

pub use csv::{write_head as write_csv_head, write_test as write_csv_test};
pub use json::to_json;
pub use operations::OperationComparison;
pub use saved::{beside, of_saved, unlike, unlike_beside_words};
pub use terms::{HITS_APART_MAX, Table, Terms};
pub use text::{
    notes, warning, write_foot, write_head, write_table, write_terms, write_test, write_warnings,
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

/// What `--fail-on-regression` watches: what a service promises.
pub const WATCHED: [Metric; 2] = [Metric::Throughput, Metric::P99];

/// How values of the two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// In blocks of A B B A: the two runs of a side in a block are one value, and each block has one
    /// ratio. What changes steadily while a block runs cancels out.
    Blocks,
    /// Not at all: two samples.
    None,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subject {
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
    /// Its settings that bear on speed, as it told them after the first run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
}

impl Subject {
    /// The subject of a run, as the runs of `address` know it.
    #[must_use]
    pub fn of(facts: &host::ServerFacts, address: String, file: Option<String>) -> Self {
        let server = facts.name().unwrap_or_else(|| "a server of unknown kind".to_owned());
        Self { server, address, file, command_line: None, settings: Vec::new() }
    }

    /// The same of a run that was kept.
    #[must_use]
    pub fn of_run(run: &Run, file: String) -> Self {
        let address = match &run.plan.target.endpoint {
            Endpoint::Spawned { program: Some(program), .. } => format!("started as {program}"),
            endpoint => endpoint.to_string(),
        };
        Self::of(&run.server, address, Some(file))
    }

    /// In a line, safe for a terminal.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { server, address, file, .. } = self;
        let file = file.as_ref().map_or(String::new(), |file| format!(" ({file})"));
        escape(format!("{server} on {address}{file}"))
    }
}

/// What a comparison takes from a run.
#[derive(Debug, Clone)]
pub struct Glance {
    figures: Figures,
    /// Of each operation of a mix, by name.
    operations: Vec<(String, Figures)>,
    limited_by: LimitedBy,
    warnings: Vec<String>,
    run: Arc<Run>,
}

impl Glance {
    /// Of a run that ended as planned; `None` of any other.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        let complete = run.measurement.ending == Ending::Complete;
        let glance = || {
            let summary = Summary::of(run);
            Self {
                figures: Figures::of(&summary),
                operations: operations::figures(&summary.operations),
                limited_by: run.verdict.limited_by,
                warnings: run.warnings.clone(),
                run: Arc::new(run.clone()),
            }
        };
        complete.then(glance)
    }
}

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

/// What limited the runs of a side, most frequent first.
pub type Limits = Vec<(LimitedBy, usize)>;

/// One test of both sides.
#[derive(Debug, Clone)]
pub struct TestComparison {
    /// Its name.
    pub name: String,
    /// How the values belong together.
    pub pairing: Pairing,
    /// How many runs there are of A and of B.
    pub runs: [usize; 2],
    /// A row for each figure that both sides know.
    pub rows: Vec<Row>,
    /// The same of each operation of a mix.
    pub operations: Vec<OperationComparison>,
    /// What limited A and B.
    pub limits: [Limits; 2],
    /// What to know before believing a ratio.
    pub warnings: Vec<String>,
    /// What spoiled runs.
    pub spoiled: Vec<Spoiled>,
    /// Which of several tables it belongs to, by number.
    pub table: Option<usize>,
    /// The share of reads that found their key, in hundredths, of A and of B, where that was compared.
    pub hit_ratios: [Option<f64>; 2],
    /// Why its ratios are not told, if they are not.
    pub refused: Option<String>,
    /// Of each side the run in the middle by throughput, to look at in full.
    pub middle: [Option<Arc<Run>>; 2],
}

/// What runs warned of. Figures in the text are those of the first that did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoiled {
    /// The warning.
    pub text: String,
    /// In how many runs of A and of B.
    pub runs: [usize; 2],
}

impl TestComparison {
    /// Compares the runs of a test. `precision` is the plan's: digits of a percentile.
    #[must_use]
    pub fn of(
        name: &str,
        pairing: Pairing,
        precision: u8,
        a: &[Glance],
        b: &[Glance],
        open_loop: bool,
    ) -> Self {
        let figures = [a, b].map(|side| side.iter().map(|glance| glance.figures).collect());
        let rows = COMPARED.into_iter();
        let rows = rows.filter_map(|metric| row(metric, pairing, precision, figures.each_ref()));
        let limits = [limits(a), limits(b)];
        let warnings = warnings(&limits, [a.len(), b.len()], open_loop);
        let mut spoiled = Vec::new();
        for (side, glances) in [a, b].iter().enumerate() {
            for text in glances.iter().flat_map(|glance| &glance.warnings) {
                let mut runs = [0, 0];
                runs[side] = 1;
                add(&mut spoiled, text, runs);
            }
        }
        Self {
            name: name.to_owned(),
            pairing,
            runs: [a.len(), b.len()],
            rows: rows.collect(),
            operations: operations::compared(pairing, precision, [a, b]),
            limits,
            warnings,
            spoiled,
            table: None,
            hit_ratios: [None; 2],
            refused: None,
            middle: [middle(a), middle(b)],
        }
    }

    /// The same as a part of that table, whose ratios are told only if the runs allow it.
    #[must_use]
    pub fn on_equal_terms(mut self, table: usize, a: &[Glance], b: &[Glance]) -> Self {
        self.table = Some(table);
        self.hit_ratios = [terms::hit_ratio(a), terms::hit_ratio(b)];
        self.refused = terms::refusal(self.hit_ratios, &self.limits, self.runs);
        // The refusal says the one, the table the other.
        let said = |warning: &String| {
            self.refused.is_some() && warning.starts_with("the client limited")
                || warning.starts_with("--rps set")
        };
        self.warnings.retain(|warning| !said(warning));
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
        let wanted = self.metric.better() == Better::Higher;
        (self.ratio.ratio != 1.0).then_some(higher == wanted)
    }

    /// The ratio that is worse than 1 by so many per cent.
    fn bound(&self, percent: f64) -> f64 {
        match self.metric.better() {
            Better::Higher => 1.0 - percent / 100.0,
            Better::Lower => 1.0 + percent / 100.0,
        }
    }

    /// The probability of what was measured, or worse, if B were worse by `percent` and no more.
    fn p_worse(&self, percent: f64) -> Option<f64> {
        match self.metric.better() {
            Better::Higher => self.ratio.p_below(self.bound(percent)),
            Better::Lower => self.ratio.p_above(self.bound(percent)),
        }
    }

    /// Whether the interval leaves room for B to be worse by more than that.
    fn may_be_worse(&self, percent: f64) -> bool {
        self.ratio.interval.is_none_or(|Interval { low, high }| match self.metric.better() {
            Better::Higher => low < self.bound(percent),
            Better::Lower => high > self.bound(percent),
        })
    }
}

fn row(metric: Metric, pairing: Pairing, precision: u8, [a, b]: [&Vec<Figures>; 2]) -> Option<Row> {
    // A bucket of a histogram is so wide; neighbours may hold the same latency.
    let resolution = if metric.is_percentile() { 0.1_f64.powi(precision.into()) } else { 0.0 };
    let values = |side: &[Figures]| -> Option<Vec<f64>> {
        side.iter().map(|figures| figures.get(metric)).collect()
    };
    let values = [values(a)?, values(b)?];
    let ratio = match pairing {
        Pairing::None => Ratio::unpaired(&values[0], &values[1], resolution),
        Pairing::Blocks => {
            let blocks =
                |v: &[f64]| -> Option<Vec<f64>> { v.chunks_exact(2).map(geometric_mean).collect() };
            Ratio::paired(&blocks(&values[0])?, &blocks(&values[1])?, resolution)
        }
    };
    let means = [geometric_mean(&values[0])?, geometric_mean(&values[1])?];
    Some(Row { metric, means, ratio: ratio?, values })
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    Mean::of(&logarithms).map(|mean| mean.mean.exp())
}

fn limits(side: &[Glance]) -> Limits {
    let mut limits: Limits = Vec::new();
    for Glance { limited_by, .. } in side {
        match limits.iter_mut().find(|(limit, _)| limit == limited_by) {
            Some((_, count)) => *count += 1,
            None => limits.push((*limited_by, 1)),
        }
    }
    limits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    limits
}

/// Adds what so many runs warn of: those whose texts differ in figures only are one.
fn add(spoiled: &mut Vec<Spoiled>, text: &str, [a, b]: [usize; 2]) {
    match spoiled.iter_mut().find(|known| alike(&known.text, text)) {
        Some(Spoiled { runs, .. }) => *runs = [runs[0] + a, runs[1] + b],
        None => spoiled.push(Spoiled { text: text.to_owned(), runs: [a, b] }),
    }
}

/// The run in the middle by throughput, the lower of two.
fn middle(side: &[Glance]) -> Option<Arc<Run>> {
    let throughput = |glance: &Glance| glance.figures.get(Metric::Throughput).unwrap_or(0.0);
    let mut sorted: Vec<&Glance> = side.iter().collect();
    sorted.sort_by(|a, b| throughput(a).total_cmp(&throughput(b)));
    Some(sorted.get(sorted.len().checked_sub(1)? / 2)?.run.clone())
}

/// The word for a limit, as in JSON.
#[must_use]
pub fn word(limit: LimitedBy) -> String {
    let value = serde_json::to_value(limit).unwrap_or_default();
    value.as_str().unwrap_or("unknown").to_owned()
}

/// What at least half of a side's runs were limited by.
fn mostly(limits: &Limits, runs: usize) -> Option<LimitedBy> {
    limits.first().filter(|(_, count)| count * 2 >= runs).map(|(limit, _)| *limit)
}

fn warnings(limits: &[Limits; 2], runs: [usize; 2], open_loop: bool) -> Vec<String> {
    let [a, b] = [mostly(&limits[0], runs[0]), mostly(&limits[1], runs[1])];
    let mut warnings = Vec::new();
    match (a, b) {
        (Some(LimitedBy::Client), Some(LimitedBy::Client)) => warnings.push(
            "the client limited both sides: the ratio is none of servers; give the client more \
             --threads or CPUs of its own"
                .to_owned(),
        ),
        (Some(LimitedBy::Client), _) | (_, Some(LimitedBy::Client)) => {
            let side = if a == Some(LimitedBy::Client) { "A" } else { "B" };
            warnings.push(format!(
                "the client limited {side}, which may be faster than this shows; give the client \
                 more --threads or CPUs of its own"
            ));
        }
        (Some(LimitedBy::Contention), _) | (_, Some(LimitedBy::Contention)) => warnings.push(
            "what else ran here took CPU time away: the ratio may be that of the disturbance"
                .into(),
        ),
        (Some(LimitedBy::Network), Some(LimitedBy::Network)) => warnings.push(
            "the network limited both sides: the ratio is that of the ways to the servers".into(),
        ),
        (Some(LimitedBy::Concurrency), Some(LimitedBy::Concurrency)) if !open_loop => {
            warnings.push(
                "too few requests were in flight to fill either server: the throughput only \
                 mirrors the latency; raise -c or -P"
                    .to_owned(),
            );
        }
        _ => {}
    }
    if open_loop && a == Some(LimitedBy::Schedule) && b == Some(LimitedBy::Schedule) {
        warnings.push("--rps set the throughput of both: compare the latencies".to_owned());
    }
    warnings
}

/// All of it, as far as it has come.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// A and B.
    pub subjects: [Subject; 2],
    /// How the runs were taken, in a sentence.
    pub how: String,
    /// Whether every test was compared as planned.
    pub complete: bool,
    /// The tests.
    pub tests: Vec<TestComparison>,
    /// What differs beside the servers, and what else there is to know.
    pub warnings: Vec<String>,
    /// The per cent that `--fail-on-regression` allows.
    pub threshold: Option<f64>,
    /// On which terms servers of different protocols are compared, if they are.
    pub terms: Option<Terms>,
}

/// A figure by which B is worse than allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The test.
    pub test: String,
    /// The figure.
    pub metric: Metric,
    /// B over A.
    pub ratio: f64,
}

/// What came of `--fail-on-regression`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Regressions {
    /// Surely worse than allowed: the chance that any of these is wrong is 5 % in all.
    pub found: Vec<Regression>,
    /// Not found to be, but their intervals leave room for it.
    pub possible: Vec<Regression>,
    /// Without an interval, so that nothing can be said.
    pub unknown: Vec<Regression>,
}

impl Comparison {
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
    pub fn spoiled(&self) -> Vec<Spoiled> {
        let mut all = Vec::new();
        for Spoiled { text, runs } in self.tests.iter().flat_map(|test| &test.spoiled) {
            add(&mut all, text, *runs);
        }
        all
    }

    /// How many runs of A and of B count.
    #[must_use]
    pub fn runs(&self) -> [usize; 2] {
        [0, 1].map(|side| self.tests.iter().map(|test| test.runs[side]).sum())
    }

    /// Where B is worse than A by more than `percent`, of the figures in [`WATCHED`].
    #[must_use]
    pub fn regressions(&self, percent: f64) -> Regressions {
        let told = self.tests.iter().filter(|test| test.refused.is_none());
        let rows = told.flat_map(|test| {
            // A get of several keys may be several requests to one side.
            let instead = |metric| match (metric, test.row(Metric::Keys)) {
                (Metric::Throughput, Some(keys)) => Some(keys),
                (metric, _) => test.row(metric),
            };
            WATCHED.into_iter().filter_map(move |metric| Some((test, instead(metric)?)))
        });
        let regression = |test: &TestComparison, row: &Row| Regression {
            test: test.name.clone(),
            metric: row.metric,
            ratio: row.ratio.ratio,
        };
        let mut regressions = Regressions::default();
        let mut judged = Vec::new();
        for (test, row) in rows {
            match row.p_worse(percent) {
                Some(p) => judged.push((test, row, p)),
                None => regressions.unknown.push(regression(test, row)),
            }
        }
        // Many figures are many chances to be wrong.
        let small = holm(&judged.iter().map(|(.., p)| *p).collect::<Vec<_>>());
        for ((test, row, _), small) in judged.into_iter().zip(small) {
            if small {
                regressions.found.push(regression(test, row));
            } else if row.may_be_worse(percent) {
                regressions.possible.push(regression(test, row));
            }
        }
        regressions
    }
}

/// What a ratio says of B, for tables.
#[must_use]
pub fn verdict(row: &Row) -> String {
    match row.ratio.conclusion() {
        Conclusion::Single => "no interval".to_owned(),
        Conclusion::TooWide => "too wide".to_owned(),
        Conclusion::Alike => "alike".to_owned(),
        Conclusion::Differ => {
            let percent = (row.ratio.ratio - 1.0) * 100.0;
            let better = if row.b_is_better() == Some(true) { "better" } else { "worse" };
            let decimals = usize::from(percent.abs() < 100.0);
            format!("{better}, {percent:+.decimals$} %")
        }
    }
}

/// What limited the runs of a side: `server (9 of 10 runs), client (1)`.
#[must_use]
pub fn limited(limits: &Limits) -> String {
    let runs: usize = limits.iter().map(|(_, count)| count).sum();
    let part = |(at, (limit, count)): (usize, &(_, usize))| match at {
        0 => format!("{} ({count} of {runs} runs)", word(*limit)),
        _ => format!("{} ({count})", word(*limit)),
    };
    limits.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
}
