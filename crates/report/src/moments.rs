//! The worst moments of a run, and their causes: in the server by its own account, in keystorm, and between
//! the two.
//!
//! Owns the choice of the worst intervals, and their association with entries of a server's journal. An entry
//! belongs to a moment if it may have happened between the due time of the moment's slowest request and its
//! end.

use std::collections::BTreeSet;

use host::{Journal, JournalEntry, JournalKind, ServerUse};
use measure::Point;
use serde::Serialize;
use workload::quantity::counted;

use crate::journal_entries::{at_unix_s, describe_entry, rank};
use crate::quantity::{msec_at_most, time};
use crate::verdict::{
    HOUSEKEEPING, Noise, SlowCommands, SpanResponses, Stall, by_command, pauses, places, stalls,
};
use crate::{Run, escape, machine_between, wall_clock};

/// Maximum number of moments reported.
const MOMENTS_MAX: usize = 10;
/// Maximum number of causes reported for one moment.
const CAUSES_MAX: usize = 4;
/// Maximum number of remarks beside the moments.
const BESIDES_MAX: usize = 10;
/// Maximum number of journal entries of a server among them.
const ENTRIES_MAX: usize = 8;
/// Microseconds from which a journal entry or a call of another client is reported.
const ENTRY_MIN_US: u64 = 1_000;
/// Minimum number of intervals of a test with worst moments.
const INTERVALS_MIN: usize = 8;
/// A moment is worse than usual by this factor, and by at least this much.
const WORSE_BY: f64 = 2.0;
const WORSE_BY_NS: u64 = 1_000_000;
/// Share of a moment's delay from which the client's own lateness is reported.
const OWN_LATE_SHARE: f64 = 0.5;
/// Share of a thread's time from which its waiting for a CPU is reported.
const WAITED_SHARE: f64 = 0.05;
/// Seconds from which a thread's waiting for a CPU is reported.
const WAITED_S: f64 = 0.005;
/// Stolen time that is reported, as a share of all CPUs' time.
const STOLEN_SHARE: f64 = 0.01;
/// Clocks of two programs agree to some milliseconds.
const CLOCKS_S: f64 = 0.01;
/// Share of the longest response from which the unexplained rest is reported.
const UNEXPLAINED_SHARE: f64 = 0.2;
/// Nanoseconds from which the unexplained rest is reported.
const UNEXPLAINED_NS: f64 = 5e6;
/// Maximum number of slow commands with totals.
const TOTALS_MAX: usize = 5;

/// An interval, or adjacent intervals, with long responses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// Start in UTC wall-clock time: `14:03:22.250`.
    pub at: String,
    /// Beginning in seconds from the start of the measured part.
    pub t_s: f64,
    /// Length in seconds: a whole number of intervals.
    pub lasted_s: f64,
    /// End in UTC wall-clock time.
    pub until: String,
    /// 99th percentile of the response times of its worst interval, in milliseconds.
    pub p99_ms: f64,
    /// The longest response time, in milliseconds.
    pub max_ms: f64,
    /// Causes, the likeliest first, and the unexplained part of its longest response.
    pub causes: Vec<String>,
}

/// The worst moments of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorstMoments {
    /// The length of an interval in seconds.
    pub interval_s: f64,
    /// The median of the 99th percentiles of all intervals, in milliseconds.
    pub usual_p99_ms: f64,
    /// The worst, in order of time.
    pub moments: Vec<Moment>,
    /// Slow commands that came more than once: number, total time, and period.
    pub totals: Vec<String>,
    /// Further events that held up the server: forks, slow commands, and long calls by other clients at
    /// unknown times.
    pub besides: Vec<String>,
    /// Unavailable sources: monitors that are off.
    pub unseen: Vec<String>,
}

/// Intervals of one moment.
struct Span {
    first: u32,
    last: u32,
    p99_ns: u64,
    max_ns: u64,
    own_late_ns: u64,
}

