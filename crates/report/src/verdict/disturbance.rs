//! Whether a run says something about the server, or only about the client and the machine under it.
//!
//! Owns the judgement by which every experiment leaves out, repeats or marks a run: a search, a sweep,
//! a survey, repeats and a comparison. It is weaker than a verdict: a run may keep its schedule, and
//! be limited by nothing else, while other programs made a few of its requests wait.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::threads::{HELD, ThreadUse};
use super::wording::{percent, time};
use super::{EvidenceFigure, rules};
use crate::schedule::Fault;
use crate::{Finding, Run};

/// A thread that waits for a CPU for this share of the time in which it could run is held up by others:
/// alone on a CPU it waits for less than a tenth.
const WAIT_OF_WANTED: f64 = 0.25;
/// Less waiting than this share of the run is a thing of single wake-ups.
const WAIT_MIN: f64 = 0.002;
/// A client that is late by this share of a bound on response times decides whether it is kept.
const LATE_OF_BOUND: f64 = 0.5;
/// An idle machine stays below that.
const LATE_MIN_NS: f64 = 100_000.0;

/// What made a run say nothing of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Other programs held the CPU of client or server.
    CpuHeld,
    /// Client and server took each other's CPU.
    CpuShared,
    /// The hypervisor gave the CPU to others.
    CpuStolen,
    /// The client had no CPU left.
    ClientBusy,
    /// The client was stopped by its CPU quota.
    ClientQuota,
    /// The client sent requests late although connections had room.
    ClientLate,
    /// The client itself did not run for a while.
    ClientAbsent,
}

impl Cause {
    /// Whether others than client and server were at work: other programs, or the hypervisor.
    #[must_use]
    pub fn by_others(self) -> bool {
        matches!(self, Self::CpuHeld | Self::CpuStolen)
    }

    /// Its name, as documents spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuHeld => "cpu-held",
            Self::CpuShared => "cpu-shared",
            Self::CpuStolen => "cpu-stolen",
            Self::ClientBusy => "client-busy",
            Self::ClientQuota => "client-quota",
            Self::ClientLate => "client-late",
            Self::ClientAbsent => "client-absent",
        }
    }

    /// What happened, in a few words behind which `in 3 of 10 runs` fits.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::CpuHeld => "other programs held the CPU",
            Self::CpuShared => "client and server took each other's CPU",
            Self::CpuStolen => "the hypervisor gave the CPU to others",
            Self::ClientBusy => "the client had no CPU left",
            Self::ClientQuota => "the client was stopped by its CPU quota",
            Self::ClientLate => "the client sent requests late",
            Self::ClientAbsent => "the client itself did not run",
        }
    }
}

/// Why a run is void: neither for nor against anything about the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// What happened.
    pub cause: Cause,
    /// The figures that show it.
    pub evidence: Vec<EvidenceFigure>,
    /// One short sentence with the evidence, without a full stop.
    pub text: String,
}

