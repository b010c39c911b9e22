//! The greatest effect that noise can have had on the response times of a run.
//!
//! Noise makes responses longer and never shorter. Its amount is measured: the time in which threads of
//! the client and of the server could run and had no CPU (schedstat), what the hypervisor took, how long the client
//! was stopped, and by how much it sent requests late although connections had room. Each is a wait with a place in
//! the run, and limits the number of requests that it can have delayed, and the delay:
//!
//! - A wait of `w` seconds makes no response longer by more than `w`, and only those that were under way in it, or
//!   behind it in the queue that it left. One that is longer than its bound by more than all waits around it was
//!   longer without them.
//! - At a rate `r` it delays the `r * w` requests that fall due in it, and those until the queue is empty again: where
//!   the thread's own work takes a share `d` of the time, `r * w / (1 - d)`.
//! - Waits come when there is work, so that a short one delays the request that woke the thread, also where `r * w` is
//!   far below one. It takes at least as long as what it explains: such requests are beyond their bound by no more
//!   than all waits together.
//!
//! Responses that still exceed a bound after subtracting all these would have exceeded it on any machine.

use measure::Latency;

use super::disturbance::{Cause, Disturbance, figure};
use super::evidence::Evidence;
use super::noise_sources::{Kind, Sources, Wait, drain, needed};
use super::responses::SpanResponses;
use super::stalls;
use super::threads::{SATURATED, ThreadUse};
use crate::Run;
use crate::quantity::{percent, time};

/// Noise of a run, and its greatest possible effect.
pub(crate) struct Noise<'r> {
    pub(super) run: &'r Run,
    pub(super) evidence: Evidence,
    standing: Standing,
    waits: Vec<Wait>,
    kinds: Vec<Kind>,
    /// Requests that fall due per second; 0 in a closed loop, where none does while it waits.
    rate_per_s: f64,
    /// Number of requests that one short wait can delay.
    at_once: f64,
    own_late: Option<&'r Latency>,
    responses: f64,
}

/// Relevance of noise for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Noise matters.
    Open,
    /// The client had no CPU time left, so the run shows nothing about a server that has more.
    ClientBusy,
    /// The server needs more than a whole CPU for this load, with or without other programs.
    ServerFull,
}

impl Standing {
    fn new(evidence: &Evidence) -> Self {
        let server = evidence.server.map(|side| side.time);
        let needs = |time: ThreadUse| needed(evidence, time);
        // Work on a CPU that others use, too, costs more (caches are cold), so the need must exceed the CPU by as
        // much as the thread was held up. One that also slept works on fewer requests at a time than it could.
        let exceeds = |time: ThreadUse| time.full() && needs(time) >= 1.0 + time.held();
        let busy = evidence.client.filter(|client| client.cpu >= SATURATED || exceeds(*client));
        if busy.is_some_and(|client| server.is_none_or(|server| needs(server) < needs(client))) {
            return Self::ClientBusy;
        }
        if server.is_some_and(exceeds) { Self::ServerFull } else { Self::Open }
    }
}

impl<'r> Noise<'r> {
    /// Finds the noise of a run with this number of responses.
    pub(crate) fn of_run(run: &'r Run, responses: u64) -> Self {
        let evidence = Evidence::new(&run.plan, &run.measurement, &run.watched);
        let standing = Standing::new(&evidence);
        let schedule = evidence.schedule.as_ref();
        let span_s = evidence.span_s;
        let answered_per_s = if span_s > 0.0 { responses as f64 / span_s } else { 0.0 };
        let rate_per_s = schedule.map_or(0.0, |figures| figures.due_rps.max(answered_per_s));
        let at_once = match schedule {
            Some(_) => evidence.slots as f64 / evidence.connections.max(1) as f64,
            None => evidence.slots as f64,
        };
        let sources = Sources::new(run, &evidence, rate_per_s);
        let (waits, kinds) = (sources.waits(), sources.kinds());
        let own_late = run.measurement.total.lateness.as_ref().map(|lateness| &lateness.own);
        let responses = responses as f64;
        Self { run, standing, waits, kinds, rate_per_s, at_once, own_late, responses, evidence }
    }