impl WorstMoments {
    /// Finds the worst moments of a run. `None` for a test that was too short, or whose intervals were all
    /// alike without anything in the server's journal.
    pub fn from_run(run: &Run) -> Option<Self> {
        let timeline = &run.measurement.timeline;
        let points: Vec<&Point> = timeline.points.iter().filter(|p| p.p99_ns.is_some()).collect();
        if points.len() < INTERVALS_MIN || timeline.interval_ns == 0 {
            return None;
        }
        let mut sorted: Vec<u64> = points.iter().filter_map(|p| p.p99_ns).collect();
        sorted.sort();
        let usual_ns = sorted[sorted.len() / 2];
        let spans = worst(points, usual_ns);
        let servers = &run.watched.servers;
        let mut dated = Vec::new();
        let stalls = stalls(run);
        let responses: Vec<SpanResponses> =
            spans.iter().map(|span| span.responses(timeline.interval_ns)).collect();
        let noise = Noise::of_run(run, run.measurement.total.requests());
        let places = places(&stalls, &responses);
        let moments = spans.iter().enumerate().map(|(at, span)| {
            let of = stalls.iter().zip(&places).filter(|(_, place)| **place == Some(at));
            let of: Vec<&Stall<'_>> = of.map(|(stall, _)| stall).collect();
            moment(run, span, usual_ns, &of, &noise, &mut dated)
        });
        let moments: Vec<Moment> = moments.collect();
        let commands = by_command(&stalls);
        let totals = commands.iter().filter(|commands| commands.count > 1).take(TOTALS_MAX);
        let found = Self {
            interval_s: timeline.interval_ns as f64 / 1e9,
            usual_p99_ms: usual_ns as f64 / 1e6,
            moments,
            totals: totals.map(SlowCommands::describe_with_period).collect(),
            besides: pauses(run)
                .into_iter()
                .chain(servers.iter().flat_map(|server| besides(run, server, &stalls, &dated)))
                .take(BESIDES_MAX)
                .collect(),
            unseen: unseen(servers),
        };
        (!found.moments.is_empty() || !found.besides.is_empty()).then_some(found)
    }
}

/// The worst intervals, neighbours together, in order of time.
fn worst(mut points: Vec<&Point>, usual_ns: u64) -> Vec<Span> {
    let least = ((usual_ns as f64 * WORSE_BY) as u64).max(usual_ns.saturating_add(WORSE_BY_NS));
    points.retain(|point| point.p99_ns.is_some_and(|ns| ns >= least));
    points.sort_by_key(|point| std::cmp::Reverse((point.p99_ns, point.max_ns)));
    let mut spans: Vec<Span> = Vec::new();
    for point in points {
        let (p99_ns, max_ns) = (point.p99_ns.unwrap_or(0), point.max_ns.unwrap_or(0));
        let own_late_ns = point.own_late_max_ns.unwrap_or(0);
        let beside = spans.iter_mut().find(|span| {
            point.index.saturating_add(1) >= span.first
                && point.index <= span.last.saturating_add(1)
        });
        if let Some(span) = beside {
            span.first = span.first.min(point.index);
            span.last = span.last.max(point.index);
            span.max_ns = span.max_ns.max(max_ns);
            span.own_late_ns = span.own_late_ns.max(own_late_ns);
        } else if spans.len() < MOMENTS_MAX {
            let (first, last) = (point.index, point.index);
            spans.push(Span { first, last, p99_ns, max_ns, own_late_ns });
        }
    }
    spans.sort_by_key(|span| span.first);
    spans
}

/// Nanoseconds from the start of the measured part.
#[derive(Clone, Copy)]
struct Window {
    /// Due time of the slowest request of a moment, before its start.
    due_ns: u64,
    to_ns: u64,
}

impl Span {
    fn responses(&self, interval_ns: u64) -> SpanResponses {
        SpanResponses {
            from_ns: u64::from(self.first).saturating_mul(interval_ns),
            to_ns: (u64::from(self.last) + 1).saturating_mul(interval_ns),
            times: vec![(self.max_ns, 1)],
            own_late_max_ns: self.own_late_ns,
        }
    }
}

