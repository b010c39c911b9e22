//! Repeated tests in a saved run: means and their certainty.
//!
//! Derived from the tests for readers; loading derives it again.

use measure::WorkerUse;
use measure::statistics::Mean;
use serde::Serialize;
use serde_json::{Map, Value, json};
use workload::Plan;

use crate::repeats::{CountedRun, RepeatCollector};
use crate::slo::SloResult;
use crate::{Metric, Repeat, Repeats};

/// Figures of a saved test.
#[derive(Debug, Clone)]
pub(super) struct TestFigures {
    pub(super) repeat: Option<Repeat>,
    pub(super) counted: Option<CountedRun>,
    pub(super) complete: bool,
    pub(super) engine: String,
    pub(super) workers: Vec<WorkerUse>,
}

/// Block of the repeats of one test.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RepeatsRecord {
    name: String,
    /// Requested number of repeats.
    planned: u32,
    /// Number of repeats that ended as planned, over which the means are taken.
    count: usize,
    /// Figures by metric, without those that a repeat lacks.
    figures: Map<String, Value>,
    /// Set if the intervals are narrow enough to conclude.
    conclusive: bool,
    /// Reason why they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Result of their target, if they have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<SloResult>,
}

/// The blocks of tests with these plans and figures.
pub(super) fn blocks(plans: &[Plan], tests: &[TestFigures]) -> Vec<RepeatsRecord> {
    let mut gathering = RepeatCollector::default();
    let mut blocks: Vec<RepeatsRecord> = Vec::new();
    for (plan, test) in plans.iter().zip(tests) {
        let ended = gathering.add_figures(&plan.name, test.repeat, test.counted.clone());
        blocks.extend(ended.iter().map(RepeatsRecord::from_repeats));
    }
    blocks.extend(gathering.end().iter().map(RepeatsRecord::from_repeats));
    blocks
}

impl RepeatsRecord {
    fn from_repeats(repeats: &Repeats) -> Self {
        let reason = repeats.too_wide();
        Self {
            name: repeats.name.clone(),
            planned: repeats.planned,
            count: repeats.count(),
            figures: Metric::ALL
                .into_iter()
                .filter_map(|metric| Some((metric.name().to_owned(), mean(&repeats.mean(metric)?))))
                .collect(),
            conclusive: reason.is_none(),
            reason,
            target: repeats.target(),
        }
    }
}

/// A mean as JSON, with `null` for the interval of a single value.
fn mean(mean: &Mean) -> Value {
    json!({
        "mean": mean.mean,
        "low": mean.interval.map(|interval| interval.low),
        "high": mean.interval.map(|interval| interval.high),
        "too_wide": mean.too_wide(),
    })
}
