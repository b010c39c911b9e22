//! Runs as data that outlives them: the JSON document `keystorm.run/1`.
//!
//! Owns its layout, in structs of its own, so that a change inside keystorm changes no file, and
//! the way back: what is loaded is a [`Run`] again, equal in every count and bucket, of which every
//! format can be printed. Files are the caller's business. Nothing in a document is believed before
//! it is checked, since anybody may have written it.
//!
//! The layout is explained in `docs/results.md` and fixed by `docs/schema/keystorm.run.1.json`.

mod apart;
mod command;
mod connection;
mod counts;
mod deadline;
mod deliveries;
mod latency;
mod lateness;
mod node;
mod operation;
mod outages;
mod probe;
mod repeats;
mod slow;
mod spans;
mod tally_delta;
mod test;
mod timeline;
mod warning;
mod worker;

use host::{HostFacts, ServerFacts};
use measure::CodecError;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::Plan;

use crate::repeats::{CountedRun, counted};
use crate::{Repeat, Run};
use repeats::RepeatsRecord;
pub use tally_delta::TallyDelta;
use test::TestRecord;
use timeline::LoadTimeline;
use worker::WorkerRecord;

/// The name of the layout. The number changes when what is written before cannot be read after.
pub const SCHEMA: &str = "keystorm.run/1";
/// What the names of all its versions begin with.
const SCHEMA_FAMILY: &str = "keystorm.run/";
/// Documents of experiments, which hold a run document with all their runs under `run`.
const EXPERIMENTS: [&str; 7] = [
    "keystorm.sweep/1",
    "keystorm.search/1",
    "keystorm.survey/1",
    "keystorm.suite/1",
    "keystorm.blame/1",
    "keystorm.memory/1",
    "keystorm.theatre/1",
];

/// Why a document cannot be written or read, in words for a person. May quote the document, and so
/// is to be escaped where it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RecordError(String);

impl RecordError {
    /// What in a document, or in what is to be written, contradicts itself.
    pub fn wrong(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl From<CodecError> for RecordError {
    fn from(error: CodecError) -> Self {
        Self(error.to_string())
    }
}

/// The document: the tests that one job has carried out so far.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    schema: String,
    /// Whether every test that was asked for has been carried out as planned.
    complete: bool,
    /// Whether the tests are a suite, and not one command of the user's own.
    suite: bool,
    /// The machine of the client.
    #[serde(default)]
    host: Option<HostFacts>,
    /// Further machines, of a run that was merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_hosts: Vec<HostFacts>,
    server: ServerFacts,
    client: Client,
    /// The plan of each test, in the order of the tests.
    plan: Vec<Plan>,
    tests: Vec<TestRecord>,
    /// Tests that were carried out several times, one block each. Follows from the tests, and so is
    /// written and never read.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    repeats: Vec<RepeatsRecord>,
    /// What the blocks follow from, in the order of the tests.
    #[serde(skip)]
    figures: Vec<(Option<Repeat>, Option<CountedRun>)>,
}

/// The program that put on the load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Client {
    version: String,
    /// Every engine that moved bytes.
    engine: String,
    /// What each worker used in all tests together.
    workers: Vec<WorkerRecord>,
}

/// What all tests of a document have in common.
struct Common {
    host: Option<HostFacts>,
    other_hosts: Vec<HostFacts>,
    server: ServerFacts,
    version: String,
    /// How their timelines are read.
    timeline: LoadTimeline,
}

/// What a document holds.
#[derive(Debug)]
pub struct LoadedRecord {
    /// The tests in order.
    pub runs: Vec<Run>,
    /// See [`Record::new`].
    pub suite: bool,
    /// See [`Record::set_complete`].
    pub complete: bool,
}

impl Record {
    /// A document without tests. `suite` tells the tests of a suite from a command of the user's
    /// own, whose reports end differently.
    #[must_use]
    pub fn new(suite: bool) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            suite,
            host: None,
            other_hosts: Vec::new(),
            server: ServerFacts::default(),
            client: Client::default(),
            plan: Vec::new(),
            tests: Vec::new(),
            repeats: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Puts test number `at`: replaces the one that stands there, or adds it at the end.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn put(&mut self, at: usize, run: &Run) -> Result<(), RecordError> {
        let (plan, test) = (run.plan.clone(), TestRecord::from_run(run)?);
        let complete = run.measurement.ending == measure::Ending::Complete;
        let figures = (run.repeat, counted(run));
        if at < self.tests.len() {
            (self.plan[at], self.tests[at], self.figures[at]) = (plan, test, figures);
        } else {
            self.plan.push(plan);
            self.tests.push(test);
            self.figures.push(figures);
        }
        self.complete &= complete;
        self.repeats = repeats::blocks(&self.plan, &self.figures);
        self.host = run.host.clone();
        self.other_hosts = run.other_hosts.clone();
        self.server = run.server.clone();
        self.client = Client::from_tests(&run.version, &self.tests);
        Ok(())
    }

