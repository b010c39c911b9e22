//! A run: what was asked, what came of it, and of whom.
//!
//! Owns nothing but the three together, so that a report needs one argument. Every derived figure
//! is [`Summary`](crate::Summary)'s business.

use host::{HostFacts, ServerFacts};
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
    /// The machine that put on the load, where it was looked at.
    pub host: Option<HostFacts>,
    /// Further machines that did, in a run that was merged.
    pub other_hosts: Vec<HostFacts>,
    /// Who answered.
    pub server: ServerFacts,
    /// The version of keystorm that carried it out.
    pub version: String,
    /// What limited it.
    pub verdict: Verdict,
    /// What a reader must know before believing the figures, a line each.
    pub warnings: Vec<String>,
}
