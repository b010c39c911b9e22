//! Sources of the noise of a run: waits with their positions, and their kinds.

use super::disturbance::Cause;
use super::evidence::Evidence;
use super::rules;
use super::threads::{SATURATED, ThreadUse};
use crate::{Finding, MachinePoint, Run, machine_timeline};

/// Waiting in a span of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wait {
    pub(super) from_ns: f64,
    /// The end of the queue that it can have left.
    pub(super) to_ns: f64,
    pub(super) length_ns: f64,
    pub(super) wait_ns: f64,
    /// The part of it in which threads of the client had no CPU, however many.
    pub(super) ours_ns: f64,
    /// The part of it in which servers on this machine had no CPU.
    pub(super) servers_ns: f64,
    /// Number of requests that fell due in it, or until its queue was gone.
    pub(super) requests: f64,
}

/// Kind of noise over a whole run.
pub(super) struct Kind {
    pub(super) cause: Cause,
    /// Share of requests that it can have delayed.
    pub(super) share: f64,
}

/// Sources of the noise of a run.
pub(super) struct Sources<'e> {
    run: &'e Run,
    evidence: &'e Evidence,
    client: Option<ThreadUse>,
    /// CPU use of a server on this machine.
    server: Option<ThreadUse>,
    workers: f64,
    cpus: f64,
    rate_per_s: f64,
}

/// Waiting times in a span, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Waited {
    ours_s: f64,
    servers_s: f64,
    others_s: f64,
}

impl<'e> Sources<'e> {
    /// Finds the sources in a run in which `rate_per_s` requests fall due per second.
    pub(super) fn new(run: &'e Run, evidence: &'e Evidence, rate_per_s: f64) -> Self {
        let server = evidence.server.filter(|_| evidence.server_here).map(|side| side.time);
        let cpus = run.host.as_ref().and_then(|host| host.cpu.logical).unwrap_or(1) as usize;
        Self {
            run,
            evidence,
            client: evidence.client,
            // The quota of a server is a part of it.
            server: server.filter(|server| !server.by_quota()),
            workers: run.measurement.workers.len().max(1) as f64,
            cpus: cpus.max(evidence.cpus.unwrap_or(1)) as f64,
            rate_per_s,
        }
    }

    fn drain(&self, thread: Option<ThreadUse>) -> f64 {
        drain(self.evidence, thread)
    }

    /// Returns the drain of the fuller of client and server.
    fn slowest(&self) -> f64 {
        self.drain(self.client).max(self.drain(self.server))
    }

    /// Time that the hypervisor took, as if all of it came from one CPU.
    fn stolen(&self, share: f64) -> f64 {
        (share * self.cpus).min(1.0)
    }

    fn wait(&self, from_s: f64, length_s: f64, waited: Waited) -> Wait {
        let Waited { ours_s, servers_s, others_s } = waited;
        let delayed_s = ours_s / self.workers * self.drain(self.client)
            + servers_s * self.drain(self.server)
            + others_s * self.slowest();
        let wait_s = ours_s + servers_s + others_s;
        Wait {
            from_ns: from_s * 1e9,
            to_ns: (from_s + length_s + wait_s * self.slowest()) * 1e9,
            length_ns: length_s * 1e9,
            wait_ns: wait_s * 1e9,
            ours_ns: ours_s * 1e9,
            servers_ns: self.server.map_or(0.0, |_| (servers_s + others_s) * 1e9),
            requests: self.rate_per_s * delayed_s,
        }
    }

    /// All waits in order of time: by spans if this machine was sampled during the run, otherwise as a single
    /// wait.
    pub(super) fn waits(&self) -> Vec<Wait> {
        let (run, load_s) = (self.run, self.evidence.load_s);
        let spans = if run.clients.is_some() { Vec::new() } else { machine_timeline(run) };
        let known = |point: &MachinePoint| {
            point.waited.is_some() && (self.server.is_none() || point.server_waited.is_some())
        };
        let mut waits: Vec<Wait> = if !spans.is_empty() && spans.iter().all(known) {
            spans.iter().map(|point| self.in_span(point)).collect()
        } else {
            let held_s = |thread: Option<ThreadUse>| thread.map_or(0.0, ThreadUse::held) * load_s;
            let waited = Waited {
                ours_s: held_s(self.client) * self.workers,
                servers_s: held_s(self.server),
                others_s: self.stolen(self.evidence.stolen) * load_s,
            };
            vec![self.wait(0.0, self.evidence.span_s.max(load_s), waited)]
        };
        for absence in &self.run.measurement.absences {
            let others_s = absence.length_ns() as f64 / 1e9;
            let waited = Waited { others_s, ..Waited::default() };
            waits.push(self.wait(absence.from_ns as f64 / 1e9, others_s, waited));
        }
        waits.sort_by(|a, b| a.from_ns.total_cmp(&b.from_ns));
        waits
    }

    fn in_span(&self, point: &MachinePoint) -> Wait {
        let seconds = |share: Option<f64>| share.unwrap_or(0.0) * point.lasted_s;
        // Most kernels count what a quota stops as a wait, too.
        let quota = self.client.filter(|client| client.by_quota()).map_or(0.0, |c| c.throttled);
        let waited = Waited {
            ours_s: seconds(point.waited).max(quota * point.lasted_s),
            servers_s: self.server.map_or(0.0, |_| seconds(point.server_waited)),
            others_s: self.stolen(point.stolen.unwrap_or(0.0)) * point.lasted_s,
        };
        self.wait(point.t_s, point.lasted_s, waited)
    }

    /// All kinds of noise that can have delayed requests, with their shares.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let evidence = self.evidence;
        let shared = rules::find(evidence) == Finding::EachOther;
        let absent = if evidence.span_s > 0.0 { evidence.absent_s / evidence.span_s } else { 0.0 };
        let others =
            [(Cause::ClientAbsent, absent), (Cause::CpuStolen, self.stolen(evidence.stolen))];
        let others =
            others.map(|(cause, held)| Kind { cause, share: (held * self.slowest()).min(1.0) });
        let threads = [self.client, self.server].into_iter().flatten().map(|thread| Kind {
            cause: match thread.by_quota() {
                true => Cause::ClientQuota,
                false if shared => Cause::CpuShared,
                false => Cause::CpuHeld,
            },
            share: (thread.held() * self.drain(Some(thread))).min(1.0),
        });
        threads.chain(others).filter(|kind| kind.share > 0.0).collect()
    }
}

/// Share of a CPU that a thread needs for all due requests: more than it used if not all were answered in
/// time.
pub(super) fn needed(evidence: &Evidence, thread: ThreadUse) -> f64 {
    let Some(schedule) = &evidence.schedule else { return thread.cpu };
    let (due, span_s) = (schedule.due as f64, schedule.span_ns as f64 / 1e9);
    let answered = evidence.requests.max(1) as f64;
    let longer = if span_s > 0.0 { evidence.span_s / span_s } else { 1.0 };
    thread.cpu * longer * (due / answered).max(1.0)
}

/// Returns the length of the queue after a wait, relative to the wait, for a thread with this much work.
pub(super) fn drain(evidence: &Evidence, thread: Option<ThreadUse>) -> f64 {
    let needed = thread.map_or(0.0, |thread| needed(evidence, thread));
    1.0 / (1.0 - needed.min(SATURATED))
}
