//! Stalls of servers during a run, by their own records: slow commands, forks and events of their latency
//! monitor, each with the span in which the client saw it.
//!
//! `SLOWLOG` and `LATENCY` give the second in which something ended. Its position within that second follows
//! from the responses that had to wait for it. Durations are in wall-clock time, and include the server's own
//! waits for a CPU.

use std::cmp::Reverse;

use host::{JournalEntry, JournalKind};

use super::noise_sources::Wait;
use super::responses::SpanResponses;
use crate::Run;
use crate::journal_entries::{at_unix_s, rank};

/// Stall of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stall<'r> {
    /// Entry that the server recorded.
    pub(crate) entry: &'r JournalEntry,
    /// Earliest start, in nanoseconds from the start of the measured part.
    pub(crate) from_ns: f64,
    /// Latest end, in nanoseconds from the start of the measured part.
    pub(crate) to_ns: f64,
    /// Duration.
    pub(crate) length_ns: f64,
}

/// Minimum length of a response that waited for a whole stall, relative to it: clocks and histograms differ a
/// little.
const SEEN: f64 = 0.9;
/// The client that `SLOWLOG` gives for a command within a script.
const SCRIPT: &str = "?:0";
/// Latency events of commands and forks, most of which have entries of their own.
const EVENTS_WITH_ENTRIES: [&str; 3] = ["command", "fast-command", "fork"];
/// Clocks of two programs agree to some milliseconds.
const CLOCKS_NS: f64 = 1e7;

/// Returns the entries that the servers recorded in a run, each once: a command within a script or
/// transaction of the same client is part of that entry, and a latency event is part of the entry for the
/// same thing.
pub(crate) fn stalls(run: &Run) -> Vec<Stall<'_>> {
    let elapsed_ns = run.measurement.elapsed_ns as f64;
    let mut all = Vec::new();
    for journal in run.watched.servers.iter().filter_map(|server| server.journal.as_ref()) {
        let start_s = at_unix_s(run, journal, 0);
        let of_journal = journal.entries.iter().filter(|e| rank(e.kind) == 0).filter_map(|entry| {
            Some(Stall {
                entry,
                from_ns: (entry.from_s - start_s) * 1e9,
                to_ns: (entry.to_s - start_s) * 1e9,
                length_ns: entry.usec? as f64 * 1e3,
            })
        });
        let mut of_journal: Vec<Stall<'_>> =
            of_journal.filter(|stall| stall.to_ns > 0.0 && stall.from_ns < elapsed_ns).collect();
        // Entries that may block others come before them.
        of_journal.sort_by_key(|Stall { entry, .. }| {
            (Reverse(entry.usec), entry.kind == JournalKind::Latency, !holds_others(entry))
        });
        let own = (0..of_journal.len())
            .filter(|at: &usize| !of_journal[..*at].iter().any(|of| of.holds(&of_journal[*at])));
        all.extend(own.map(|at| of_journal[at]));
    }
    all
}

/// Returns whether other commands run within this one.
fn holds_others(entry: &JournalEntry) -> bool {
    let name = entry.what.split(' ').next().unwrap_or_default();
    ["EVAL", "FCALL", "EXEC"].iter().any(|outer| name.starts_with(outer))
}

impl Stall<'_> {
    /// The command, `fork`, or the event.
    pub(crate) fn name(&self) -> String {
        let name = self.entry.what.split(' ').next().unwrap_or_default();
        match self.entry.kind {
            JournalKind::Fork => "fork".to_owned(),
            JournalKind::Latency => format!("{name} (LATENCY)"),
            _ => name.to_owned(),
        }
    }

    /// Returns whether `other`, which is no longer than this stall, is part of it, or another record of it.
    fn holds(&self, other: &Self) -> bool {
        let (outer, inner) = (self.entry, other.entry);
        let is_of_entry = |event: &JournalEntry| EVENTS_WITH_ENTRIES.contains(&&*event.what);
        let meets = self.from_ns < other.to_ns && self.to_ns > other.from_ns;
        match inner.kind {
            // Others of a second are parts of its longest, such as expire-del of expire-cycle.
            JournalKind::Latency => {
                let is_event = outer.kind == JournalKind::Latency;
                meets && is_event != is_of_entry(inner) && !is_of_entry(outer)
            }
            JournalKind::Fork => meets && outer.what.starts_with("BG"),
            _ => {
                holds_others(outer)
                    && !holds_others(inner)
                    && [outer.client.as_str(), SCRIPT].contains(&&*inner.client)
                    // It may have ended in the second before.
                    && other.to_ns <= self.to_ns
                    && other.to_ns > self.from_ns
            }
        }
    }

    /// The spans in which the client had responses that may have waited for the whole stall: they came after
    /// its end.
    fn seen_in<'s>(&self, spans: &'s [SpanResponses]) -> impl Iterator<Item = usize> + 's {
        let (to_ns, length_ns) = (self.to_ns, self.length_ns);
        let ended_ns = self.from_ns + length_ns;
        let sees = move |span: &SpanResponses| {
            (span.from_ns as f64) < to_ns + CLOCKS_NS
                && span.to_ns as f64 > ended_ns - CLOCKS_NS
                && span.max_ns() as f64 >= SEEN * length_ns
        };
        spans.iter().enumerate().filter(move |(_, span)| sees(span)).map(|(at, _)| at)
    }
}

