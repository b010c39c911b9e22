//! What limited a run, as data.
//!
//! Owns the words for it. The evidence is gathered by `host` and `measure`; which figures count is
//! in [`evidence`] and [`threads`], how they are weighed in [`rules`], how it reads in [`wording`]. What
//! spoils a measurement is in [`warnings`]. What no two lines of a report may say at once is in
//! [`contradictions`].

mod contradictions;
mod evidence;
mod memcache;
mod misses;
mod rules;
mod threads;
mod warnings;
mod wording;

pub(crate) use wording::{count, requests, time};

use host::Watched;
use measure::Measurement;
use serde::{Deserialize, Serialize};
use workload::Plan;

use crate::Clients;
use evidence::Evidence;

pub use contradictions::contradictions;
pub use memcache::gets_apart;
pub use warnings::{Warning, WarningKind, warnings};

/// What kept a run from being faster, or from keeping its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitedBy {
    /// The server had no CPU left, or none of its quota.
    Server,
    /// A worker of ours had no CPU left.
    Client,
    /// The link carried what it can.
    Network,
    /// Too few requests in flight to keep anything busy.
    Concurrency,
    /// The schedule of an open loop: it was kept, so that the rate asked for is what was measured,
    /// or missed for a reason that no other limit names.
    Schedule,
    /// Error replies and lost requests.
    Errors,
    /// Spans in which nothing succeeded.
    Outage,
    /// What runs here took the CPU from server or client: other processes, the hypervisor, or each
    /// other.
    Contention,
    /// The evidence does not say.
    Unknown,
}

/// One figure that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceFigure {
    /// What it is, such as `server_main_thread_busy`; stable, for programs.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit: `share` (0 to 1), `per_second`, `seconds`, `bytes_per_second`, `count`.
    pub unit: String,
}

/// What limited a run, why we say so, and what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The limit.
    pub limited_by: LimitedBy,
    /// One line for a person: the limit, its evidence, and one sentence of advice.
    pub text: String,
    /// The figures behind it.
    pub evidence: Vec<EvidenceFigure>,
}

impl Verdict {
    /// What limited a run, from its figures and from what was watched beside it.
    #[must_use]
    pub fn of(plan: &Plan, measurement: &Measurement, watched: &Watched) -> Self {
        let evidence = Evidence::of(plan, measurement, watched);
        wording::verdict(rules::find(&evidence), &evidence)
    }

    /// The same of what several clients did together, of which the busiest is told by its name.
    #[must_use]
    pub fn of_clients(
        plan: &Plan,
        measurement: &Measurement,
        watched: &Watched,
        clients: &Clients,
    ) -> Self {
        let mut evidence = Evidence::of(plan, measurement, watched);
        evidence.client_name = evidence.busiest_worker.and_then(|w| clients.of_worker(w));
        wording::verdict(rules::find(&evidence), &evidence)
    }

    /// For a run of which nothing is known.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        Self { limited_by: LimitedBy::Unknown, text: format!("unknown: {why}"), evidence: vec![] }
    }
}
