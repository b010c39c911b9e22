//! Survey of the server's speed on this machine: the plan, and the results.

mod machine;
mod plan;

use report::{RecordError, Run};
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::figures::Figures;
use crate::runs::Runs;

pub use machine::Machine;
pub use plan::{Chapter, DELIVERIES, PLACEMENT, SurveyPlan, SurveySpec, SurveyStep};

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.survey/1";

/// A survey so far. Saved as the document `keystorm.survey/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Survey {
    schema: String,
    /// Set if every chapter has been measured as planned.
    pub(crate) complete: bool,
    /// Set if it was a quick survey.
    pub quick: bool,
    /// Seconds of each run.
    pub seconds_each: f64,
    /// The chapters so far.
    pub chapters: Vec<ChapterResult>,
    /// Every run, as `keystorm.run/1`.
    pub(crate) run: Runs,
}

/// Results of a chapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChapterResult {
    /// Name for programs: `suite`, `pipeline`, `transport`, `payload`, `connections`, `messages`,
    /// `placement`, `instances`, `memcached`.
    pub key: String,
    /// Heading of the chapter.
    pub title: String,
    /// Text to know for reading the figures.
    pub text: String,
    /// Measured points.
    pub points: Vec<StepResult>,
    /// Steps that were left out, with the reasons.
    pub left_out: Vec<String>,
}

/// Results of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Label, different from point to point.
    pub label: String,
    /// Line of a chart that it belongs to; empty if there is one.
    pub series: String,
    /// Position on an axis of numbers.
    pub x: Option<f64>,
    /// The test's title.
    pub test: String,
    /// Runs, as numbers among the tests of `run`: several if they were simultaneous.
    pub tests: Vec<usize>,
    /// Their figures.
    pub figures: Vec<Figures>,
    /// Reason why it was not measured, if it was not.
    pub failure: Option<String>,
}

impl StepResult {
    /// Sum of the requests per second of all its runs.
    pub fn throughput_rps(&self) -> f64 {
        self.figures.iter().map(|run| run.throughput_rps).sum()
    }

    /// Sum of the bytes per second of all its runs.
    pub fn bytes_per_s(&self) -> f64 {
        self.figures.iter().map(|run| run.bytes_per_s).sum()
    }

    /// The run with the greatest 99th percentile, which represents all.
    pub fn slowest(&self) -> Option<&Figures> {
        self.figures.iter().max_by_key(|run| run.p99_ns)
    }

    /// Returns the number of the slowest run among the tests of `run`.
    pub fn slowest_test(&self) -> Option<usize> {
        let numbered = self.tests.iter().zip(&self.figures);
        numbered.max_by_key(|(_, run)| run.p99_ns).map(|(number, _)| *number)
    }
}

impl Survey {
    /// A survey without chapters.
    pub fn new(quick: bool, seconds_each: f64) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            quick,
            seconds_each,
            chapters: Vec::new(),
            run: Runs::default(),
        }
    }

    /// Begins a chapter.
    pub fn begin(&mut self, chapter: &Chapter) {
        self.chapters.push(ChapterResult {
            key: chapter.key.to_owned(),
            title: chapter.title.to_owned(),
            text: chapter.text.clone(),
            points: Vec::new(),
            left_out: chapter.left_out.clone(),
        });
    }

    /// Adds the runs of a step to the chapter that was begun last.
    ///
    /// # Errors
    /// Returns an error if a count is too large to be written.
    pub fn add(&mut self, step: &SurveyStep, runs: &[Run]) -> Result<(), RecordError> {
        let Some(chapter) = self.chapters.last_mut() else { return Ok(()) };
        let mut tests = Vec::new();
        for run in runs {
            tests.push(self.run.put(run)?);
        }
        let test = runs.first().map_or(String::new(), |run| run.plan.name.clone());
        let label = if step.label.is_empty() { &test } else { &step.label };
        chapter.points.push(StepResult {
            label: label.clone(),
            series: step.series.clone(),
            x: step.x,
            tests,
            figures: runs.iter().map(Figures::from_run).collect(),
            failure: None,
            test,
        });
        Ok(())
    }

    /// Notes that a step could not be measured.
    pub fn miss(&mut self, step: &SurveyStep, why: String) {
        let Some(chapter) = self.chapters.last_mut() else { return };
        chapter.points.push(StepResult {
            label: step.label.clone(),
            series: step.series.clone(),
            x: step.x,
            test: String::new(),
            tests: vec![],
            figures: vec![],
            failure: Some(why),
        });
    }

    /// Number of requests in the last point of the current chapter; 0 without one.
    pub fn requests_of_last(&self) -> u64 {
        let last = self.chapters.last().and_then(|chapter| chapter.points.last());
        last.map_or(0, |point| point.figures.iter().map(|run| run.requests).sum())
    }

    /// Returns whether every chapter has been measured as planned.
    pub fn complete(&self) -> bool {
        self.complete
    }
}

impl Document for Survey {
    fn runs(&self) -> &Runs {
        &self.run
    }
}