impl Disturbance {
    /// Why a run is void; `None` of one that counts.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        Self::of_evidence(&Evidence::of(&run.plan, &run.measurement, &run.watched))
    }

    /// The same of a run whose quantile (0 to 1) of the response times is held against a bound, in
    /// nanoseconds: there a client is late that spends much of the bound itself.
    #[must_use]
    pub fn of_bound(run: &Run, quantile: f64, below_ns: f64) -> Option<Self> {
        Self::of(run).or_else(|| {
            let lateness = run.measurement.total.lateness.as_ref()?;
            let late_ns = lateness.own.quantile_ns(quantile)? as f64;
            (late_ns >= f64::max(LATE_OF_BOUND * below_ns, LATE_MIN_NS)).then(|| {
                let late = time(late_ns / 1e9);
                let who = match quantile {
                    all if all >= 1.0 => format!("requests were sent up to {late} late"),
                    _ => format!(
                        "{} of requests were sent {late} late or more",
                        percent(1.0 - quantile)
                    ),
                };
                let text = format!("{who}, although connections had room");
                let evidence = vec![figure("client_late", late_ns / 1e9, "seconds")];
                Self { cause: Cause::ClientLate, evidence, text }
            })
        })
    }

    pub(super) fn of_evidence(evidence: &Evidence) -> Option<Self> {
        let server = evidence.server.filter(|_| evidence.server_here).map(|side| side.time);
        let ends = [("the client", evidence.client), ("the server", server)];
        // Errors, outages and too short a run are told by the verdict, and are no disturbance.
        match rules::find(evidence) {
            Finding::Errors | Finding::Outage | Finding::Nothing | Finding::Short => return None,
            Finding::EachOther => return Some(Self::held(Cause::CpuShared, ends)),
            Finding::ServerQuota | Finding::ServerBlocked => return None,
            _ => {}
        }
        if evidence.absent_s > 0.0 {
            let length = time(evidence.absent_s);
            let text = format!("the client itself did not run for {length}, as if stopped");
            let evidence = vec![figure("client_absent", evidence.absent_s, "seconds")];
            return Some(Self { cause: Cause::ClientAbsent, evidence, text });
        }
        if evidence.stolen >= HELD {
            let text = format!(
                "the hypervisor gave {} of this machine's CPU time to others",
                percent(evidence.stolen)
            );
            let evidence = vec![figure("cpu_stolen", evidence.stolen, "share")];
            return Some(Self { cause: Cause::CpuStolen, evidence, text });
        }
        let by_others = |time: &ThreadUse| is_held(*time) && !time.by_quota();
        if ends.iter().filter_map(|(_, time)| time.as_ref()).any(by_others) {
            return Some(Self::held(Cause::CpuHeld, ends));
        }
        if let Some(client) = evidence.client {
            if client.by_quota() && is_held(client) {
                let text = format!(
                    "the CPU quota stopped the client for {} of the time",
                    percent(client.throttled)
                );
                let evidence = vec![figure("client_stopped_by_quota", client.throttled, "share")];
                return Some(Self { cause: Cause::ClientQuota, evidence, text });
            }
            // Where both are full, the fuller of the two is the limit.
            if client.full() && server.is_none_or(|server| server.taken() < client.taken()) {
                let text = format!("the client was {} busy", percent(client.cpu));
                let evidence = vec![figure("client_worker_busy", client.cpu, "share")];
                return Some(Self { cause: Cause::ClientBusy, evidence, text });
            }
        }
        let schedule = evidence.schedule.as_ref().map(|schedule| &schedule.figures);
        let late = schedule.filter(|s| !s.kept() && s.fault == Some(Fault::Client))?;
        let text = format!(
            "{} of requests were sent over 10 ms late, although connections had room",
            late.late_percent()
        );
        let share = late.late as f64 / late.due.max(1) as f64;
        Some(Self {
            cause: Cause::ClientLate,
            evidence: vec![figure("sent_too_late", share, "share")],
            text,
        })
    }

    /// Of threads that waited for a CPU.
    fn held(cause: Cause, ends: [(&str, Option<ThreadUse>); 2]) -> Self {
        let known = || ends.iter().filter_map(|(who, time)| Some((*who, (*time)?)));
        let waited = known().max_by(|(_, a), (_, b)| a.held().total_cmp(&b.held()));
        let text = waited.map_or(String::new(), |(who, time)| {
            format!(
                "{who} waited for a CPU for {} of the time, and ran for {}",
                percent(time.held()),
                percent(time.cpu)
            )
        });
        let names = ["client", "server"];
        let evidence = names.iter().zip(ends).filter_map(|(name, (_, time))| {
            let time = time?;
            Some([
                figure(&format!("{name}_waiting_for_cpu"), time.wait, "share"),
                figure(&format!("{name}_busy"), time.cpu, "share"),
            ])
        });
        Self { cause, evidence: evidence.flatten().collect(), text }
    }
}

/// Whether a thread was kept from its CPU for long enough to change what is measured.
fn is_held(time: ThreadUse) -> bool {
    let held = time.held();
    time.starved() || (held >= WAIT_MIN && held >= WAIT_OF_WANTED * time.taken())
}

fn figure(name: &str, value: f64, unit: &str) -> EvidenceFigure {
    EvidenceFigure { name: name.to_owned(), value, unit: unit.to_owned() }
}

#[cfg(test)]
#[path = "disturbance_tests.rs"]
mod tests;
