//! Kinds of a mix, and its measured segments.

use report::{Cause, CpuFigures, Disturbance, Run, Summary};
use serde::{Deserialize, Serialize};

use super::design::Segment;

/// Minimum number of replies in a segment for a percentile.
pub const REPLIES_MIN: u64 = 100;

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestKind {
    /// Name in the mix, safe for a terminal.
    pub name: String,
    /// Share of the mix, 0 to 1.
    pub share: f64,
}

/// A segment, and its measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentResult {
    /// Segment that was run.
    #[serde(flatten)]
    pub segment: Segment,
    /// Requests of all kinds per second for the whole mix; `None` for a closed loop.
    pub rate_per_s: Option<f64>,
    /// Answered requests of all kinds per second.
    pub answered_per_s: f64,
    /// 99th percentile of response times of each kind, in milliseconds; `None` for a kind that was left out,
    /// or had too few replies.
    pub p99_ms: Vec<Option<f64>>,
    /// Cores used by the server, if known.
    pub server_cores: Option<f64>,
    /// Limit of a closed loop.
    pub limited_by: Option<report::LimitedBy>,
    /// Reason why it is void: the client did not send what was asked.
    pub void: Option<Cause>,
}

impl SegmentResult {
    /// Takes the result from a run.
    pub fn from_run(segment: Segment, rate_per_s: Option<f64>, run: &Run) -> Self {
        let summary = Summary::from_run(run);
        let p99_ms = summary.operations.iter().map(|of| {
            let p99 = of.tally.response().quantile_ns(0.99);
            let p99 = p99.filter(|ns| *ns > 0 && of.count >= REPLIES_MIN)?;
            Some(p99 as f64 / 1e6)
        });
        let p99_ms = p99_ms.collect();
        Self {
            segment,
            rate_per_s,
            answered_per_s: summary.counted_rps(),
            p99_ms,
            server_cores: CpuFigures::from_summary(&summary).server_cores,
            limited_by: rate_per_s.is_none().then_some(run.verdict.limited_by),
            void: Disturbance::voiding_turn(run),
        }
    }

    /// Returns whether the segment counts.
    pub fn is_valid(&self) -> bool {
        self.void.is_none()
    }
}
