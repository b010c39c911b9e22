//! The causes that made requests of a run wait, each with its share of the waiting requests.
//!
//! A response is slow if it came [`MISSED_NS`] or more later than usual. Each slow response is charged to one
//! cause, in this order. First, slow commands that the servers recorded take as many as fell due during them.
//! Then noise takes as many as it can have delayed, weighted by the part of their time in which threads
//! waited. Then the network takes those of one connection for each retransmitted TCP segment. The rest is
//! unexplained. In a closed loop nothing falls due while a connection waits, so a response is weighted by its
//! time. All figures about the reasons for waiting come from here.

use std::collections::BTreeMap;

use super::evidence::Evidence;
use super::noise::Noise;
use super::responses::{SpanResponses, response_spans};
use super::stalls::{Stall, stalls};
use super::wait_causes::{CauseShare, Causes, SlowCommands, WaitCause};
use crate::quantity::{percent, time};
use crate::schedule::MISSED_NS;
use crate::{Cause, Finding, Run, Summary, escape, listed};

/// Minimum share of slow responses that is reported.
const SLOW_MIN: f64 = 0.001;
/// Minimum share of unexplained responses that is reported beside another limit.
const UNEXPLAINED_MIN: f64 = 0.05;
/// Maximum number of commands that are named.
const NAMED_MAX: usize = 3;
/// Greatest deviation of the gaps between regular events from their median, relative to it.
const REGULAR: f64 = 0.35;

impl Causes {
    /// Finds the causes in a run; `None` for a run without slow responses.
    pub(super) fn of_run(run: &Run) -> Option<Self> {
        let is_open = run.plan.load.pace.schedule().is_some();
        let summary = Summary::from_run(run);
        let usual_ns = summary.response_times.quantile_ns(0.5)?;
        let slow_ns = usual_ns.saturating_add(MISSED_NS) as f64;
        let spans = response_spans(&summary);
        let weight = |ns: u64| if is_open { 1.0 } else { ns as f64 };
        let weigh = |span: &SpanResponses, least_ns: f64| {
            let times = span.times.iter().filter(|(ns, _)| *ns as f64 >= least_ns);
            times.map(|(ns, count)| weight(*ns) * *count as f64).sum::<f64>()
        };
        let all: f64 = spans.iter().map(|span| weigh(span, 0.0)).sum();
        if spans.iter().map(|span| weigh(span, slow_ns)).sum::<f64>() < SLOW_MIN * all {
            return None;
        }
        let noise = Noise::of_run(run, summary.response_times.count());
        if !noise.is_open() {
            return None;
        }
        let recorded = noise.likely_recorded(&spans, slow_ns);
        let certain = noise.beyond_without(&spans, slow_ns);
        let mut by_cause = BTreeMap::new();
        let mut charge = |cause: WaitCause, weight: f64| {
            *by_cause.entry(cause).or_insert(0.0) += weight;
        };
        for (at, span) in spans.iter().enumerate() {
            let slow = span.beyond(slow_ns);
            let (recorded, certain) = (recorded[at], certain[at].0);
            let each = weigh(span, slow_ns) / slow.max(1) as f64;
            charge(WaitCause::ServerCommands, recorded as f64 * each);
            let by_noise = slow.saturating_sub(certain.max(recorded)) as f64 * each;
            let by_noise = by_noise * noise.covered(span, slow_ns, usual_ns as f64);
            let rest = (slow - recorded) as f64 * each - by_noise;
            let by_network = rest.min(noise.resent(span) * each);
            charge(WaitCause::Network, by_network);
            charge(WaitCause::Unexplained, rest - by_network);
            for (cause, part) in noise.parts() {
                charge(WaitCause::from_noise(cause), by_noise * part);
            }
        }
        let mut by_cause: Vec<(WaitCause, f64)> = by_cause.into_iter().collect();
        by_cause.sort_by(|a, b| b.1.total_cmp(&a.1));
        let shares = by_cause.into_iter().filter(|(_, weight)| *weight > 0.0);
        let shares = shares.map(|(cause, weight)| CauseShare { cause, share: weight / all });
        let commands = by_command(&stalls(run));
        let slow_ms = slow_ns / 1e6;
        let (shares, pauses) = (shares.collect(), pauses(run));
        Some(Self { slow_ms, shares, commands, of_time: !is_open, pauses })
    }

    /// Formats the causes: `KEYS 5 times, 0.95 s, and EVAL 3 times, 0.45 s, made 2.3 % of requests wait;
    /// other programs' CPU use 1.7 %`.
    pub(super) fn sentence(&self, of_messages: bool) -> String {
        let noun = if of_messages { "messages" } else { "requests" };
        let parts = self.shares.iter().filter(|part| part.share >= SLOW_MIN / 10.0);
        let parts = parts.enumerate().map(|(at, CauseShare { cause, share })| {
            let (what, share) = (cause.describe(), tenths(*share));
            let did = if self.of_time {
                format!("took {share} of the time of all {noun}")
            } else {
                format!("made {share} of {noun} wait")
            };
            match (at, cause) {
                (0, WaitCause::ServerCommands) => format!("{}, {did}", self.named()),
                (0, _) => format!("{what} {did}"),
                (_, WaitCause::ServerCommands) => format!("{what} ({}) {share}", self.named()),
                _ => format!("{what} {share}"),
            }
        });
        parts.chain(self.pauses.clone()).collect::<Vec<_>>().join("; ")
    }

