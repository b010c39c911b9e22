//! The worst moments of a run, and what went on then: in the server by its own account, in keystorm, and
//! between the two.
//!
//! Owns which intervals are worst, and which entry of a server's journal belongs to which. An entry
//! belongs to a moment if it may have happened from when the slowest of its requests was due to its end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host::{Journal, JournalEntry, JournalKind, ServerUse};
use measure::Point;
use serde::Serialize;
use workload::quantity::counted;

use crate::quantity::msec_at_most;
use crate::{Run, escape, machine_between, wall_clock, wall_clock_s};

/// Most moments that are reported.
const MOMENTS_MAX: usize = 10;
/// Most causes that are reported for one moment.
const CAUSES_MAX: usize = 4;
/// Remarks beside the moments.
const BESIDES_MAX: usize = 10;
/// Entries of a server's journal among them, each of so many microseconds at least.
const ENTRIES_MAX: usize = 8;
const ENTRY_MIN_US: u64 = 1_000;
/// Latency events of what has an entry of its own.
const OF_ENTRIES: [&str; 3] = ["command", "fast-command", "fork"];
/// A test of fewer intervals has no course.
const INTERVALS_MIN: usize = 8;
/// A moment is worse than usual by this factor, and by this much.
const WORSE_BY: f64 = 2.0;
const WORSE_BY_NS: u64 = 1_000_000;
/// Lateness of our own that is worth telling.
const OWN_LATE_SHARE: f64 = 0.5;
/// Waiting for a CPU that is worth telling: of the time of one thread, and in seconds.
const WAITED_SHARE: f64 = 0.05;
const WAITED_S: f64 = 0.005;
/// Stolen time that is worth telling, of the time of all CPUs.
const STOLEN_SHARE: f64 = 0.01;
/// A call of another client's command is listed from this length on.
const CALL_MIN_US: u64 = 1_000;
/// Commands that ask a server about itself.
const LOOKS: [&str; 9] =
    ["auth", "client", "commandlog", "config", "hello", "info", "latency", "slowlog", "time"];

/// An interval, or neighbours of it, in which responses took long.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// When it began, by the clock on the wall in UTC: `14:03:22.250`.
    pub at: String,
    /// The same in seconds from the start of the measured part.
    pub t_s: f64,
    /// How long it lasted, in seconds: a whole number of intervals.
    pub lasted_s: f64,
    /// The 99th percentile of the response times of its worst interval, in milliseconds.
    pub p99_ms: f64,
    /// The longest response time, in milliseconds.
    pub max_ms: f64,
    /// What went on then, the likeliest first; empty if nothing was seen.
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
    /// What held the server up beside these moments: forks, slow commands, and long calls by other
    /// clients at a time that is not known.
    pub besides: Vec<String>,
    /// What could not be looked at: monitors that are off.
    pub unseen: Vec<String>,
}

/// Intervals that belong together.
struct Span {
    first: u32,
    last: u32,
    p99_ns: u64,
    max_ns: u64,
    own_late_ns: u64,
}

impl WorstMoments {
    /// Those of a run. `None` of a test that was too short, or in which all intervals were alike and
    /// the server remembers nothing.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let timeline = &run.measurement.timeline;
        let points: Vec<&Point> = timeline.points.iter().filter(|p| p.p99_ns.is_some()).collect();
        if points.len() < INTERVALS_MIN || timeline.interval_ns == 0 {
            return None;
        }
        let mut sorted: Vec<u64> = points.iter().filter_map(|p| p.p99_ns).collect();
        workload::sort::sort_by(&mut sorted, Ord::cmp);
        let usual_ns = sorted[sorted.len() / 2];
        let spans = worst(points, usual_ns);
        let servers = &run.watched.servers;
        let mut dated = Vec::new();
        let moments: Vec<Moment> = spans.iter().map(|span| moment(run, span, &mut dated)).collect();
        let found = Self {
            interval_s: timeline.interval_ns as f64 / 1e9,
            usual_p99_ms: usual_ns as f64 / 1e6,
            moments,
            besides: servers
                .iter()
                .flat_map(|server| besides(run, server, &dated))
                .take(BESIDES_MAX)
                .collect(),
            unseen: unseen(servers),
        };
        let something = !found.moments.is_empty() || !found.besides.is_empty();
        something.then_some(found)
    }
}

