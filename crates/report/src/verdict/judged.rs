//! Verdicts on runs, from everything that is known about them.

use host::{ServerFacts, WatchRecord};
use measure::Measurement;
use naming::CONNECTIONS;
use workload::Plan;

use super::evidence::Evidence;
use super::{Causes, Finding, Verdict, rules, warnings, wording};
use crate::quantity::time;
use crate::slo::{Outcome, Slo, SloResult};
use crate::{Clients, Run, Summary};

impl Run {
    /// Creates a run, with the verdict and warnings that follow from the other parts.
    pub fn new(
        plan: Plan,
        measurement: Measurement,
        server: ServerFacts,
        version: String,
        watched: WatchRecord,
    ) -> Self {
        let verdict = Verdict::unknown("");
        let warnings = warnings::warnings(&plan, &measurement, &watched);
        let (host, other_hosts, repeat, clients) = (None, Vec::new(), None, None);
        let mut run = Self {
            plan,
            repeat,
            slo: None,
            measurement,
            host,
            other_hosts,
            clients,
            probe: None,
            marks: Vec::new(),
            clock: None,
            server,
            version,
            watched,
            verdict,
            warnings,
        };
        run.verdict = Verdict::of_run(&run);
        run
    }

    /// Returns the run held against a target.
    pub fn held_against(mut self, slo: Option<Slo>) -> Self {
        self.slo = slo;
        if let Some(result) = Summary::from_run(&self).target() {
            self.verdict.hold_against(&result);
        }
        self
    }
}

impl Verdict {
    /// Finds the limit of a run from everything that is known about it.
    pub(super) fn of_run(run: &Run) -> Self {
        let Run { plan, measurement, watched, .. } = run;
        let mut evidence = Evidence::new(plan, measurement, watched);
        evidence.causes = Causes::of_run(run);
        evidence.is_shared = warnings::others(plan, measurement, watched).is_some();
        Self::of_finding(plan, rules::find_with_causes(&evidence), &evidence)
    }

    /// Removes the advice to increase the load of a run that has missed its target already.
    fn hold_against(&mut self, run: &SloResult) {
        if self.finding == Some(Finding::ScheduleKept) && run.outcome() == Outcome::Missed {
            self.advice.clear();
            self.text = format!("{}: {}", self.class(), self.reason());
        }
    }

    /// Finds the limit of a run from its figures and the observations beside it.
    pub fn find(plan: &Plan, measurement: &Measurement, watched: &WatchRecord) -> Self {
        let evidence = Evidence::new(plan, measurement, watched);
        Self::of_finding(plan, rules::find(&evidence), &evidence)
    }

    /// Judges a run of several clients, and names the busiest client.
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
}