/// Returns the span of each stall: the one whose longest response matches best the sum of this stall and
/// those already placed there. The longest are placed first.
pub(crate) fn places(stalls: &[Stall<'_>], spans: &[SpanResponses]) -> Vec<Option<usize>> {
    let mut covered_ns = vec![0.0; spans.len()];
    let mut places = vec![None; stalls.len()];
    let mut longest: Vec<usize> = (0..stalls.len()).collect();
    longest.sort_by(|a, b| stalls[*b].length_ns.total_cmp(&stalls[*a].length_ns));
    for which in longest {
        let stall = &stalls[which];
        let apart =
            |at: &usize| (spans[*at].max_ns() as f64 - covered_ns[*at] - stall.length_ns).abs();
        places[which] = stall.seen_in(spans).min_by(|a, b| apart(a).total_cmp(&apart(b)));
        if let Some(at) = places[which] {
            covered_ns[at] += stall.length_ns;
        }
    }
    places
}

/// Returns for each span the number of responses that waited `below_ns` or longer because of recorded stalls,
/// but no more than there were. The greatest possible effect of `waits` for a CPU is subtracted. `due`
/// returns the requests that wait in a number of nanoseconds of a stall, given the most that there were, and
/// `drain` is the time until those are answered, relative to the stall.
pub(super) fn beyond_by_record(
    run: &Run,
    spans: &[SpanResponses],
    below_ns: f64,
    waits: &[Wait],
    drain: f64,
    due: impl Fn(f64, f64) -> f64,
) -> Vec<u64> {
    let stalls = stalls(run);
    let over_ns: Vec<f64> =
        stalls.iter().map(|stall| (stall.length_ns - below_ns).max(0.0)).collect();
    let left_ns = without_waits(&stalls, spans, waits, over_ns.clone());
    let longest_ns = over_ns.iter().copied().fold(0.0, f64::max);
    let mut room: Vec<f64> = spans.iter().map(|span| span.beyond(below_ns) as f64).collect();
    let places = places(&stalls, spans);
    for (which, place) in places.into_iter().enumerate() {
        let Some(at) = place.filter(|_| left_ns[which] > 0.0) else { continue };
        let most_ns = if waits.is_empty() { over_ns[which] } else { longest_ns };
        let mut count = due(left_ns[which], most_ns);
        // The part that exceeds its span falls into the next.
        let to_ns = spans[at].to_ns as f64 + stalls[which].length_ns * drain;
        let near = spans[at..].iter().zip(&mut room[at..]);
        for (_, room) in near.take_while(|(span, _)| span.from_ns as f64 <= to_ns) {
            let taken = count.min(*room);
            *room -= taken;
            count -= taken;
        }
    }
    spans.iter().zip(room).map(|(span, room)| span.beyond(below_ns) - room.ceil() as u64).collect()
}

/// Returns the remaining length of stalls after subtracting waits that may have been within them: each wait
/// once, from the stall that ended first, which subtracts the most.
fn without_waits(
    stalls: &[Stall<'_>],
    spans: &[SpanResponses],
    waits: &[Wait],
    mut left_ns: Vec<f64>,
) -> Vec<f64> {
    // Wherever in its second it was.
    let window = |stall: &Stall<'_>| {
        let seen = || stall.seen_in(spans).map(|at| &spans[at]);
        let from_ns = seen().map(|span| span.from_ns).min()? as f64 - stall.length_ns;
        Some((from_ns, seen().map(|span| span.to_ns).max()? as f64))
    };
    let windows = stalls.iter().enumerate();
    let windows = windows.filter_map(|(which, stall)| Some((which, window(stall)?)));
    let mut windows: Vec<(usize, (f64, f64))> = windows.collect();
    windows.sort_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
    for wait in waits {
        let mut servers_ns = wait.servers_ns;
        let to_ns = wait.from_ns + wait.length_ns;
        let meeting = windows.iter().filter(|(_, (from, to))| *from < to_ns && *to > wait.from_ns);
        for (which, _) in meeting {
            let taken_ns = left_ns[*which].min(servers_ns);
            left_ns[*which] -= taken_ns;
            servers_ns -= taken_ns;
        }
    }
    left_ns
}