    /// Returns the disturbance of a client that had no CPU time left, if so.
    pub(crate) fn client_busy(&self) -> Option<Disturbance> {
        let busy = self.standing == Standing::ClientBusy;
        busy.then(|| Disturbance::of_cause(Cause::ClientBusy, &self.evidence))
    }

    /// Returns the disturbance of a client that sent the share `over` too late, if waiting for a CPU does not
    /// explain it.
    pub(crate) fn client_late(&self, over: f64) -> Option<Disturbance> {
        let waited: f64 = self.kinds.iter().map(|kind| kind.share).sum();
        (waited < over).then(|| Disturbance::of_cause(Cause::ClientLate, &self.evidence))
    }

    /// Returns whether noise matters to the run: neither client nor server was full.
    pub(super) fn is_open(&self) -> bool {
        self.standing == Standing::Open
    }

    /// Returns the kinds of noise, as parts of 1.
    pub(super) fn parts(&self) -> Vec<(Cause, f64)> {
        let all: f64 = self.kinds.iter().map(|kind| kind.share).sum();
        if all > 0.0 {
            self.kinds.iter().map(|kind| (kind.cause, kind.share / all)).collect()
        } else {
            vec![(Cause::ClientLate, 1.0)]
        }
    }

    /// Returns for each span the number of responses of `below_ns` or longer that the servers' records
    /// explain.
    pub(crate) fn recorded(&self, spans: &[SpanResponses], below_ns: f64) -> Vec<u64> {
        self.by_record(spans, below_ns, &self.waits, 1.0)
    }

    /// Returns for each span the number of responses of `below_ns` or longer that the servers' records likely
    /// explain, including the queues after slow commands. Of two causes of the same time, the record comes
    /// first.
    pub(super) fn likely_recorded(&self, spans: &[SpanResponses], below_ns: f64) -> Vec<u64> {
        let server = self.evidence.server.map(|side| side.time);
        self.by_record(spans, below_ns, &[], drain(&self.evidence, server))
    }

    fn by_record(
        &self,
        spans: &[SpanResponses],
        below_ns: f64,
        waits: &[Wait],
        drain: f64,
    ) -> Vec<u64> {
        let servers = self.run.watched.servers.len().max(1) as f64;
        let due = |ns: f64, most_ns: f64| match self.rate_per_s {
            rate if rate > 0.0 => rate * ns / 1e9 * drain / servers,
            // All wait, in at least this many stalls.
            _ => self.evidence.slots as f64 / servers * ns / most_ns,
        };
        stalls::beyond_by_record(self.run, spans, below_ns, waits, drain, due)
    }

    /// Returns the waits that can have delayed responses of a span.
    pub(super) fn around(&self, span: &SpanResponses) -> impl Iterator<Item = (usize, &Wait)> {
        // The slowest of them was due before it.
        let from_ns = span.from_ns.saturating_sub(span.max_ns()) as f64;
        let to_ns = span.to_ns as f64;
        let meets = move |wait: &Wait| wait.from_ns < to_ns && wait.to_ns > from_ns;
        self.waits.iter().enumerate().filter(move |(_, wait)| meets(wait))
    }

    /// Returns for each span the number of responses of `below_ns` or longer, and the number of all
    /// responses, without those that noise can have delayed.
    pub(crate) fn beyond_without(&self, spans: &[SpanResponses], below_ns: f64) -> Vec<(u64, u64)> {
        let recorded = self.recorded(spans, below_ns);
        let left = match self.standing {
            Standing::Open => self.left(spans, below_ns),
            Standing::ClientBusy => vec![0; spans.len()],
            Standing::ServerFull => spans.iter().map(|span| span.beyond(below_ns)).collect(),
        };
        let certain = recorded.into_iter().zip(left).map(|(recorded, left)| left.max(recorded));
        certain.zip(spans.iter().map(SpanResponses::count)).collect()
    }

    /// Returns for each span the number of responses of `below_ns` or longer that noise cannot have delayed.
    fn left(&self, spans: &[SpanResponses], below_ns: f64) -> Vec<u64> {
        let mut left: Vec<Excess> =
            spans.iter().map(|span| Excess::new(self, span, below_ns)).collect();
        self.take_queues(&mut left);
        for excess in &mut left {
            excess.take_single(excess.wait_ns * self.at_once);
        }
        self.take_late(spans, &mut left);
        left.iter().map(Excess::left).collect()
    }

