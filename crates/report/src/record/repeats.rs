//! Tests that were carried out several times, in a saved run: the means and how sure they are.
//!
//! Derived from the tests beside it for those who read; loading derives it anew.

use serde::Serialize;
use serde_json::{Map, Value, json};
use statistics::Mean;
use workload::Plan;

use super::TestFigures;
use crate::repeats::RepeatCollector;
use crate::slo::SloResult;
use crate::{Metric, Repeats};

/// Block of the repeats of one test.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RepeatsRecord {
    name: String,
    /// Number of repeats that were asked for.
    planned: u32,
    /// Number of repeats that ended as planned; the means are of these.
    count: usize,
    /// By metric; one that a repeat does not know is left out.
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

/// The blocks of tests, whose plans and figures these are.
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
        let figure =
            |metric: Metric| Some((metric.name().to_owned(), mean(&repeats.mean(metric)?)));
        let reason = repeats.too_wide();
        Self {
            name: repeats.name.clone(),
            planned: repeats.planned,
            count: repeats.count(),
            figures: Metric::ALL.into_iter().filter_map(figure).collect(),
            conclusive: reason.is_none(),
            reason,
            target: repeats.target(),
        }
    }
}

/// A mean as JSON; `null` for the interval of a single value.
fn mean(mean: &Mean) -> Value {
    json!({
        "mean": mean.mean,
        "low": mean.interval.map(|interval| interval.low),
        "high": mean.interval.map(|interval| interval.high),
        "too_wide": mean.too_wide(),
    })
}