/// The worst intervals, neighbours together, in order of time.
fn worst(mut points: Vec<&Point>, usual_ns: u64) -> Vec<Span> {
    let least = ((usual_ns as f64 * WORSE_BY) as u64).max(usual_ns.saturating_add(WORSE_BY_NS));
    points.retain(|point| point.p99_ns.is_some_and(|ns| ns >= least));
    workload::sort::sort_by_key(&mut points, |point| {
        std::cmp::Reverse((point.p99_ns, point.max_ns))
    });
    let mut spans: Vec<Span> = Vec::new();
    for point in points {
        let (p99_ns, max_ns) = (point.p99_ns.unwrap_or(0), point.max_ns.unwrap_or(0));
        let own_late_ns = point.own_late_max_ns.unwrap_or(0);
        let beside = |span: &&mut Span| {
            point.index.saturating_add(1) >= span.first
                && point.index <= span.last.saturating_add(1)
        };
        if let Some(span) = spans.iter_mut().find(beside) {
            span.first = span.first.min(point.index);
            span.last = span.last.max(point.index);
            span.max_ns = span.max_ns.max(max_ns);
            span.own_late_ns = span.own_late_ns.max(own_late_ns);
        } else if spans.len() < MOMENTS_MAX {
            let (first, last) = (point.index, point.index);
            spans.push(Span { first, last, p99_ns, max_ns, own_late_ns });
        }
    }
    workload::sort::sort_by_key(&mut spans, |span| span.first);
    spans
}

fn moment(run: &Run, span: &Span, dated: &mut Vec<JournalEntry>) -> Moment {
    let measurement = &run.measurement;
    let interval_ns = measurement.timeline.interval_ns;
    let from_ns = u64::from(span.first).saturating_mul(interval_ns);
    let to_ns = (u64::from(span.last) + 1).saturating_mul(interval_ns);
    // The slowest reply of the moment was due before it.
    let due_ns = from_ns.saturating_sub(span.max_ns);
    let mut causes = Vec::new();
    let started = measurement.started_at;
    for outage in &measurement.outages {
        if outage.from_ns < to_ns && outage.to_ns > due_ns {
            let name = crate::server_name(&run.plan, measurement, outage);
            let of = name.map_or("the server".to_owned(), escape);
            let (at, s) = (wall_clock(started, outage.from_ns), outage.length_ns() as f64 / 1e9);
            causes.push(format!("{of} answered nothing for {s:.2} s from {at} (outage)"));
        }
    }
    let mut found: Vec<(&ServerUse, &Journal, &JournalEntry)> = Vec::new();
    for server in &run.watched.servers {
        let Some(journal) = &server.journal else { continue };
        let at = |ns| at_unix_s(run, journal, ns);
        // Clocks of two programs agree to some milliseconds.
        let (from_s, to_s) = (at(due_ns) - 0.01, at(to_ns) + 0.01);
        let then = journal.entries.iter().filter(|e| e.from_s < to_s && e.to_s > from_s);
        found.extend(then.map(|entry| (server, journal, entry)));
    }
    // What held the server up for longest explains most.
    workload::sort::sort_by_key(&mut found, |(_, _, e)| {
        (rank(e.kind), std::cmp::Reverse((e.usec, e.count)))
    });
    let found = first_of_each_kind(found, |(_, _, entry)| *entry);
    let mut lines = Vec::new();
    for (server, journal, entry) in found {
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
        let noun = if run.plan.delivery.is_some() { "messages" } else { "requests" };
        causes.push(format!("keystorm itself sent {noun} up to {late} ms late"));
    }
    causes.extend(of_this_machine(run, due_ns, to_ns));
    Moment {
        at: wall_clock(started, from_ns),
        t_s: from_ns as f64 / 1e9,
        lasted_s: to_ns.saturating_sub(from_ns) as f64 / 1e9,
        p99_ms: span.p99_ns as f64 / 1e6,
        max_ms: span.max_ns as f64 / 1e6,
        causes,
    }
}

/// What this machine did in the time of a moment, where it is worth telling.
fn of_this_machine(run: &Run, from_ns: u64, to_ns: u64) -> Vec<String> {
    let Some(point) = machine_between(run, from_ns, to_ns) else { return Vec::new() };
    let waited = |who: &str, share: Option<f64>| {
        let waited_s = share? * point.lasted_s;
        let matters = share? >= WAITED_SHARE && waited_s >= WAITED_S;
        matters.then(|| format!("{who} waited {} for a CPU", duration(waited_s * 1e6)))
    };
    let stolen = point.stolen.filter(|share| *share >= STOLEN_SHARE).map(|share| {
        format!("the hypervisor gave {:.0} % of this machine's CPU time to others", share * 100.0)
    });
    let found = [
        waited("keystorm's threads", point.waited),
        waited("the server's threads", point.server_waited),
        stolen,
    ];
    found.into_iter().flatten().collect()
}

