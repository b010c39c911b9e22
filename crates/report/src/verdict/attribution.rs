//! Whether the client or the machine can account for what a run missed of a target.
//!
//! Who else takes a CPU makes responses longer and never shorter. So a target that is kept beside other
//! programs is kept, and a run that kept it counts, whatever was measured of its disturbances. Only a run that
//! missed its target can be void: if without what held up client and server it might have kept it. That is an
//! upper bound, from what was measured of this run and in relation to its target:
//!
//! - A thread that waits for a CPU for a share `h` of the time delays the requests that are due then, and
//!   those behind them until the backlog is gone. Where its own work takes a share `d` of the time, that is
//!   `h / (1 - d)` of all requests. `h` is counted by the kernel (schedstat), for the client's busiest worker
//!   and for the server's busiest thread. The hypervisor's part is counted for the whole machine; all of it may
//!   have come off one CPU.
//! - A response that reaches a bound was sent half of it late, or took half of it from then on. So the
//!   requests that the client itself sent so late are those that it can have pushed beyond the bound.
//!
//! If `p99 < 2 ms` was missed by 4 % of the requests, 3 % were too many: the run is void if these shares come
//! to 3 %, and counts otherwise. Requests that took part in nothing of the kind were slow by the server.
//!
//! Two cases need no shares. A client without CPU left says nothing of a server that has more. And a server
//! whose work at this rate needs more than all of a CPU misses its target on any machine. That is shown by a
//! server that worked whenever it had its CPU: one that also slept works on fewer requests at a time than it
//! could, at a higher cost for each. Work on a CPU that others use, too, costs more (caches are cold), so the need
//! must exceed the CPU by as much as the server was held up.

use measure::Latency;

use super::disturbance::{Cause, Disturbance, figure};
use super::evidence::Evidence;
use super::rules;
use super::threads::{SATURATED, ThreadUse};
use super::wording::{percent, time};
use crate::{Finding, Run};

/// A thread that waits for less than this share of the time waits for single wake-ups of kernel threads:
/// microseconds each, which no response is long by.
const WAIT_MIN: f64 = 0.002;

/// What a run had too much of under its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Excess {
    /// More requests than may be, by this share of all, took so many nanoseconds or longer.
    Share {
        /// 0 to 1.
        over: f64,
        /// The bound.
        below_ns: f64,
    },
    /// The mean is too long by so many nanoseconds.
    Mean(f64),
    /// The longest response is too long by so many nanoseconds.
    Max(f64),
}

/// What can have made responses longer.
struct Delay {
    cause: Cause,
    /// The share of the time in which nothing went on.
    held: f64,
    /// The share of the requests that are delayed by that.
    share: f64,
}

/// All that can have, and what the client sent late.
struct Delays<'r> {
    all: Vec<Delay>,
    span_ns: f64,
    /// By how much the client itself sent requests late.
    own_late: Option<&'r Latency>,
}

impl Disturbance {
    /// Why a run that missed its target by this says nothing of the server: the client or the machine can
    /// account for all of it. `None` of a run that missed nothing, and of one that the server missed.
    #[must_use]
    pub fn of_miss(run: &Run, excess: &[Excess]) -> Option<Self> {
        let evidence = Evidence::new(&run.plan, &run.measurement, &run.watched);
        // The verdict reports errors and outages; they are no disturbance.
        match rules::find(&evidence) {
            Finding::Errors | Finding::Outage | Finding::Nothing => return None,
            _ => {}
        }
        if excess.is_empty() {
            return None;
        }
        let server = evidence.server.map(|side| side.time);
        let needs = |time: ThreadUse| needed(&evidence, time);
        let exceeds = |time: ThreadUse| time.full() && needs(time) >= 1.0 + time.held();
        if let Some(client) = evidence.client.filter(|c| c.cpu >= SATURATED || exceeds(*c))
            && server.is_none_or(|server| needs(server) < needs(client))
        {
            return Some(Self::of_cause(Cause::ClientBusy, &evidence));
        }
        if server.is_some_and(exceeds) {
            return None;
        }
        let cpus = run.host.as_ref().and_then(|host| host.cpu.logical).unwrap_or(1) as usize;
        let delays = Delays::new(run, &evidence, cpus.max(evidence.cpus.unwrap_or(1)));
        if !excess.iter().all(|excess| delays.can_account_for(*excess)) {
            return None;
        }
        let late = excess.iter().filter_map(|excess| Some((delays.late(*excess)?, *excess)));
        let late = late.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let worst = delays.all.iter().max_by(|a, b| a.share.total_cmp(&b.share));
        match (worst, late) {
            (Some(worst), late) if late.is_none_or(|(late, _)| worst.share >= late) => {
                Some(Self::of_cause(worst.cause, &evidence))
            }
            (_, Some((share, excess))) => Some(Self::late_client(share, excess)),
            _ => None,
        }
    }

