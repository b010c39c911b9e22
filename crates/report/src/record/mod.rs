//! Saved runs: the JSON document `keystorm.run/1`.
//!
//! Owns its layout, except that of tallies, and the way back: a loaded document is a [`Run`] again, equal in
//! every count and bucket, which every format can print. The caller handles files. A document is checked
//! before use, since anybody may have written it.
//!
//! `docs/results.md` explains the layout, and `docs/schema/keystorm.run.1.json` fixes it.

mod error;
mod repeats;
mod saved;

use std::borrow::Cow;

use host::{HostFacts, ServerFacts};
use measure::WorkerUse;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workload::Plan;

use crate::groups::unique;
use crate::repeats::counted;
use crate::{Run, Summary};
pub use error::RecordError;
use repeats::{RepeatsRecord, TestFigures};
use saved::{BusyWorker, SavedTest, WrittenTest};

/// Name of the layout. The number changes when older documents cannot be read any more.
pub const SCHEMA: &str = "keystorm.run/1";
/// Beginning of the names of all versions of the document.
const SCHEMA_FAMILY: &str = "keystorm.run/";
/// Documents of experiments, which hold a run document with all their runs under `run`.
const EXPERIMENTS: [&str; 6] = [
    "keystorm.sweep/1",
    "keystorm.search/1",
    "keystorm.survey/1",
    "keystorm.suite/1",
    "keystorm.memory/1",
    "keystorm.impact/1",
];

/// The document: the tests that one job has carried out so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {
    schema: String,
    /// Set if every requested test has been carried out as planned.
    complete: bool,
    /// Set if the tests are a suite rather than a user's command.
    suite: bool,
    /// The machine of the client.
    #[serde(default)]
    host: Option<HostFacts>,
    /// Further machines of a merged run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_hosts: Vec<HostFacts>,
    server: ServerFacts,
    client: Client,
    /// The plan of each test, in the order of the tests.
    plan: Vec<Plan>,
    /// The tests in written form, so that histograms are encoded once, however often the document is saved.
    tests: Vec<Box<RawValue>>,
    /// Repeated tests, one block each. Derived from the tests, so written and never read.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    repeats: Vec<RepeatsRecord>,
    /// Figures from which the blocks and sums are derived, in the order of the tests.
    #[serde(skip)]
    figures: Vec<TestFigures>,
}

/// The program that generated the load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Client {
    version: String,
    /// Every engine used.
    engine: String,
    /// CPU time of each worker in all tests together.
    #[serde(skip_deserializing)]
    workers: Vec<BusyWorker>,
}

/// Contents of a document.
#[derive(Debug)]
pub struct LoadedRecord {
    /// The tests in order.
    pub runs: Vec<Run>,
    /// Set if the tests are a suite; see [`Record::new`].
    pub suite: bool,
    /// Set if every test was carried out; see [`Record::set_complete`].
    pub complete: bool,
}

impl Record {
    /// Creates a document without tests. `suite` distinguishes the tests of a suite from a user's command,
    /// whose report ends differently.
    pub fn new(suite: bool) -> Self {
        Self { schema: SCHEMA.to_owned(), suite, ..Self::default() }
    }

    /// Puts test number `at`: replaces it, or adds it at the end.
    ///
    /// # Errors
    /// Returns an error if a count is too large to be written.
    pub fn put(&mut self, at: usize, summary: &Summary<'_>) -> Result<(), RecordError> {
        let run = summary.run;
        let test = serde_json::value::to_raw_value(&WrittenTest::new(summary));
        let test = test.map_err(|e| RecordError(e.to_string()))?;
        let figures = TestFigures {
            repeat: run.repeat,
            counted: counted(summary),
            complete: run.measurement.ending == measure::Ending::Complete,
            engine: run.measurement.engine.clone(),
            workers: run.measurement.workers.clone(),
        };
        self.complete &= figures.complete;
        if at < self.tests.len() {
            (self.plan[at], self.tests[at], self.figures[at]) = (run.plan.clone(), test, figures);
        } else {
            self.plan.push(run.plan.clone());
            self.tests.push(test);
            self.figures.push(figures);
        }
        self.repeats = repeats::blocks(&self.plan, &self.figures);
        self.host = run.host.clone();
        self.other_hosts = run.other_hosts.clone();
        self.server = run.server.clone();
        self.client = Client::from_tests(&run.version, &self.figures);
        Ok(())
    }

    /// Notes that every requested test has been carried out, if they all ended well.
    pub fn set_complete(&mut self) {
        self.complete = self.figures.iter().all(|test| test.complete);
    }

    /// Returns whether the record has no test.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Text of the document, with a line end.
    ///
    /// # Errors
    /// Returns an error if a figure has no JSON form.
    pub fn to_json(&self) -> Result<String, RecordError> {
        crate::json::document(self).map_err(|e| RecordError(e.to_string()))
    }