/// A moment of the run by the server's clock, in seconds since 1970.
pub(crate) fn at_unix_s(run: &Run, journal: &Journal, after_ns: u64) -> f64 {
    let start = run.measurement.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Times that were taken from the server's clock need no change.
    let ahead_s = if run.clock.is_some() { 0.0 } else { journal.ahead_s };
    start.as_secs_f64() + after_ns as f64 / 1e9 + ahead_s
}

/// What stops a server comes before what goes on beside it.
fn rank(kind: JournalKind) -> u8 {
    match kind {
        JournalKind::SlowCommand | JournalKind::Fork => 0,
        JournalKind::Latency => 1,
        JournalKind::LargeRequest | JournalKind::LargeReply => 2,
        JournalKind::Save | JournalKind::Rewrite | JournalKind::FullSync => 3,
        JournalKind::Eviction | JournalKind::Expiry | JournalKind::Connections => 4,
    }
}

/// The first entry of each kind before the others: what there is much of crowds out nothing else.
fn first_of_each_kind<E>(entries: Vec<E>, entry: impl Fn(&E) -> &JournalEntry) -> Vec<E> {
    let mut seen: Vec<(JournalKind, String)> = Vec::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for of in entries {
        let JournalEntry { kind, what, .. } = entry(&of);
        let of_kind = (*kind, what.split(' ').next().unwrap_or_default().to_uppercase());
        match seen.contains(&of_kind) {
            true => others.push(of),
            false => {
                seen.push(of_kind);
                first.push(of);
            }
        }
    }
    first.append(&mut others);
    first
}

/// An entry in words.
fn describe_entry(run: &Run, journal: &Journal, entry: &JournalEntry) -> String {
    let JournalEntry { kind, usec, count, what, client, .. } = entry;
    let took = usec.map_or(String::new(), |usec| duration(usec as f64));
    let number = count.unwrap_or(0);
    let by = if client.is_empty() { String::new() } else { format!(" by {}", escape(client)) };
    let what = escape(what);
    let ours_ahead_s = if run.clock.is_some() { 0.0 } else { journal.ahead_s };
    let clock = |unix_s: f64| {
        let after = Duration::try_from_secs_f64((unix_s - ours_ahead_s).max(0.0));
        let at = SystemTime::UNIX_EPOCH.checked_add(after.unwrap_or_default());
        wall_clock_s(at.unwrap_or(UNIX_EPOCH), 0)
    };
    // Of what is known to the second, the second in which it was entered.
    let ended = clock(entry.to_s - 1.0);
    let counted = |noun| counted(number, noun);
    let between = format!("between {} and {}", clock(entry.from_s), clock(entry.to_s));
    match kind {
        JournalKind::SlowCommand => format!("{what}{by} ran for {took} ({ended}, SLOWLOG)"),
        JournalKind::LargeRequest => {
            format!("{what}{by}: a request of {} ({ended})", counted("byte"))
        }
        JournalKind::LargeReply => format!("{what}{by}: a reply of {} ({ended})", counted("byte")),
        JournalKind::Latency => format!("latency event \"{what}\": {took} ({ended})"),
        JournalKind::Fork => {
            let why = if what.is_empty() { String::new() } else { format!(" for {what}") };
            format!("a fork{why} paused the server for {took} ({between})")
        }
        JournalKind::Save => {
            let from = clock(entry.from_s + 1.0);
            format!("a snapshot (RDB) was being written from about {from} to {ended}")
        }
        JournalKind::Rewrite => format!(
            "the append-only file was being rewritten from about {}",
            clock(entry.from_s + 1.0)
        ),
        JournalKind::Eviction => format!("{} evicted {between}", counted("key")),
        JournalKind::Expiry => format!("{} expired {between}", counted("key")),
        JournalKind::Connections => format!("{} opened {between}", counted("connection")),
        JournalKind::FullSync => {
            format!("the whole data set was sent to {} {between}", counted("replica"))
        }
    }
}