    /// The commands with the longest total duration, in words.
    fn named(&self) -> String {
        let named = self.commands.iter().take(NAMED_MAX).map(SlowCommands::describe);
        listed(&named.collect::<Vec<_>>(), ", and ")
    }
}

impl WaitCause {
    fn from_noise(cause: Cause) -> Self {
        match cause {
            Cause::CpuHeld => Self::CpuHeld,
            Cause::CpuShared => Self::CpuShared,
            Cause::CpuStolen => Self::CpuStolen,
            Cause::ClientBusy | Cause::ClientQuota | Cause::ClientLate | Cause::ClientAbsent => {
                Self::Client
            }
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::ServerCommands => "slow commands of the server",
            Self::CpuHeld => "other programs' CPU use",
            Self::CpuShared => "client and server on the same CPU",
            Self::CpuStolen => "the hypervisor",
            Self::Client => "this client",
            Self::Network => "the network (TCP segments were sent again)",
            Self::Unexplained => "what was not seen in server or client",
        }
    }
}

impl SlowCommands {
    /// `KEYS 5 times, 0.95 s`.
    fn describe(&self) -> String {
        let Self { name, count, time_s, .. } = self;
        format!("{} {}, {}", escape(name), times(*count as u64), time(*time_s))
    }

    /// Describes the commands with their period, such as `KEYS 5 times, 0.95 s, about every 13 s`.
    pub fn describe_with_period(&self) -> String {
        let every = self.every_s.map_or(String::new(), |s| format!(", about every {}", time(s)));
        format!("{}{every}", self.describe())
    }
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Describes the calls that paused the servers' clients, by the servers' counts: no log holds a pause.
pub(crate) fn pauses(run: &Run) -> Option<String> {
    let all = run.watched.servers.iter().flat_map(|server| &server.by_command);
    let calls = all.filter(|of| of.name == "client|pause").map(|of| of.calls).sum();
    (calls > 0).then(|| format!("CLIENT PAUSE was called {} meanwhile", times(calls)))
}

/// Formats a share with one decimal place, since these shares are small.
fn tenths(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.1 => "less than 0.1 %".to_owned(),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        _ => percent(share),
    }
}

/// Formats the causes of waiting as `; …`, if the finding does not name them already.
pub(super) fn waited(finding: Finding, evidence: &Evidence) -> String {
    let Some(causes) = &evidence.causes else { return String::new() };
    let [commands, rest] =
        [WaitCause::ServerCommands, WaitCause::Unexplained].map(|cause| causes.share(cause));
    let matters = match finding {
        Finding::SlowCommands | Finding::Errors | Finding::Nothing | Finding::Short => false,
        Finding::ScheduleKept | Finding::ScheduleMissed | Finding::ScheduleBehind => true,
        _ => commands > 0.0 || rest >= UNEXPLAINED_MIN,
    };
    if matters { format!("; {}", causes.sentence(evidence.of_messages)) } else { String::new() }
}

/// Groups stalls by command.
pub(crate) fn by_command(stalls: &[Stall<'_>]) -> Vec<SlowCommands> {
    let mut by_name: BTreeMap<String, Vec<&Stall<'_>>> = BTreeMap::new();
    stalls.iter().for_each(|stall| by_name.entry(stall.name()).or_default().push(stall));
    let commands = by_name.into_iter().map(|(name, same)| {
        let mut ends_s: Vec<f64> = same.iter().map(|stall| stall.to_ns / 1e9).collect();
        ends_s.sort_by(f64::total_cmp);
        SlowCommands {
            count: ends_s.len(),
            time_s: same.iter().map(|stall| stall.length_ns).sum::<f64>() / 1e9,
            every_s: period_s(&ends_s),
            name,
        }
    });
    let mut all: Vec<SlowCommands> = commands.collect();
    all.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
    all
}

/// The interval between events that come regularly, at least three, given in order of time. `SLOWLOG` gives
/// whole seconds, so each gap may be wrong by one.
fn period_s(at_s: &[f64]) -> Option<f64> {
    let mut gaps: Vec<f64> = at_s.windows(2).map(|two| two[1] - two[0]).collect();
    if gaps.len() < 2 {
        return None;
    }
    gaps.sort_by(f64::total_cmp);
    let median = gaps[gaps.len() / 2];
    (median >= 1.0 && gaps.iter().all(|gap| (gap - median).abs() <= (REGULAR * median).max(1.0)))
        .then_some(median)
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
