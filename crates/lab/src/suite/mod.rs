//! A suite of specs and its results.

mod built_in;
mod choice;
mod difference;
mod spec;
mod yaml;

use report::{CpuFigures, RecordError, Run, Summary};
use serde::{Deserialize, Serialize};

pub use built_in::{built_in, documents};
pub use choice::{Choice, Pattern, priorities};
pub use difference::{ComparedFigure, Difference, SuiteComparison};
pub use spec::{InitCommand, MEMTIER, Preload, Spec, ToolLine};
pub use yaml::BYTES_MAX;

use crate::document::Document;
use crate::figures::Figures;
use crate::runs::Runs;

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.suite/1";

/// A suite so far. Saved as the document `keystorm.suite/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Suite {
    schema: String,
    /// Set if every spec has been measured or skipped.
    pub(crate) complete: bool,
    /// The server, by product and version.
    pub server: String,
    /// Number of measurements of each spec, each on a fresh start of a server that was started for it.
    pub rounds: u32,
    /// The specs, in the order of tables.
    pub specs: Vec<Entry>,
    /// Every run, as `keystorm.run/1`.
    pub(crate) run: Runs,
    /// Comparison with an earlier suite, if requested.
    #[serde(skip)]
    pub compared: Option<SuiteComparison>,
}

/// Results of a spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the spec.
    pub name: String,
    /// Description of the spec.
    pub description: String,
    /// Groups of commands that it tests.
    pub groups: Vec<String>,
    /// Figures of each round.
    pub figures: Vec<Figures>,
    /// The server's CPU time per request, in microseconds, in each round; `None` if it does not report it.
    pub server_cpu_us: Vec<Option<f64>>,
    /// Runs, as numbers among the tests of `run`.
    pub tests: Vec<usize>,
    /// Bytes of `used_memory` per key of its data, in each round; empty for a spec without data.
    pub bytes_per_key: Vec<f64>,
    /// Reason why it was skipped: the server or keystorm lacks a requirement.
    pub skipped: Option<String>,
    /// Reason why it failed.
    pub failure: Option<String>,
    /// Remarks on deviations from the spec, and other facts.
    pub remarks: Vec<String>,
}

impl Entry {
    /// Creates the entry of a spec without measurements.
    pub fn new(spec: &Spec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            groups: spec.groups.clone(),
            ..Self::default()
        }
    }

    /// Requests per second, in each round.
    pub fn rates(&self) -> Vec<f64> {
        self.figures.iter().map(|figures| figures.throughput_rps).collect()
    }

    /// First group of the spec, in which tables list it.
    pub fn group(&self) -> &str {
        self.groups.first().map_or("other", String::as_str)
    }

    /// The round with median throughput.
    pub fn median(&self) -> Option<(usize, &Figures)> {
        let mut order: Vec<(usize, &Figures)> = self.figures.iter().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| a.throughput_rps.total_cmp(&b.throughput_rps));
        order.get(order.len().saturating_sub(1) / 2).copied()
    }
}

impl Suite {
    /// A suite without results.
    pub fn new(server: String, rounds: u32, specs: &[Spec]) -> Self {
        let schema = SCHEMA.to_owned();
        let specs = specs.iter().map(Entry::new).collect();
        Self {
            schema,
            complete: false,
            server,
            rounds,
            specs,
            run: Runs::default(),
            compared: None,
        }
    }

    /// Adds a round of a spec.
    ///
    /// # Errors
    /// Returns an error if a count is too large to be written.
    pub fn add(&mut self, at: usize, run: &Run) -> Result<(), RecordError> {
        let Some(entry) = self.specs.get_mut(at) else { return Ok(()) };
        entry.tests.push(self.run.put(run)?);
        entry.figures.push(Figures::from_run(run));
        entry.server_cpu_us.push(CpuFigures::from_summary(&Summary::from_run(run)).server_us);
        Ok(())
    }

    /// Returns whether every spec has been measured or skipped.
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Returns whether a document claims to be a suite.
    pub fn is_saved(text: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        serde_json::from_slice::<Head>(text).is_ok_and(|head| head.schema == SCHEMA)
    }

    /// Parses a saved document.
    ///
    /// # Errors
    /// Returns an error in words for a person if it is no suite.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let suite: Self = serde_json::from_slice(text.as_bytes())
            .map_err(|why| format!("no saved suite: {why}"))?;
        if suite.schema == SCHEMA {
            Ok(suite)
        } else {
            Err(format!("its layout is {}, not {SCHEMA}", suite.schema))
        }
    }
}

impl Document for Suite {
    fn runs(&self) -> &Runs {
        &self.run
    }

    /// Returns the warnings that a reader needs before believing the figures, without repetition, each with
    /// its spec first; unescaped.
    fn warnings(&self) -> Vec<String> {
        let warnings = self.run.numbered_warnings().map(|(number, text)| {
            match self.specs.iter().find(|entry| entry.tests.contains(&number)) {
                Some(entry) => format!("{}: {text}", entry.name),
                None => text,
            }
        });
        warnings.collect()
    }
}
