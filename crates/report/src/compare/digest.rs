//! The part of a run that a comparison needs.

use std::sync::Arc;

use measure::Ending;

use super::operations;
use crate::{Failures, Figures, Finding, Held, LimitedBy, Metric, Run, Summary};

/// Figures of a run that a comparison needs.
#[derive(Debug, Clone)]
pub struct RunDigest {
    pub(super) figures: Figures,
    /// Figures of each operation of a mix, by name.
    pub(super) operations: Vec<(String, Figures)>,
    pub(super) failures: Failures,
    pub(super) limited_by: LimitedBy,
    pub(super) held: Held,
    pub(super) kept: bool,
    pub(super) run: Arc<Run>,
}

impl RunDigest {
    /// Makes the digest of a run that ended as planned; `None` for any other.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let complete = run.measurement.ending == Ending::Complete;
        let glance = || {
            let summary = Summary::from_run(run);
            Self {
                figures: figures(&summary),
                operations: operations::figures(&summary),
                failures: Failures::from_measurement(&run.measurement),
                limited_by: run.verdict.limited_by,
                held: Held::of_run(run),
                kept: run.verdict.finding == Some(Finding::ScheduleKept),
                run: Arc::new(run.clone()),
            }
        };
        complete.then(glance)
    }

    /// Value of a metric; `None` if it was not measured.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        self.figures.get(metric)
    }

    /// Returns whether nothing was answered in the run.
    pub(super) fn is_empty(&self) -> bool {
        self.figures.get(Metric::Mean).is_none()
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }
}

/// Returns the figures of a run. A run without a reply had a rate below one per its length.
fn figures(summary: &Summary<'_>) -> Figures {
    let figures = Figures::from_summary(summary);
    let at_most = (summary.elapsed_s > 0.0).then(|| 1.0 / summary.elapsed_s);
    let is_empty = figures.get(Metric::Throughput).is_none();
    if is_empty { figures.with(Metric::Throughput, at_most) } else { figures }
}