fn moment(
    run: &Run,
    span: &Span,
    usual_ns: u64,
    stalls: &[&Stall<'_>],
    noise: &Noise<'_>,
    dated: &mut Vec<JournalEntry>,
) -> Moment {
    let measurement = &run.measurement;
    let responses = span.responses(measurement.timeline.interval_ns);
    let SpanResponses { from_ns, to_ns, .. } = responses;
    let window = Window { due_ns: from_ns.saturating_sub(span.max_ns), to_ns };
    let (mut causes, silent_ns) = outages(run, window);
    let found = recorded_in(run, window, stalls);
    let recorded = found.iter().filter(|(_, _, entry)| rank(entry.kind) == 0);
    let recorded_ns: f64 = recorded.map(|(_, _, e)| e.usec.unwrap_or(0) as f64 * 1e3).sum();
    let mut lines = Vec::new();
    for (server, journal, entry) in first_of_each_kind(found, |(_, _, entry)| *entry) {
        dated.push(entry.clone());
        let of = match run.watched.servers.len() {
            0 | 1 => String::new(),
            _ => format!("{}: ", escape(&server.address)),
        };
        let text = of + &describe_entry(run, journal, entry);
        if !lines.contains(&text) && lines.len() < CAUSES_MAX {
            lines.push(text);
        }
    }
    causes.extend(lines);
    if span.own_late_ns as f64 >= OWN_LATE_SHARE * span.p99_ns as f64 && span.own_late_ns > 0 {
        let late = msec_at_most(span.own_late_ns);
        let noun = run.plan.sends();
        causes.push(format!("keystorm itself sent {noun} up to {late} ms late"));
    }
    let [ours_ns, others_ns] = noise.likely_waited_ns(&responses);
    causes.extend(of_this_machine(run, window, ours_ns));
    // A server that runs a slow command answers nothing: that is one time, and not two.
    let stood_ns = recorded_ns.max(silent_ns);
    // Nor does what waits for a CPU meanwhile take longer.
    let elsewhere = 1.0 - stood_ns / (to_ns - window.due_ns).max(1) as f64;
    let waited_ns = (ours_ns + others_ns).max(span.own_late_ns as f64) * elsewhere.max(0.0);
    let seen_ns = stood_ns + waited_ns;
    let longer_ns = span.max_ns.saturating_sub(usual_ns) as f64;
    let unexplained_ns = longer_ns - seen_ns;
    if unexplained_ns >= UNEXPLAINED_NS.max(UNEXPLAINED_SHARE * longer_ns) {
        let rest = time(unexplained_ns / 1e9);
        causes.push(if noise.resent(&responses) >= 1.0 {
            format!("the network: {rest}; this machine sent TCP segments again")
        } else if causes.is_empty() && pauses(run).is_none() {
            format!("unexplained: {rest}; no cause was seen in the server or in keystorm")
        } else {
            format!("unexplained: {rest}")
        });
    }
    Moment {
        at: wall_clock(measurement.started_at, from_ns),
        until: wall_clock(measurement.started_at, to_ns),
        t_s: from_ns as f64 / 1e9,
        lasted_s: to_ns.saturating_sub(from_ns) as f64 / 1e9,
        p99_ms: span.p99_ns as f64 / 1e6,
        max_ms: span.max_ns as f64 / 1e6,
        causes,
    }
}

/// Describes the outages in a moment, and returns their share of its time.
fn outages(run: &Run, window: Window) -> (Vec<String>, f64) {
    let (mut texts, mut silent_ns) = (Vec::new(), 0);
    for outage in &run.measurement.outages {
        let (from_ns, to_ns) = (outage.from_ns.max(window.due_ns), outage.to_ns.min(window.to_ns));
        if from_ns < to_ns {
            let name = crate::outages::server_name(&run.plan, &run.measurement, outage);
            let of = name.map_or("the server".to_owned(), escape);
            let at = wall_clock(run.measurement.started_at, outage.from_ns);
            let length_s = outage.length_ns() as f64 / 1e9;
            texts.push(format!("{of} answered nothing for {length_s:.2} s from {at} (outage)"));
            silent_ns += to_ns - from_ns;
        }
    }
    (texts, silent_ns as f64)
}

/// Returns the servers' journal entries of a moment, the longest first.
fn recorded_in<'r>(
    run: &'r Run,
    window: Window,
    stalls: &[&Stall<'_>],
) -> Vec<(&'r ServerUse, &'r Journal, &'r JournalEntry)> {
    let mut found = Vec::new();
    for server in &run.watched.servers {
        let Some(journal) = &server.journal else { continue };
        let at = |ns| at_unix_s(run, journal, ns);
        let (from_s, to_s) = (at(window.due_ns) - CLOCKS_S, at(window.to_ns) + CLOCKS_S);
        let then = journal.entries.iter().filter(|entry| match rank(entry.kind) {
            0 => stalls.iter().any(|stall| std::ptr::eq(stall.entry, *entry)),
            _ => entry.from_s < to_s && entry.to_s > from_s,
        });
        found.extend(then.map(|entry| (server, journal, entry)));
    }
    found.sort_by_key(|(_, _, e)| (rank(e.kind), std::cmp::Reverse((e.usec, e.count))));
    found
}

/// Describes the machine's state in a moment in which threads of the client waited this long, as far as it
/// matters.
fn of_this_machine(run: &Run, window: Window, ours_ns: f64) -> Vec<String> {
    let Some(point) = machine_between(run, window.due_ns, window.to_ns) else { return Vec::new() };
    let waited = |who: &str, waited_s: f64| {
        let matters = waited_s >= WAITED_S.max(WAITED_SHARE * point.lasted_s);
        matters.then(|| format!("{who} waited {} for a CPU", time(waited_s)))
    };
    let stolen = point.stolen.filter(|share| *share >= STOLEN_SHARE).map(|share| {
        format!("the hypervisor gave {:.0} % of this machine's CPU time to others", share * 100.0)
    });
    let found = [
        waited("keystorm's threads", ours_ns / 1e9),
        waited("the server's threads", point.server_waited.unwrap_or(0.0) * point.lasted_s),
        stolen,
    ];
    found.into_iter().flatten().collect()
}

/// Moves the first entry of each kind to the front, so that a frequent kind does not crowd out the others.
fn first_of_each_kind<E>(entries: Vec<E>, entry: impl Fn(&E) -> &JournalEntry) -> Vec<E> {
    let mut seen: Vec<(JournalKind, String)> = Vec::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for of in entries {
        let JournalEntry { kind, what, .. } = entry(&of);
        let of_kind = (*kind, what.split(' ').next().unwrap_or_default().to_uppercase());
        if seen.contains(&of_kind) {
            others.push(of)
        } else {
            seen.push(of_kind);
            first.push(of);
        }
    }
    first.append(&mut others);
    first
}

/// Describes the events that held up a server beside the listed moments: entries of its journal, and long
/// calls of commands that are not in the load or in any list.
fn besides(
    run: &Run,
    server: &ServerUse,
    stalls: &[Stall<'_>],
    is_shown: &[JournalEntry],
) -> Vec<String> {
    let mut besides = Vec::new();
    let entries = server.journal.iter().flat_map(|journal| {
        let long =
            journal.entries.iter().filter(|e| e.usec.is_some_and(|usec| usec >= ENTRY_MIN_US));
        let all = long.filter(|e| stalls.iter().any(|stall| std::ptr::eq(stall.entry, *e)));
        all.filter(|entry| !is_shown.contains(entry)).map(move |entry| (journal, entry))
    });
    let mut entries: Vec<(&Journal, &JournalEntry)> = entries.collect();
    entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.usec));
    let mut entries = first_of_each_kind(entries, |(_, entry)| *entry);
    entries.truncate(ENTRIES_MAX);
    besides.extend(entries.iter().map(|(journal, entry)| describe_entry(run, journal, entry)));
    let ours: Vec<String> = run.plan.sequence.iter().map(|c| c.name().to_lowercase()).collect();
    let scripted = ours.iter().any(|name| name.starts_with("eval") || name.starts_with("fcall"));
    let listed = |name: &str| {
        server.journal.iter().flat_map(|journal| &journal.entries).any(|entry| {
            let first = entry.what.split(' ').next().unwrap_or_default();
            match entry.kind {
                JournalKind::SlowCommand => first.eq_ignore_ascii_case(name),
                // The duration of these commands is that of the fork.
                JournalKind::Fork => ["bgsave", "bgrewriteaof"].contains(&name),
                _ => false,
            }
        })
    };
    for command in &server.by_command {
        let name = command.name.split('|').next().unwrap_or_default();
        let each = command.usec / command.calls.max(1);
        let known = ours.iter().any(|own| own == name) || HOUSEKEEPING.contains(&name) || scripted;
        if known || each < ENTRY_MIN_US || listed(name) {
            continue;
        }
        let name = escape(command.name.to_uppercase().replace('|', " "));
        let calls = counted(command.calls, "call");
        let took = time(each as f64 / 1e6);
        besides.push(match command.calls {
            1 => format!("another client's {name} ran for {took}, once, at an unknown time"),
            _ => format!("other clients' {name} ran for {took} on average, {calls}"),
        });
    }
    besides
}

/// Returns the sources that no server could provide, without repetition.
fn unseen(servers: &[ServerUse]) -> Vec<String> {
    let journals = servers.iter().filter_map(|server| server.journal.as_ref());
    let all: BTreeSet<String> = journals.flat_map(|of| of.unseen.iter().map(escape)).collect();
    all.into_iter().collect()
}

#[cfg(test)]
#[path = "moments_tests.rs"]
mod tests;