    /// Subtracts responses that fell due during waits or in the queues after them. Each wait serves the span
    /// that the fewest other waits can serve, which subtracts the most.
    fn take_queues(&self, left: &mut [Excess]) {
        for (at, wait) in self.waits.iter().enumerate() {
            let mut requests = wait.requests;
            // Less than that is a matter of arithmetic.
            while requests > 1e-9 {
                let within = left.iter_mut().filter(|excess| {
                    (excess.first..=excess.last).contains(&at) && excess.has_delayed()
                });
                let Some(excess) = within.min_by_key(|excess| excess.last) else { break };
                requests -= excess.take_longest(requests);
            }
        }
    }

    /// Subtracts responses that the client itself sent late by as much.
    fn take_late(&self, spans: &[SpanResponses], left: &mut [Excess]) {
        let Some(own_late) = self.own_late else { return };
        let mut beyond: Vec<(f64, usize, usize)> = Vec::new();
        for (at, (span, excess)) in spans.iter().zip(left.iter()).enumerate() {
            let late_ns = span.own_late_max_ns as f64;
            let within = excess.by_size.iter().enumerate().filter(|(_, (ns, _))| *ns < late_ns);
            beyond.extend(within.map(|(which, (ns, _))| (*ns, at, which)));
        }
        beyond.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut beyond = beyond.into_iter().peekable();
        for (late_ns, count) in own_late.recorded() {
            let mut requests = count as f64;
            while let Some((_, at, which)) = beyond.peek().filter(|(ns, ..)| *ns < late_ns as f64) {
                let (_, count) = &mut left[*at].by_size[*which];
                let taken = count.min(requests);
                *count -= taken;
                requests -= taken;
                if *count > 0.0 {
                    break;
                }
                beyond.next();
            }
        }
    }

    /// Lower bound of the longest response without noise.
    pub(crate) fn greatest_without(&self, spans: &[SpanResponses]) -> u64 {
        let least = |span: &SpanResponses| {
            let waited_ns: f64 = self.around(span).map(|(_, wait)| wait.wait_ns).sum();
            let noise_ns = (waited_ns.ceil() as u64).saturating_add(span.own_late_max_ns);
            span.max_ns().saturating_sub(noise_ns)
        };
        match self.standing {
            Standing::ServerFull => spans.iter().map(SpanResponses::max_ns).max().unwrap_or(0),
            Standing::ClientBusy => 0,
            Standing::Open => spans.iter().map(least).max().unwrap_or(0),
        }
    }

    /// Greatest amount by which noise can have raised the mean, in nanoseconds.
    pub(crate) fn raised_mean_ns(&self) -> f64 {
        match self.standing {
            Standing::ServerFull => return 0.0,
            Standing::ClientBusy => return f64::INFINITY,
            Standing::Open => {}
        }
        // A wait that goes on over the end of a span delays as long as both.
        fn beside<'w>(waits: impl Iterator<Item = &'w Wait>) -> f64 {
            let mut sum_ns = 0.0;
            for wait in waits {
                sum_ns += wait.wait_ns;
                if wait.wait_ns < SATURATED * wait.length_ns {
                    break;
                }
            }
            sum_ns
        }
        let all = self.waits.iter().enumerate().map(|(at, wait)| {
            let before = beside(self.waits[..at].iter().rev());
            let after = beside(self.waits[at + 1..].iter());
            let longest_ns = wait.wait_ns + before + after;
            wait.requests * longest_ns / 2.0 + wait.wait_ns * self.at_once
        });
        let late_ns = self.own_late.and_then(Latency::mean_ns).unwrap_or(0.0);
        all.sum::<f64>() / self.responses.max(1.0) + late_ns
    }

    /// Returns whether noise can have delayed this share of the requests, or prevented timely replies to
    /// them.
    pub(crate) fn accounts_for(&self, over: f64) -> bool {
        match self.standing {
            Standing::ServerFull => return false,
            Standing::ClientBusy => return true,
            Standing::Open => {}
        }
        let delayed: f64 = self.kinds.iter().map(|kind| kind.share).sum();
        delayed > 0.0 && delayed + self.late_beyond(crate::schedule::MISSED_NS as f64) >= over
    }

    /// The share of requests that the client itself sent this late.
    fn late_beyond(&self, ns: f64) -> f64 {
        let Some(late) = self.own_late.filter(|late| late.count() > 0) else { return 0.0 };
        let beyond = late.recorded().filter(|(late_ns, _)| *late_ns as f64 > ns);
        beyond.map(|(_, n)| n).sum::<u64>() as f64 / late.count() as f64
    }

    /// The largest source of noise, for a bound of this length.
    pub(crate) fn largest(&self, below_ns: f64) -> Option<Disturbance> {
        let worst = self.kinds.iter().max_by(|a, b| a.share.total_cmp(&b.share));
        let late = self.late_beyond(below_ns / 2.0);
        match worst {
            Some(worst) if worst.share >= late => {
                Some(Disturbance::of_cause(worst.cause, &self.evidence))
            }
            _ if late > 0.0 => Some(late_client(late, below_ns / 2.0)),
            _ => {
                let half_ns = self.own_late?.max_ns()? as f64 / 2.0;
                (half_ns > 0.0).then(|| late_client(self.late_beyond(half_ns), half_ns))
            }
        }
    }
}