    /// Notes that every test that was asked for has been carried out, if they all ended well.
    pub fn set_complete(&mut self) {
        self.complete = self.tests.iter().all(TestRecord::complete);
    }

    /// Whether there is no test in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// The text of the document, with a line end behind it.
    ///
    /// # Errors
    /// A figure has no JSON.
    pub fn to_json(&self) -> Result<String, RecordError> {
        let text = crate::json::pretty(self).map_err(|e| RecordError(e.to_string()))?;
        Ok(steady(&text) + "\n")
    }

    /// Reads the text of a document; of an experiment's, the runs in it.
    ///
    /// # Errors
    /// What is wrong with it.
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
        match head.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) if EXPERIMENTS.contains(&other) => {
                let read = serde_json::from_slice(text).map_err(|e| broken(text, &e));
                return read.map(|experiment: Experiment| experiment.run);
            }
            Some(other) if other.starts_with(SCHEMA_FAMILY) => {
                return Err(RecordError(format!(
                    "it was written by another version of keystorm (schema {other:?}); this \
                     version reads {SCHEMA:?}"
                )));
            }
            Some(other) => {
                return Err(RecordError(format!(
                    "not a saved run: its schema is {other:?}, not {SCHEMA:?}"
                )));
            }
            None => {
                return Err(RecordError(format!("not a saved run: it has no schema {SCHEMA:?}")));
            }
        }
        serde_json::from_slice(text).map_err(|e| broken(text, &e))
    }

    /// The runs of the document.
    ///
    /// # Errors
    /// What in it contradicts itself or cannot be.
    pub fn load(self) -> Result<LoadedRecord, RecordError> {
        self.load_with(timeline::load)
    }

    /// The same of a text whose timelines nobody reads, which takes longer than all else: they are empty, or their
    /// histograms not decoded.
    ///
    /// # Errors
    /// What is wrong with the text, except in its timelines.
    pub fn load_without_timelines(text: &[u8]) -> Result<LoadedRecord, RecordError> {
        Self::from_json(&timeline::cut(text))?.load_with(timeline::load_encoded)
    }

    fn load_with(self, timeline: LoadTimeline) -> Result<LoadedRecord, RecordError> {
        let Self { schema: _, complete, suite, host, other_hosts, server, client, plan, .. } = self;
        let tests = self.tests;
        if plan.len() != tests.len() {
            return Err(RecordError(format!(
                "there are {} tests and {} plans",
                tests.len(),
                plan.len()
            )));
        }
        let common = Common { host, other_hosts, server, version: client.version, timeline };
        let runs = tests.into_iter().zip(plan).map(|(test, plan)| test.run(plan, &common));
        Ok(LoadedRecord { runs: runs.collect::<Result<_, _>>()?, suite, complete })
    }
}

/// The same JSON without a character that steers a terminal: such stand within strings only, where
/// JSON can spell them out.
#[must_use]
pub fn steady(json: &str) -> String {
    let mut steady = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && crate::escape::is_unsafe(c) {
            steady.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            steady.push(c);
        }
    }
    steady
}

/// A document that JSON, or the layout, does not know.
fn broken(text: &[u8], error: &serde_json::Error) -> RecordError {
    if error.is_eof() || ends_in_a_word(text, error) {
        return RecordError(match text.is_empty() {
            true => "the file is empty".to_owned(),
            false => format!("the file is truncated: {error}"),
        });
    }
    match error.is_syntax() {
        true => RecordError(format!("not JSON: {error}")),
        false => RecordError(error.to_string()),
    }
}

/// Whether a document is wrong at its very end: half a number is to the reader no end but a fault.
fn ends_in_a_word(text: &[u8], error: &serde_json::Error) -> bool {
    let last_line = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    let length = text.iter().rev().take_while(|byte| **byte != b'\n').count();
    text.starts_with(b"{") && error.line() == last_line && error.column() >= length
}

impl Client {
    fn from_tests(version: &str, tests: &[TestRecord]) -> Self {
        let mut engines: Vec<&str> = Vec::new();
        let mut workers: Vec<measure::WorkerUse> = Vec::new();
        for (engine, used) in tests.iter().map(TestRecord::client) {
            if !engines.contains(&engine) {
                engines.push(engine);
            }
            let nothing =
                measure::WorkerUse { cpu_ns: 0, wall_ns: 0, system_ns: None, wait_ns: None };
            workers.resize(workers.len().max(used.len()), nothing);
            for (sum, used) in workers.iter_mut().zip(used) {
                let used = used.worker();
                sum.cpu_ns = sum.cpu_ns.saturating_add(used.cpu_ns);
                sum.wall_ns = sum.wall_ns.saturating_add(used.wall_ns);
            }
        }
        Self {
            version: version.to_owned(),
            engine: engines.join(", "),
            workers: workers.iter().map(WorkerRecord::from_worker).collect(),
        }
    }
}

/// For fields that are left out where they count nothing.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests;
mod waits;
