//! The limit of a run, as data.
//!
//! Owns the words for it. The evidence is gathered by `host` and `measure`; which figures count is
//! in [`evidence`] and [`threads`], how they are weighed in [`rules`], how it reads in [`wording`]. What
//! spoils a measurement is in [`warnings`], and whether a run says anything of the server at all in
//! [`disturbance`], what noise can have done to it in [`noise`]; whether it is of one state in [`drift`]. What no
//! two lines of a report may say at once is in [`contradictions`].

mod advice;
mod causes;
mod contradictions;
mod disturbance;
mod drift;
mod evidence;
mod held;
mod likely;
mod memcache;
mod misses;
mod new_connections;
mod no_receiver;
mod noise;
mod noise_sources;
mod not_reopened;
mod rules;
mod stalls;
mod threads;
mod warnings;
mod wording;

pub(crate) use causes::{by_command, pauses};
pub(crate) use noise::{Noise, SpanResponses};
pub(crate) use stalls::{Stall, places, stalls};
pub(crate) use warnings::HOUSEKEEPING;
pub(crate) use wording::time;

use host::WatchRecord;
use measure::Measurement;
use naming::CONNECTIONS;
use serde::{Deserialize, Serialize};
use workload::Plan;

use crate::slo::{Outcome, SloResult};
use crate::{Clients, Run};
use evidence::Evidence;

pub use causes::{CauseShare, Causes, SlowCommands, WaitCause};
pub use contradictions::contradictions;
pub use disturbance::{Cause, Disturbance};
pub use held::{Held, noise_deviation};
pub use memcache::gets_warning;
pub use misses::unfound;
pub use rules::Finding;
pub use warnings::{Warning, WarningKind, option_sent, warnings};

/// Limit that kept a run from being faster, or from keeping its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitedBy {
    /// The server used all its CPU time, or all its quota.
    Server,
    /// A worker of keystorm had no CPU left.
    Client,
    /// The link was fully used.
    Network,
    /// Too few requests in flight to keep anything busy.
    Concurrency,
    /// Messages piled up before their receivers, although no thread was busy.
    Backlog,
    /// The schedule of an open loop. Either it was kept, so that the measured rate is the requested one, or
    /// missed for a reason that no other limit names.
    Schedule,
    /// Error replies and lost requests.
    Errors,
    /// Spans without any success.
    Outage,
    /// Programs on this machine took the CPU from server or client: other processes, the hypervisor, or each
    /// other.
    Contention,
    /// The evidence does not show it.
    Unknown,
}

impl LimitedBy {
    /// Returns the name, as used in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Network => "network",
            Self::Concurrency => "concurrency",
            Self::Backlog => "backlog",
            Self::Schedule => "schedule",
            Self::Errors => "errors",
            Self::Outage => "outage",
            Self::Contention => "contention",
            Self::Unknown => "unknown",
        }
    }
}

/// Figure that a verdict is based on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceFigure {
    /// Name, such as `server_main_thread_busy`; stable, for programs.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Unit: `share` (0 to 1), `per_second`, `seconds`, `bytes_per_second`, `count`.
    pub unit: String,
}

/// Limit of a run, with the reason and advice. Code decides by `limited_by` and `finding`; the words are for
/// people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The limit.
    pub limited_by: LimitedBy,
    /// The reason; `None` for clients with different limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// Line for a person: the limit, its evidence, and one sentence of advice.
    pub text: String,
    /// The evidence in words, without the limit before it and the advice after it.
    pub statement: String,
    /// Advice; empty if there is nothing to do.
    pub advice: String,
    /// The figures behind it.
    pub evidence: Vec<EvidenceFigure>,
    /// Causes that made requests wait, if any did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<Causes>,
}

impl Verdict {
    /// Finds the limit of a run from everything that is known about it.
    #[must_use]
    pub(crate) fn of_run(run: &Run) -> Self {
        let Run { plan, measurement, watched, .. } = run;
        let mut evidence = Evidence::new(plan, measurement, watched);
        evidence.causes = Causes::of_run(run);
        evidence.is_shared = warnings::others(plan, measurement, watched).is_some();
        Self::of_finding(plan, rules::find_with_causes(&evidence), &evidence)
    }