/// Returns the disturbance of a client that sent this share of requests late by `late_ns` or more.
fn late_client(share: f64, late_ns: f64) -> Disturbance {
    let late = time(late_ns / 1e9);
    let text =
        format!("{} was sent {late} late or more, although connections had room", percent(share));
    let evidence = vec![figure("client_late", share, "share")];
    Disturbance { cause: Cause::ClientLate, evidence, text }
}

/// Responses of a span beyond a bound: their excess, the least first, and their number.
struct Excess {
    /// Number that exceed the bound by more than all noise around them.
    certain: u64,
    by_size: Vec<(f64, f64)>,
    /// Sum of all waits that can have delayed them.
    wait_ns: f64,
    /// Index of the first wait that can have delayed them.
    first: usize,
    last: usize,
}

impl Excess {
    fn new(noise: &Noise<'_>, span: &SpanResponses, below_ns: f64) -> Self {
        let (mut wait_ns, mut first, mut last) = (0.0, usize::MAX, 0);
        for (at, wait) in noise.around(span) {
            wait_ns += wait.wait_ns;
            first = first.min(at);
            last = last.max(at);
        }
        let reach_ns = wait_ns + span.own_late_max_ns as f64;
        let beyond = span.times.iter().filter(|(ns, _)| *ns as f64 >= below_ns);
        let (within, certain): (Vec<_>, Vec<_>) = beyond
            .map(|(ns, count)| (*ns as f64 - below_ns, *count as f64))
            .partition(|(over_ns, _)| *over_ns < reach_ns);
        let certain = certain.iter().map(|(_, count)| count).sum::<f64>() as u64;
        Self { certain, by_size: within, wait_ns, first, last }
    }

    /// Returns the number of remaining responses.
    fn left(&self) -> u64 {
        let left: f64 = self.by_size.iter().map(|(_, count)| count).sum();
        self.certain.saturating_add(left.floor() as u64)
    }

    /// Returns whether waits can have delayed some of the remaining responses.
    fn has_delayed(&self) -> bool {
        self.by_size.iter().any(|(over_ns, count)| *over_ns < self.wait_ns && *count > 1e-9)
    }

    /// Subtracts up to `requests` responses that waits can have delayed, the longest first; returns their
    /// number.
    fn take_longest(&mut self, requests: f64) -> f64 {
        let (mut left, wait_ns) = (requests, self.wait_ns);
        for (_, count) in self.by_size.iter_mut().rev().filter(|(over_ns, _)| *over_ns < wait_ns) {
            let taken = count.min(left);
            *count -= taken;
            left -= taken;
        }
        requests - left
    }

    /// Subtracts the responses whose total excess is no more than this, the shortest first.
    fn take_single(&mut self, mut together_ns: f64) {
        let wait_ns = self.wait_ns;
        for (over_ns, count) in self.by_size.iter_mut().filter(|(over, _)| *over < wait_ns) {
            let taken = if *over_ns > 0.0 { count.min(together_ns / *over_ns) } else { *count };
            *count -= taken;
            together_ns -= taken * *over_ns;
        }
    }
}

#[cfg(test)]
#[path = "noise_tests.rs"]
mod tests;
