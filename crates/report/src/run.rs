//! A run: what was asked, what came of it, and of whom.
//!
//! Owns nothing but the three together, so that a report needs one argument. Every derived figure
//! is [`Summary`](crate::Summary)'s business.

use host::ServerFacts;
use measure::Measurement;
use workload::Plan;

use crate::Verdict;

/// One plan carried out.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was asked.
    pub plan: Plan,
    /// What it yielded.
    pub measurement: Measurement,
    /// Who answered.
    pub server: ServerFacts,
    /// The version of keystorm that carried it out.
    pub version: String,
    /// What limited it.
    pub verdict: Verdict,
    /// What a reader must know before believing the figures, a line each.
    pub warnings: Vec<String>,
}
