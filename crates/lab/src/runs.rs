//! The runs of an experiment, kept in full.

use report::{Record, RecordError, Run};
use serde::{Deserialize, Serialize};

/// Every run, as `keystorm.run/1`, so that nothing that was measured is lost.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Runs {
    record: Record,
    #[serde(skip)]
    count: usize,
    /// The first, for what all have in common; none of an experiment that was read from a file.
    #[serde(skip)]
    pub(crate) first: Option<Box<Run>>,
    /// What a reader must know before believing the figures, each once.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

/// More warnings than this are of runs that each have their own, which the runs themselves keep.
const WARNINGS_MAX: usize = 8;

impl Default for Runs {
    fn default() -> Self {
        Self { record: Record::new(false), count: 0, first: None, warnings: Vec::new() }
    }
}

impl Runs {
    /// Adds a run and gives its number.
    pub(crate) fn put(&mut self, run: &Run) -> Result<usize, RecordError> {
        self.record.put(self.count, run)?;
        self.first.get_or_insert_with(|| Box::new(run.clone()));
        for warning in &run.warnings {
            if self.warnings.len() < WARNINGS_MAX && !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Notes that no run is left to do.
    pub(crate) fn set_complete(&mut self) {
        self.record.set_complete();
    }

    /// The runs, loaded.
    pub(crate) fn load(&self) -> Result<Vec<Run>, RecordError> {
        self.record.clone().load().map(|loaded| loaded.runs)
    }
}
