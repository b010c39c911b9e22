//! What came in time, in a saved run.

use measure::DeadlineTally;
use serde::{Deserialize, Serialize};

use crate::DeadlineFigures;

/// Counts, and the figures that follow from them, which are written and never read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DeadlineRecord {
    /// Operations where these have figures of their own, otherwise requests.
    late: u64,
    given_up: u64,
    #[serde(flatten, skip_deserializing)]
    figures: Option<Figures>,
}

#[derive(Debug, Clone, Serialize)]
struct Figures {
    deadline_ms: f64,
    in_time: u64,
    goodput_rps: f64,
    late_share: f64,
}

impl DeadlineRecord {
    pub(super) fn new(tally: DeadlineTally, figures: Option<&DeadlineFigures>) -> Self {
        let DeadlineTally { late, given_up } = tally;
        let figures = figures.map(|figures| Figures {
            deadline_ms: figures.deadline_ns as f64 / 1e6,
            in_time: figures.in_time,
            goodput_rps: figures.goodput_rps,
            late_share: figures.late_share(),
        });
        Self { late, given_up, figures }
    }

    pub(super) fn tally(&self) -> DeadlineTally {
        DeadlineTally { late: self.late, given_up: self.given_up }
    }
}
