//! Entries of a server's journal in words, on the run's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host::{Journal, JournalEntry, JournalKind};
use workload::quantity::counted;

use crate::quantity::time;
use crate::{Run, escape, wall_clock_s};

/// Time of a moment of the run on the server's clock, in seconds since 1970.
pub(crate) fn at_unix_s(run: &Run, journal: &Journal, after_ns: u64) -> f64 {
    let start = run.measurement.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Times that were taken from the server's clock need no change.
    let ahead_s = if run.clock.is_some() { 0.0 } else { journal.ahead_s };
    start.as_secs_f64() + after_ns as f64 / 1e9 + ahead_s
}

/// Ranks a kind of entry: events that stop a server come before those that do not.
pub(crate) fn rank(kind: JournalKind) -> u8 {
    match kind {
        JournalKind::SlowCommand | JournalKind::Fork | JournalKind::Latency => 0,
        JournalKind::LargeRequest | JournalKind::LargeReply => 1,
        JournalKind::Save | JournalKind::Rewrite | JournalKind::FullSync => 2,
        JournalKind::Eviction | JournalKind::Expiry | JournalKind::Connections => 3,
    }
}

/// An entry in words.
pub(crate) fn describe_entry(run: &Run, journal: &Journal, entry: &JournalEntry) -> String {
    let JournalEntry { kind, usec, count, what, client, .. } = entry;
    let took = usec.map_or(String::new(), |usec| time(usec as f64 / 1e6));
    let number = count.unwrap_or(0);
    let by = if client.is_empty() { String::new() } else { format!(" by {}", escape(client)) };
    let what = escape(what);
    let ours_ahead_s = if run.clock.is_some() { 0.0 } else { journal.ahead_s };
    let clock = |unix_s: f64| {
        let after = Duration::try_from_secs_f64((unix_s - ours_ahead_s).max(0.0));
        let at = SystemTime::UNIX_EPOCH.checked_add(after.unwrap_or_default());
        wall_clock_s(at.unwrap_or(UNIX_EPOCH), 0)
    };
    // Times are known to the second: the second of the entry.
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

/// A slow event that a server recorded during a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEvent {
    /// Earliest possible start, in seconds from the start of the measured part.
    pub t_s: f64,
    /// Length of the event, in microseconds.
    pub usec: u64,
    /// Kind of event in a word: a command, an event of the latency monitor, `fork`.
    pub kind: String,
    /// Description of the event.
    pub text: String,
}

/// All slow events that the servers recorded during a run.
pub(crate) fn recorded(run: &Run) -> Vec<ServerEvent> {
    let journals = run.watched.servers.iter().filter_map(|server| server.journal.as_ref());
    journals
        .flat_map(|journal| {
            let (from_s, to_s) =
                (at_unix_s(run, journal, 0), at_unix_s(run, journal, run.measurement.elapsed_ns));
            let entries = journal.entries.iter().filter(|e| e.usec.is_some());
            let entries = entries.filter(move |e| e.to_s > from_s && e.from_s < to_s);
            entries.map(move |entry| ServerEvent {
                t_s: entry.from_s - from_s,
                usec: entry.usec.unwrap_or_default(),
                kind: in_a_word(entry),
                text: describe_entry(run, journal, entry),
            })
        })
        .collect()
}

/// Returns the kind of an entry: the command, or the event.
fn in_a_word(entry: &JournalEntry) -> String {
    match entry.kind {
        JournalKind::Fork => "fork".to_owned(),
        JournalKind::Save => "snapshot".to_owned(),
        JournalKind::Rewrite => "rewrite".to_owned(),
        _ => escape(entry.what.split(' ').next().unwrap_or_default()),
    }
}