    /// Removes the advice to increase the load of a run that has missed its target already.
    pub(crate) fn hold_against(&mut self, run: &SloResult) {
        if self.finding == Some(Finding::ScheduleKept) && run.outcome() == Outcome::Missed {
            self.advice.clear();
            self.text = format!("{}: {}", self.class(), self.reason());
        }
    }

    /// Finds the limit of a run from its figures and the observations beside it.
    #[must_use]
    pub fn find(plan: &Plan, measurement: &Measurement, watched: &WatchRecord) -> Self {
        let evidence = Evidence::new(plan, measurement, watched);
        Self::of_finding(plan, rules::find(&evidence), &evidence)
    }

    /// Judges a run of several clients, and names the busiest client.
    #[must_use]
    pub fn of_clients(
        plan: &Plan,
        measurement: &Measurement,
        watched: &WatchRecord,
        clients: &Clients,
    ) -> Self {
        let mut evidence = Evidence::new(plan, measurement, watched);
        let receivers = usize::from(clients.receivers_each(plan));
        let busiest = evidence.busiest_worker;
        evidence.client_name = busiest.and_then(|worker| clients.of_worker(worker, receivers));
        Self::of_finding(plan, rules::find(&evidence), &evidence)
    }

    /// The verdict on a finding. Where nothing was full and connections mostly thought, that was the limit.
    fn of_finding(plan: &Plan, finding: Finding, evidence: &Evidence) -> Self {
        use Finding::{Between, Concurrency, Turns, Unclear, Unseen};
        let verdict = wording::verdict(finding, evidence);
        let think_s = plan.load.concurrency.think_ns as f64 / 1e9;
        let is_idle = matches!(finding, Between | Concurrency | Turns | Unclear | Unseen);
        if !is_idle || think_s <= evidence.service_s.unwrap_or(0.0) {
            return verdict;
        }
        let (thought, in_flight) = (time(think_s), evidence.in_flight());
        let statement = format!(
            "each connection thought for {thought} after a reply, so {in_flight:.1} requests were in flight on average"
        );
        let advice = format!("for more load, use more connections ({CONNECTIONS}) or think less");
        Self::new(Concurrency.limit(), Some(Concurrency), statement, advice, verdict.evidence)
    }

    /// The verdict on a run about which nothing is known.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        Self::new(LimitedBy::Unknown, None, why.to_owned(), String::new(), vec![])
    }

    /// Returns the limit in a word or two, for tables: a server that kept up with its schedule was no limit.
    #[must_use]
    pub fn class(&self) -> &'static str {
        class(self.limited_by, self.finding)
    }

    /// The line of a report.
    #[must_use]
    pub fn line(&self) -> String {
        match self.finding {
            Some(Finding::ScheduleKept) => self.text.clone(),
            _ => format!("limited by: {}", self.text),
        }
    }

    /// The evidence and the advice, without the limit.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.advice.as_str() {
            "" => self.statement.clone(),
            advice => format!("{}; {advice}", self.statement),
        }
    }

    /// Creates a verdict with a line composed of its parts.
    pub(crate) fn new(
        limited_by: LimitedBy,
        finding: Option<Finding>,
        statement: String,
        advice: String,
        evidence: Vec<EvidenceFigure>,
    ) -> Self {
        let (text, causes) = (String::new(), None);
        let mut verdict = Self { limited_by, finding, text, statement, advice, evidence, causes };
        verdict.text = format!("{}: {}", verdict.class(), verdict.reason());
        verdict
    }
}

/// Returns the word for tables for a limit with this reason.
#[must_use]
pub fn class(limited_by: LimitedBy, finding: Option<Finding>) -> &'static str {
    match finding {
        Some(Finding::ScheduleKept) => "not saturated",
        _ => limited_by.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_back() {
        let (statement, advice) = ("busy".to_owned(), "wait".to_owned());
        let finding = Some(Finding::Server);
        let verdict = Verdict::new(LimitedBy::Server, finding, statement, advice, vec![]);
        assert_eq!(verdict.text, "server: busy; wait");
        let text = serde_json::to_string(&verdict).unwrap();
        assert!(text.contains(r#""finding":"server""#), "{text}");
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }
}
