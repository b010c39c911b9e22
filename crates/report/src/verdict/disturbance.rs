//! Judgement whether a run shows something about the server, or only about the client and its machine.
//!
//! By this judgement every experiment leaves out, repeats or marks a run: a search, a sweep, a survey,
//! repeats and a comparison. It is weaker than a verdict: a run may keep its schedule, and have no other
//! limit, while other programs delay a few of its requests. For a run with a target,
//! [`attribution`](super::attribution) judges that in relation to the target.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::threads::{HELD, ThreadUse};
use super::{EvidenceFigure, rules};
use crate::quantity::{percent, time};
use crate::schedule::{Fault, ScheduleFigures};
use crate::{Finding, Run};

/// Share of the time in which a thread could run, from which waiting for a CPU counts as a disturbance: alone
/// on a CPU, a thread waits for less than a tenth.
const WAIT_OF_WANTED: f64 = 0.25;
/// CPU time of other programs, relative to the time that a thread waited, from which they count as the reason.
const OTHERS_OF_WAIT: f64 = 0.5;
/// Share of the run from which the CPU time of other programs matters.
const OTHERS_MIN: f64 = 0.01;
/// Seconds from which the CPU time of other programs matters. The kernel counts in hundredths of a second, by kind
/// of time, so less than two of them may be zero.
const OTHERS_MIN_S: f64 = 0.02;
/// Share of the run below which waiting is due to single wake-ups.
const WAIT_MIN: f64 = 0.002;

/// Cause for which a run shows nothing about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Other programs used the CPU of client or server.
    CpuHeld,
    /// Client and server took each other's CPU.
    CpuShared,
    /// The hypervisor gave the CPU to other machines.
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
    /// Returns whether the cause lies outside of client and server: other programs, or the hypervisor.
    pub fn by_others(self) -> bool {
        matches!(self, Self::CpuHeld | Self::CpuStolen)
    }

    /// Returns the name, as used in documents.
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

    /// Describes the cause in a few words that can be followed by `in 3 of 10 runs`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::CpuHeld => "other programs held the CPU",
            Self::CpuShared => "client and server took each other's CPU",
            Self::CpuStolen => "the hypervisor gave the CPU to others",
            Self::ClientBusy => "the client had no CPU left",
            Self::ClientQuota => "the client was stopped by its CPU quota",
            Self::ClientLate => "the client was late to send",
            Self::ClientAbsent => "the client itself did not run",
        }
    }
}

/// Reason why a run is void, as evidence neither for nor against the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Cause of the disturbance.
    pub cause: Cause,
    /// The figures that prove it.
    pub evidence: Vec<EvidenceFigure>,
    /// Short sentence with the evidence, without a full stop.
    pub text: String,
}

impl Disturbance {
    /// Returns the reason why a run is void; `None` for a valid one.
    pub fn from_run(run: &Run) -> Option<Self> {
        Self::of_evidence(&Evidence::new(&run.plan, &run.measurement, &run.watched))
    }

    /// Returns the reason why a run is void among runs that take turns: the client sent requests late although
    /// connections had room. Other programs and the hypervisor affect all that takes turns, and so widen intervals.
    pub fn voiding_turn(run: &Run) -> Option<Cause> {
        Self::from_run(run).map(|found| found.cause).filter(|cause| *cause == Cause::ClientLate)
    }

