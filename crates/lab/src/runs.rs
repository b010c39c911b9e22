//! The runs of an experiment, kept in full.

use report::page::Block;
use report::{CountUnit, Record, RecordError, Run, Summary, TextGroups, Warning, WarningTopic};
use serde::{Deserialize, Serialize};

/// Every run, as `keystorm.run/1`, so that no measurement is lost.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Runs {
    record: Record,
    #[serde(skip)]
    count: usize,
    /// The first run, for common facts; `None` for an experiment that was read from a file.
    #[serde(skip)]
    pub(crate) first: Option<Box<Run>>,
    /// Outages and worst moments by number of the run, if it has any.
    #[serde(skip)]
    incidents: Vec<(usize, Vec<Block>)>,
    /// Warnings that a reader needs before believing the figures.
    #[serde(skip)]
    warned: TextGroups<WarningTopic>,
    /// Number of the run that gave the first warning of each group.
    #[serde(skip)]
    warned_first: Vec<usize>,
}

/// Maximum number of warnings; further ones are individual, and the runs themselves keep them.
const WARNINGS_MAX: usize = 8;

impl Default for Runs {
    fn default() -> Self {
        Self {
            record: Record::new(false),
            count: 0,
            first: None,
            incidents: Vec::new(),
            warned: TextGroups::default(),
            warned_first: Vec::new(),
        }
    }
}

impl Runs {
    /// Returns the unit that the runs count in.
    pub(crate) fn unit(&self) -> CountUnit {
        self.first.as_ref().map(|run| CountUnit::from_plan(&run.plan)).unwrap_or_default()
    }

    /// Adds a run and returns its number.
    pub(crate) fn put(&mut self, run: &Run) -> Result<usize, RecordError> {
        self.record.put(self.count, &Summary::from_run(run))?;
        self.first.get_or_insert_with(|| Box::new(run.clone()));
        run.warnings.iter().for_each(|warning| self.warn(warning));
        let incidents = report::page::runs::incidents(run);
        if !incidents.is_empty() {
            self.incidents.push((self.count, incidents));
        }
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Adds a warning of the next run.
    fn warn(&mut self, warning: &Warning) {
        if self.warned.add_warning(warning) {
            self.warned_first.push(self.count);
        }
    }

    /// Returns the warnings that a reader needs before believing the figures, without repetition.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.numbered_warnings().map(|(_, text)| text).collect()
    }

    /// Returns the warnings, each with the number of its first run.
    pub(crate) fn numbered_warnings(&self) -> impl Iterator<Item = (usize, String)> {
        let texts = self.warned.iter().take(WARNINGS_MAX).map(|(text, runs)| match runs - 1 {
            0 => text.to_owned(),
            1 => format!("{text} (similar in 1 more run)"),
            more => format!("{text} (similar in {more} more runs)"),
        });
        self.warned_first.iter().copied().zip(texts)
    }

    /// Outages and worst moments of a run; empty without any.
    pub(crate) fn incidents(&self, number: usize) -> &[Block] {
        let found = self.incidents.iter().find(|(of, _)| *of == number);
        found.map_or(&[], |(_, blocks)| blocks.as_slice())
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
    fn warnings_about_the_same_are_reported_once() {
        use report::WarningKind;

        let mut runs = Runs::default();
        for share in ["9", "12.5", "37"] {
            let text = format!("the hypervisor gave {share} % away");
            runs.warn(&Warning::new(WarningKind::Stolen, text));
        }
        runs.warn(&Warning::about(WarningKind::Machine, "load", "load: 2"));
        assert_eq!(
            runs.warnings(),
            ["the hypervisor gave 9 % away (similar in 2 more runs)", "load: 2"]
        );
        runs.warn(&Warning::about(WarningKind::Machine, "swap", "swap: 2"));
        assert_eq!(runs.warnings().len(), 3, "another check is another warning");
    }
}