    /// Parses the text of a document; for an experiment's, the runs in it.
    ///
    /// # Errors
    /// Returns the fault of the text.
    pub fn from_json(text: &[u8]) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
        }
        #[derive(Deserialize)]
        struct Experiment {
            run: Record,
        }
        // Most are of this version, and read once.
        if let Ok(record) = serde_json::from_slice::<Self>(text)
            && record.schema == SCHEMA
        {
            return Ok(record);
        }
        let head: Head = serde_json::from_slice(text).map_err(|e| broken(text, &e))?;
        let why = match head.schema.as_deref() {
            Some(SCHEMA) => return serde_json::from_slice(text).map_err(|e| broken(text, &e)),
            Some(other) if EXPERIMENTS.contains(&other) => {
                let read = serde_json::from_slice(text).map_err(|e| broken(text, &e));
                return read.map(|experiment: Experiment| experiment.run);
            }
            Some(other) if other.starts_with(SCHEMA_FAMILY) => format!(
                "it was written by another version of keystorm (schema {other:?}); this \
                 version reads {SCHEMA:?}"
            ),
            Some(other) => format!("not a saved run: its schema is {other:?}, not {SCHEMA:?}"),
            None => format!("not a saved run: it has no schema {SCHEMA:?}"),
        };
        Err(RecordError(why))
    }

    /// Loads the runs of the document.
    ///
    /// # Errors
    /// Returns the contradiction or impossible value in it.
    pub fn load(mut self) -> Result<LoadedRecord, RecordError> {
        let (plans, tests) = (std::mem::take(&mut self.plan), std::mem::take(&mut self.tests));
        if plans.len() != tests.len() {
            return Err(RecordError(format!(
                "there are {} tests and {} plans",
                tests.len(),
                plans.len()
            )));
        }
        let runs = plans.into_iter().zip(tests).map(|(plan, test)| {
            let name = plan.name.clone();
            let test = serde_json::from_str(test.get()).map_err(|e| {
                // The place is one within the test.
                let why = e.to_string();
                RecordError(why.rsplit_once(" at line ").map_or(&*why, |(why, _)| why).to_owned())
            });
            let run = test.and_then(|test: SavedTest| test.run(plan));
            let run = run.map(|run| Run {
                host: self.host.clone(),
                other_hosts: self.other_hosts.clone(),
                server: self.server.clone(),
                version: self.client.version.clone(),
                ..run
            });
            run.map_err(|why| RecordError(format!("the test {name}: {why}")))
        });
        let runs = runs.collect::<Result<_, _>>()?;
        Ok(LoadedRecord { runs, suite: self.suite, complete: self.complete })
    }

    /// Loads the runs of a text without their timelines, which take most of the time. The timelines are empty
    /// if the text is laid out as keystorm writes it.
    ///
    /// # Errors
    /// Returns the fault of the text, except in its timelines.
    pub fn load_without_timelines(text: &[u8]) -> Result<LoadedRecord, RecordError> {
        Self::from_json(&without_timelines(text))?.load()
    }
}

/// Beginning of a timeline with points in a written document.
const TIMELINE: &[u8] = b"\"timeline\": [\n";

/// Text of a document without the points of its timelines, if it is laid out as keystorm writes it. They are
/// most of a long run, and finding their end takes less time than parsing them.
fn without_timelines(text: &[u8]) -> Cow<'_, [u8]> {
    let begin = memmem::Finder::new(TIMELINE);
    let (mut kept, mut rest) = (Vec::new(), text);
    while let Some(at) = begin.find(rest) {
        let line = memchr::memrchr(b'\n', &rest[..at]).map_or(0, |end| end + 1);
        // Inner lines are indented further, and no string contains a line end.
        let end = [b"\n", &rest[line..at], b"]"].concat();
        let (before, points) = rest.split_at(at + TIMELINE.len() - 1);
        kept.extend_from_slice(before);
        rest = &points[memmem::find(points, &end).unwrap_or(0)..];
    }
    if kept.is_empty() {
        return text.into();
    }
    kept.extend_from_slice(rest);
    kept.into()
}

/// The error for a document that is not JSON, or has another layout.
fn broken(text: &[u8], error: &serde_json::Error) -> RecordError {
    if error.is_eof() || ends_in_a_word(text, error) {
        return RecordError(if text.is_empty() {
            "the file is empty".to_owned()
        } else {
            format!("the file is truncated: {error}")
        });
    }
    if error.is_syntax() {
        RecordError(format!("not JSON: {error}"))
    } else {
        RecordError(error.to_string())
    }
}

/// Returns whether a document is truncated in a word or number, which the parser reports as a fault rather
/// than an end.
fn ends_in_a_word(text: &[u8], error: &serde_json::Error) -> bool {
    let last_line = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    let length = text.iter().rev().take_while(|byte| **byte != b'\n').count();
    text.starts_with(b"{") && error.line() == last_line && error.column() >= length
}

impl Client {
    fn from_tests(version: &str, tests: &[TestFigures]) -> Self {
        let mut workers: Vec<WorkerUse> = Vec::new();
        for test in tests {
            workers.resize(workers.len().max(test.workers.len()), WorkerUse::default());
            for (sum, used) in workers.iter_mut().zip(&test.workers) {
                sum.cpu_ns = sum.cpu_ns.saturating_add(used.cpu_ns);
                sum.wall_ns = sum.wall_ns.saturating_add(used.wall_ns);
            }
        }
        Self {
            version: version.to_owned(),
            engine: unique(tests.iter().map(|test| &*test.engine)).join(", "),
            workers: workers.iter().map(BusyWorker::new).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
