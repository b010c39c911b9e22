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
    /// What a reader must know before believing the figures.
    #[serde(skip)]
    warnings: Vec<Warning>,
}

/// What runs warn of in the same words but for the figures.
#[derive(Debug, Clone)]
struct Warning {
    /// As the first of them says it.
    text: String,
    runs: usize,
}

impl Warning {
    /// Digits aside, which differ from run to run.
    fn is_like(&self, text: &str) -> bool {
        let is_word = |c: &char| !c.is_ascii_digit() && *c != '.';
        self.text.chars().filter(is_word).eq(text.chars().filter(is_word))
    }
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
        for text in &run.warnings {
            match self.warnings.iter().position(|warning| warning.is_like(text)) {
                Some(known) => self.warnings[known].runs += 1,
                None if self.warnings.len() < WARNINGS_MAX => {
                    self.warnings.push(Warning { text: text.clone(), runs: 1 });
                }
                None => {}
            }
        }
        self.count += 1;
        Ok(self.count - 1)
    }

    /// What a reader must know before believing the figures, each once.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let told = |warning: &Warning| match warning.runs - 1 {
            0 => warning.text.clone(),
            1 => format!("{} (and the like in 1 more run)", warning.text),
            more => format!("{} (and the like in {more} more runs)", warning.text),
        };
        self.warnings.iter().map(told).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_differ_in_their_figures_are_told_once() {
        let mut runs = Runs::default();
        let warned = |text: &str| Warning { text: text.to_owned(), runs: 1 };
        runs.warnings.push(warned("the hypervisor gave 9 % away"));
        assert!(runs.warnings[0].is_like("the hypervisor gave 12.5 % away"));
        assert!(!runs.warnings[0].is_like("the governor gave 9 % away"));
        runs.warnings[0].runs = 3;
        runs.warnings.push(warned("load: 2"));
        assert_eq!(
            runs.warnings(),
            ["the hypervisor gave 9 % away (and the like in 2 more runs)", "load: 2"]
        );
    }
}