/// What a server recorded of something slow during a run.
pub(crate) struct SlowEvent {
    /// When it began at the earliest, in seconds from the start of the measured part.
    pub(crate) t_s: f64,
    /// How long it lasted.
    pub(crate) usec: u64,
    /// What, in a word.
    pub(crate) kind: String,
    /// What, in words.
    pub(crate) text: String,
}

/// Everything that the servers recorded of slow moments during a run.
pub(crate) fn recorded(run: &Run) -> Vec<SlowEvent> {
    let journals = run.watched.servers.iter().filter_map(|server| server.journal.as_ref());
    let of_journal = |journal| {
        let (from_s, to_s) =
            (at_unix_s(run, journal, 0), at_unix_s(run, journal, run.measurement.elapsed_ns));
        let during = move |e: &&JournalEntry| e.to_s > from_s && e.from_s < to_s;
        let entries = journal.entries.iter().filter(|e| e.usec.is_some()).filter(during);
        entries.map(move |entry| SlowEvent {
            t_s: entry.from_s - from_s,
            usec: entry.usec.unwrap_or_default(),
            kind: in_a_word(entry),
            text: describe_entry(run, journal, entry),
        })
    };
    journals.flat_map(of_journal).collect()
}

/// What an entry is of: the command, or the event.
fn in_a_word(entry: &JournalEntry) -> String {
    match entry.kind {
        JournalKind::Fork => "fork".to_owned(),
        JournalKind::Save => "snapshot".to_owned(),
        JournalKind::Rewrite => "rewrite".to_owned(),
        _ => escape(entry.what.split(' ').next().unwrap_or_default()),
    }
}

/// Microseconds in the unit that leaves them readable.
fn duration(usec: f64) -> String {
    match usec {
        us if us >= 1e6 => format!("{:.2} s", us / 1e6),
        us if us >= 1e3 => format!("{:.1} ms", us / 1e3),
        us => format!("{us:.0} µs"),
    }
}

/// What held a server up beside the moments that are listed: entries of its journal, and long calls of
/// commands that the load does not send and that no list holds.
fn besides(run: &Run, server: &ServerUse, is_shown: &[JournalEntry]) -> Vec<String> {
    let mut besides = Vec::new();
    let during = |journal: &Journal, entry: &JournalEntry| {
        let elapsed_ns = run.measurement.elapsed_ns;
        entry.to_s > at_unix_s(run, journal, 0)
            && entry.from_s < at_unix_s(run, journal, elapsed_ns)
    };
    let entries = server.journal.iter().flat_map(|journal| {
        let stops = |e: &&JournalEntry| {
            (rank(e.kind) == 0 || e.kind == JournalKind::Latency && !OF_ENTRIES.contains(&&*e.what))
                && e.usec.is_some_and(|usec| usec >= ENTRY_MIN_US)
        };
        let all = journal.entries.iter().filter(stops);
        all.filter(|e| during(journal, e) && !is_shown.contains(e)).map(move |e| (journal, e))
    });
    let mut entries: Vec<(&Journal, &JournalEntry)> = entries.collect();
    workload::sort::sort_by_key(&mut entries, |(_, entry)| std::cmp::Reverse(entry.usec));
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
                // What these take is the fork.
                JournalKind::Fork => ["bgsave", "bgrewriteaof"].contains(&name),
                _ => false,
            }
        })
    };
    for command in &server.by_command {
        let name = command.name.split('|').next().unwrap_or_default();
        let each = command.usec / command.calls.max(1);
        let known = ours.iter().any(|own| own == name) || LOOKS.contains(&name) || scripted;
        if known || each < CALL_MIN_US || listed(name) {
            continue;
        }
        let name = escape(command.name.to_uppercase().replace('|', " "));
        let calls = counted(command.calls, "call");
        let took = duration(each as f64);
        besides.push(match command.calls {
            1 => format!("another client's {name} ran for {took}, once, at an unknown time"),
            _ => format!("other clients' {name} ran for {took} on average, {calls}"),
        });
    }
    besides
}

/// What no server was able to tell, each once.
fn unseen(servers: &[ServerUse]) -> Vec<String> {
    let mut unseen: Vec<String> = Vec::new();
    for text in servers.iter().filter_map(|s| s.journal.as_ref()).flat_map(|j| &j.unseen) {
        let text = escape(text);
        if !unseen.contains(&text) {
            unseen.push(text);
        }
    }
    unseen
}

#[cfg(test)]
#[path = "moments_tests.rs"]
mod tests;