    /// Of a client that sent this share of the requests late.
    fn late_client(share: f64, excess: Excess) -> Self {
        let half = match excess {
            Excess::Share { below_ns, .. } => time(below_ns / 2.0 / 1e9),
            Excess::Mean(over_ns) | Excess::Max(over_ns) => time(over_ns / 1e9),
        };
        let text = format!(
            "{} of requests were sent {half} late or more, although connections had room",
            percent(share)
        );
        let evidence = vec![figure("client_late", share, "share")];
        Self { cause: Cause::ClientLate, evidence, text }
    }
}

/// The share of a CPU that a thread's work on all requests that were due takes: more than it ran for where
/// not all were answered in time.
fn needed(evidence: &Evidence, thread: ThreadUse) -> f64 {
    let Some(schedule) = &evidence.schedule else { return thread.cpu };
    let (due, span_s) = (schedule.figures.due as f64, schedule.figures.span_ns as f64 / 1e9);
    let answered = evidence.requests.max(1) as f64;
    let longer = if span_s > 0.0 { evidence.span_s / span_s } else { 1.0 };
    thread.cpu * longer * (due / answered).max(1.0)
}

impl<'r> Delays<'r> {
    fn new(run: &'r Run, evidence: &Evidence, cpus: usize) -> Self {
        let server = evidence.server.filter(|_| evidence.server_here).map(|side| side.time);
        // The quota of a server is a part of it.
        let server = server.filter(|server| !server.by_quota());
        let drained = |held: f64, thread: ThreadUse| {
            (held / (1.0 - needed(evidence, thread).min(SATURATED))).min(1.0)
        };
        let shared = rules::find(evidence) == Finding::EachOther;
        let threads = [evidence.client, server].into_iter().flatten();
        let mut all: Vec<Delay> = threads
            .clone()
            .filter(|thread| thread.held() >= WAIT_MIN)
            .map(|thread| Delay {
                cause: match thread.by_quota() {
                    true => Cause::ClientQuota,
                    false if shared => Cause::CpuShared,
                    false => Cause::CpuHeld,
                },
                held: thread.held(),
                share: drained(thread.held(), thread),
            })
            .collect();
        let fullest = threads.max_by(|a, b| a.cpu.total_cmp(&b.cpu));
        let fullest = fullest.unwrap_or(ThreadUse::new(0.0, 0.0, 0.0));
        let absent = if evidence.span_s > 0.0 { evidence.absent_s / evidence.span_s } else { 0.0 };
        let stolen = (evidence.stolen * cpus as f64).min(1.0);
        for (cause, held) in [(Cause::ClientAbsent, absent), (Cause::CpuStolen, stolen)] {
            if held > 0.0 {
                all.push(Delay { cause, held, share: drained(held, fullest) });
            }
        }
        let own_late = run.measurement.total.lateness.as_ref().map(|lateness| &lateness.own);
        Self { all, span_ns: evidence.span_s * 1e9, own_late }
    }

    /// Which share of the requests the client sent so late that it may have decided.
    fn late(&self, excess: Excess) -> Option<f64> {
        let Excess::Share { below_ns, .. } = excess else { return None };
        let late = self.own_late.filter(|late| late.count() > 0)?;
        let beyond = late.recorded().filter(|(ns, _)| *ns as f64 >= below_ns / 2.0);
        let beyond: u64 = beyond.map(|(_, n)| n).sum();
        Some(beyond as f64 / late.count() as f64).filter(|share| *share > 0.0)
    }

    fn can_account_for(&self, excess: Excess) -> bool {
        let held = || self.all.iter().map(|delay| delay.held).sum::<f64>();
        let late_ns = |of: fn(&Latency) -> f64| self.own_late.map_or(0.0, of);
        match excess {
            Excess::Share { over, .. } => {
                let delayed: f64 = self.all.iter().map(|delay| delay.share).sum();
                let late = self.late(excess).unwrap_or(0.0);
                delayed.max(late) > 0.0 && delayed + late >= over
            }
            // All of the waiting may have been at once, and is then half of itself long on average.
            Excess::Mean(over_ns) => {
                let delayed: f64 = self.all.iter().map(|delay| delay.share).sum();
                let mean_ns = delayed.min(1.0) * held() * self.span_ns / 2.0;
                mean_ns + late_ns(|late| late.mean_ns().unwrap_or(0.0)) >= over_ns
            }
            Excess::Max(over_ns) => {
                let late = late_ns(|late| late.max_ns().unwrap_or(0) as f64);
                held() * self.span_ns + late >= over_ns
            }
        }
    }
}

#[cfg(test)]
#[path = "attribution_tests.rs"]
mod tests;
