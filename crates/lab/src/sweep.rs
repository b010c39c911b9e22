//! The results of a grid, with a row for each point and test, as a table, CSV and JSON.

use report::Run;
use report::slo::{Judgement, Observation, Slo, SloResult};
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::figures::{Figures, middle};
use crate::runs::Runs;

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.sweep/1";

/// An option with more than one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The option, as `-c`.
    pub option: String,
    /// Values in the order of measurement.
    pub values: Vec<String>,
}

/// A sweep so far. Saved as the document `keystorm.sweep/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sweep {
    schema: String,
    /// Set if every point has been measured as planned.
    pub(crate) complete: bool,
    /// Axes that varied.
    pub axes: Vec<Axis>,
    /// The target of every point, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// A row for each point and test.
    pub points: Vec<SweepRow>,
    /// Evidence for the target from the runs of each row.
    #[serde(skip)]
    observed: Vec<Vec<Observation>>,
    /// Every run, as `keystorm.run/1`.
    pub(crate) run: Runs,
}

/// Point and test of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepRow {
    /// The value of each axis.
    pub settings: Vec<String>,
    /// The test's title.
    pub test: String,
    /// Runs, as numbers among the tests of `run`.
    pub tests: Vec<usize>,
    /// Their figures, in the same order.
    pub figures: Vec<Figures>,
    /// Joint judgement of the row's runs, if there is a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Judgement>,
}

impl SweepRow {
    /// The run with median throughput, and the range of throughput; `None` before there is one.
    pub fn middle(&self) -> Option<(&Figures, (f64, f64))> {
        middle(&self.figures)
    }

    /// Returns the number of the middle run among the tests of `run`.
    pub fn middle_test(&self) -> Option<usize> {
        let (run, _) = self.middle()?;
        let at = self.figures.iter().position(|figures| std::ptr::eq(figures, run))?;
        self.tests.get(at).copied()
    }
}

impl Sweep {
    /// A sweep without points.
    pub fn new(axes: Vec<Axis>) -> Self {
        let (schema, run) = (SCHEMA.to_owned(), Runs::default());
        let (points, observed) = (Vec::new(), Vec::new());
        Self { schema, complete: false, axes, slo: None, points, observed, run }
    }

    /// Adds a run to the row of its point and test, which is created if necessary.
    ///
    /// # Errors
    /// Returns an error if a count is too large to be written.
    pub fn add(&mut self, settings: &[String], run: &Run) -> Result<(), report::RecordError> {
        let number = self.run.put(run)?;
        let test = run.plan.name.clone();
        let same = |row: &&SweepRow| row.settings == settings && row.test == test;
        let at = self.points.iter().position(|row| same(&row)).unwrap_or(self.points.len());
        if at == self.points.len() {
            let settings = settings.to_vec();
            let (tests, figures) = (vec![], vec![]);
            self.points.push(SweepRow { settings, test, tests, figures, target: None });
            self.observed.push(Vec::new());
        }
        let row = &mut self.points[at];
        row.tests.push(number);
        row.figures.push(Figures::from_run(run));
        if let Some(slo) = &self.slo {
            let observed = &mut self.observed[at];
            observed.push(Observation::new(slo, run));
            row.target = Some(SloResult::of_trials(slo, observed).judgement);
        }
        Ok(())
    }

    /// Returns whether every point has been measured as planned.
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Returns whether rows differ in their test.
    pub(crate) fn several_tests(&self) -> bool {
        self.points.iter().any(|row| row.test != self.points[0].test)
    }
}

impl Document for Sweep {
    fn runs(&self) -> &Runs {
        &self.run
    }
}