    fn of_evidence(evidence: &Evidence) -> Option<Self> {
        let server = evidence.server.filter(|_| evidence.server_here).map(|side| side.time);
        // The verdict reports errors, outages and too short a run; they are no disturbance.
        match rules::find(evidence) {
            Finding::Errors | Finding::Outage | Finding::Nothing | Finding::Short => return None,
            Finding::EachOther => return Some(Self::of_cause(Cause::CpuShared, evidence)),
            Finding::ServerQuota | Finding::ServerThreads | Finding::ServerBlocked => return None,
            _ => {}
        }
        if evidence.absent_s > 0.0 {
            return Some(Self::of_cause(Cause::ClientAbsent, evidence));
        }
        if evidence.stolen >= HELD {
            return Some(Self::of_cause(Cause::CpuStolen, evidence));
        }
        if [evidence.client, server]
            .iter()
            .flatten()
            .any(|time| is_held(*time) && !time.by_quota() && others_ran(evidence, time.held()))
        {
            return Some(Self::of_cause(Cause::CpuHeld, evidence));
        }
        if let Some(client) = evidence.client {
            if client.by_quota() && is_held(client) {
                return Some(Self::of_cause(Cause::ClientQuota, evidence));
            }
            // Where both are full, the fuller of the two is the limit.
            if client.full() && server.is_none_or(|server| server.taken() < client.taken()) {
                return Some(Self::of_cause(Cause::ClientBusy, evidence));
            }
        }
        let schedule = evidence.schedule.as_ref();
        schedule.filter(|s| !s.kept() && s.fault == Some(Fault::Client))?;
        Some(Self::of_cause(Cause::ClientLate, evidence))
    }

    /// A disturbance with the evidence for its cause.
    pub(super) fn of_cause(cause: Cause, evidence: &Evidence) -> Self {
        let client = evidence.client.unwrap_or(ThreadUse::new(0.0, 0.0, 0.0));
        let (text, name, value) = match cause {
            Cause::CpuHeld | Cause::CpuShared => return Self::held(cause, evidence),
            Cause::ClientAbsent => {
                let length = time(evidence.absent_s);
                let text = format!("the client itself did not run for {length}, as if stopped");
                (text, "client_absent", evidence.absent_s)
            }
            Cause::CpuStolen => {
                let stolen = percent(evidence.stolen);
                let text =
                    format!("the hypervisor gave {stolen} of this machine's CPU time to others");
                (text, "cpu_stolen", evidence.stolen)
            }
            Cause::ClientQuota => {
                let throttled = percent(client.throttled);
                let text = format!("the CPU quota stopped the client for {throttled} of the time");
                (text, "client_stopped_by_quota", client.throttled)
            }
            Cause::ClientBusy => {
                let text = format!("the client was {} busy", percent(client.cpu));
                (text, "client_worker_busy", client.cpu)
            }
            Cause::ClientLate => {
                let schedule = evidence.schedule.as_ref();
                let late = schedule.map_or(String::new(), ScheduleFigures::late_percent);
                let share = schedule.map_or(0.0, |s| s.late as f64 / s.due.max(1) as f64);
                let text =
                    format!("{late} was sent over 10 ms late, although connections had room");
                (text, "sent_too_late", share)
            }
        };
        let unit = if cause == Cause::ClientAbsent { "seconds" } else { "share" };
        Self { cause, evidence: vec![figure(name, value, unit)], text }
    }

    /// Returns the disturbance of threads that waited for a CPU.
    fn held(cause: Cause, evidence: &Evidence) -> Self {
        let server = evidence.server.filter(|_| evidence.server_here).map(|side| side.time);
        let ends = [("the client", evidence.client), ("the server", server)];
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

/// Returns whether a thread was kept from its CPU for long enough to affect the measurement.
fn is_held(time: ThreadUse) -> bool {
    let held = time.held();
    time.starved() || (held >= WAIT_MIN && held >= WAIT_OF_WANTED * time.taken())
}

/// Returns whether other programs used enough CPU time to explain that a thread waited for this share of the
/// run. A server that is woken on the CPU of a spinning client waits for a moment on an idle machine, too.
fn others_ran(evidence: &Evidence, held: f64) -> bool {
    let least = (held * OTHERS_OF_WAIT).max(OTHERS_MIN).max(OTHERS_MIN_S / evidence.load_s);
    evidence.others.is_none_or(|others| others >= least)
}

pub(super) fn figure(name: &str, value: f64, unit: &str) -> EvidenceFigure {
    EvidenceFigure { name: name.to_owned(), value, unit: unit.to_owned() }
}

#[cfg(test)]
#[path = "disturbance_tests.rs"]
mod tests;
