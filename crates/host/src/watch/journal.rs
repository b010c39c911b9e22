//! A server's own record of its slow moments, with their times: `SLOWLOG`, `COMMANDLOG`, `LATENCY`, forks and
//! saves.
//!
//! Read before and after load runs, over the other probes' connections. Changes no setting of the server, and
//! reports monitors that are off.

use serde::{Deserialize, Serialize};
use wire::resp::Value;

use super::info::Info;
use super::sample::{ServerSample, now_s};
use super::settings::shown_settings;
use crate::{Client, Transport, printable};

/// A server's own record of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Journal {
    /// Slow moments, in order of time.
    pub entries: Vec<JournalEntry>,
    /// Gaps in the record, in words for a person: monitors that are off, or refused.
    pub unseen: Vec<String>,
    /// Seconds by which the server's clock was ahead of this machine's. Times of entries are the server's.
    pub ahead_s: f64,
}

/// An event in a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JournalEntry {
    /// Kind of the entry.
    pub kind: JournalKind,
    /// Earliest possible beginning, in seconds since 1970 by the server's clock.
    pub from_s: f64,
    /// Latest possible end.
    pub to_s: f64,
    /// Duration by the server's account, in microseconds.
    pub usec: Option<u64>,
    /// Number (of keys, clients) or size (in bytes).
    pub count: Option<u64>,
    /// The command with its first argument, or the event's name.
    pub what: String,
    /// Client that caused it: address, and name if it has one.
    pub client: String,
}

/// A kind of [`JournalEntry`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalKind {
    /// A command in `SLOWLOG`.
    #[default]
    SlowCommand,
    /// A command with a large request (`COMMANDLOG`); `count` is its size in bytes.
    LargeRequest,
    /// A command with a large reply (`COMMANDLOG`); `count` is its size in bytes.
    LargeReply,
    /// An event of the latency monitor.
    Latency,
    /// A process was forked.
    Fork,
    /// The data set was being saved.
    Save,
    /// The append-only file was being rewritten.
    Rewrite,
    /// Keys were evicted.
    Eviction,
    /// Keys expired.
    Expiry,
    /// Connections were opened.
    Connections,
    /// A replica got the whole data set.
    FullSync,
}

/// The state of the lists before the load.
#[derive(Debug, Clone, Default)]
pub(super) struct JournalMark {
    /// Number of the latest entry of `SLOWLOG`; `None` if it was empty or refused.
    slow: Option<i64>,
    /// Time of the mark, by this machine's clock.
    at_s: f64,
}

/// Number of entries requested from each list.
const ASKED: &[u8] = b"256";
/// Number of entries kept of each kind: the longest.
const KEPT_MAX: usize = 256;
/// Characters shown of a command's first argument.
const ARGUMENT_MAX: usize = 40;
/// Settings that show whether a monitor is on.
const MONITORS: [&str; 3] =
    ["slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold"];
/// Minimum number of connections opened between two samples that make an event.
const CONNECTIONS_MIN: u64 = 10;

type Server = Client<Transport>;

/// Marks the state of the lists; `None` if the server closes the connection or stays silent.
pub(super) fn mark(client: &mut Server) -> Option<JournalMark> {
    let latest = client.ask(&[b"SLOWLOG", b"GET", b"1"]).ok()?;
    let slow = latest.items().and_then(|all| all.first().and_then(first_number));
    Some(JournalMark { slow, at_s: now_s() })
}

/// The commands in a reply to `SLOWLOG GET`, without possible secrets.
pub fn slow_commands(reply: &Value) -> Vec<JournalEntry> {
    let all = reply.items().unwrap_or_default().iter();
    all.filter_map(|item| command(item, JournalKind::SlowCommand)).collect()
}

/// Reads the entries since the mark; `None` as for [`mark`].
pub(super) fn read(
    client: &mut Server,
    mark: &JournalMark,
    before: &Info,
    after: &Info,
) -> Option<Journal> {
    let mut journal = Journal { ahead_s: ahead_s(client)?, ..Journal::default() };
    let since_s = mark.at_s + journal.ahead_s;
    let settings = shown_settings(client, &MONITORS);
    let setting = |name: &str| -> Option<i64> {
        settings.iter().find(|(known, _)| known == name)?.1.parse().ok()
    };
    let mut entries = Vec::new();
    match (setting(MONITORS[0]), setting(MONITORS[1])) {
        (Some(usec), _) if usec < 0 => {
            journal.unseen.push("SLOWLOG is off (slowlog-log-slower-than -1)".to_owned());
        }
        (_, Some(0)) => journal.unseen.push("SLOWLOG is off (slowlog-max-len 0)".to_owned()),
        _ => match client.ask(&[b"SLOWLOG", b"GET", ASKED]) {
            Ok(reply) if reply.items().is_some() => {
                let known = mark.slow.unwrap_or(-1);
                let all = reply.items().unwrap_or_default();
                // Numbers of before a reset are no bound.
                entries.extend(
                    all.iter()
                        .filter(|item| first_number(item).is_some_and(|id| id > known))
                        .filter_map(|item| command(item, JournalKind::SlowCommand))
                        .filter(|entry| entry.to_s >= since_s),
                );
            }
            _ => journal.unseen.push("SLOWLOG was refused".to_owned()),
        },
    }
    match setting(MONITORS[2]) {
        Some(0) => journal
            .unseen
            .push("the latency monitor is off (latency-monitor-threshold 0)".to_owned()),
        _ => match latency_events(client, since_s) {
            Some(events) => entries.extend(events),
            None => journal.unseen.push("LATENCY was refused".to_owned()),
        },
    }
    if before.text("valkey_version").is_some_and(|version| at_least(version, 8, 1)) {
        for (which, kind) in [
            (&b"large-request"[..], JournalKind::LargeRequest),
            (b"large-reply", JournalKind::LargeReply),
        ] {
            let reply = client.ask(&[b"COMMANDLOG", b"GET", ASKED, which]).ok();
            let all = reply.as_ref().and_then(Value::items).unwrap_or_default();
            let found = all.iter().filter_map(|item| command(item, kind));
            entries.extend(found.filter(|entry| entry.to_s > since_s));
        }
    }
    entries.extend(children(before, after, since_s));
    journal.entries = longest(entries);
    Some(journal)
}

/// Derives entries from changes between samples, each within the second between two.
pub(super) fn between_samples(samples: &[ServerSample], ahead_s: f64) -> Vec<JournalEntry> {
    let mut entries = Vec::new();
    for pair in samples.windows(2) {
        let [old, new] = pair else { continue };
        let grown = |of: fn(&ServerSample) -> Option<u64>| {
            Some(of(new)?.saturating_sub(of(old)?)).filter(|n| *n > 0)
        };
        let entry = |kind, count| JournalEntry {
            kind,
            from_s: old.unix_s + ahead_s,
            to_s: new.unix_s + ahead_s,
            count: Some(count),
            ..JournalEntry::default()
        };
        if let Some(forks) = grown(|s| s.forks) {
            entries.push(JournalEntry { usec: new.fork_usec, ..entry(JournalKind::Fork, forks) });
        }
        if let Some(rewrites) = grown(|s| s.aof_rewrites) {
            // It goes on as long as samples see a child that writes.
            let mut later = samples.iter().filter(|sample| sample.unix_s >= new.unix_s);
            let ended = later.find(|sample| !sample.saving).or(samples.last());
            let to_s = ended.map_or(new.unix_s, |sample| sample.unix_s) + ahead_s;
            entries.push(JournalEntry { to_s, ..entry(JournalKind::Rewrite, rewrites) });
        }
        for (kind, count, least) in [
            (JournalKind::Eviction, grown(|s| s.evicted_keys), 1),
            (JournalKind::Expiry, grown(|s| s.expired_keys), 1),
            (JournalKind::Connections, grown(|s| s.connections), CONNECTIONS_MIN),
            (JournalKind::FullSync, grown(|s| s.full_syncs), 1),
        ] {
            entries.extend(count.filter(|n| *n >= least).map(|n| entry(kind, n)));
        }
    }
    entries
}

impl Journal {
    /// Adds events from samples. Forks and rewrites that these show are not listed twice.
    pub(super) fn add_samples(&mut self, samples: &[ServerSample]) {
        let found = between_samples(samples, self.ahead_s);
        for kind in [JournalKind::Fork, JournalKind::Rewrite] {
            if found.iter().any(|entry| entry.kind == kind) {
                self.entries.retain(|entry| entry.kind != kind);
            }
        }
        self.entries.extend(found);
        self.entries = longest(std::mem::take(&mut self.entries));
    }
}

/// Keeps the entries of each kind that were longest or most numerous, in order of time.
fn longest(mut entries: Vec<JournalEntry>) -> Vec<JournalEntry> {
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.usec, entry.count)));
    let mut kept: Vec<JournalEntry> = Vec::new();
    for entry in entries {
        if kept.iter().filter(|other| other.kind == entry.kind).count() < KEPT_MAX {
            kept.push(entry);
        }
    }
    kept.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    kept
}

/// Forks and the work of their children, as far as the time of the last of each is known.
fn children(before: &Info, after: &Info, since_s: f64) -> Vec<JournalEntry> {
    let grown = |name: &str| after.number(name) > before.number(name);
    let mut entries = Vec::new();
    let length = |name: &str| after.signed(name).filter(|s| *s >= 0).map(|s| s as f64);
    let ended = after.number("rdb_last_save_time").map(|s| s as f64);
    let current = length("rdb_current_bgsave_time_sec").filter(|_| after.saving());
    let now = now_s();
    let save = match (current, ended, length("rdb_last_bgsave_time_sec")) {
        (Some(s), ..) => Some((now - s - 1.0, now)),
        (None, Some(ended), Some(s)) if grown("rdb_last_save_time") && ended >= since_s - 1.0 => {
            Some((ended - s - 1.0, ended + 1.0))
        }
        _ => None,
    };
    if let Some((from_s, to_s)) = save {
        let usec = Some(((to_s - from_s - 1.0).max(0.0) * 1e6) as u64);
        entries.push(JournalEntry {
            kind: JournalKind::Save,
            from_s,
            to_s,
            usec,
            ..JournalEntry::default()
        });
        if grown("total_forks") || before.number("total_forks").is_none() {
            entries.push(JournalEntry {
                kind: JournalKind::Fork,
                from_s,
                to_s: (from_s + 2.0).min(to_s),
                usec: after.number("latest_fork_usec"),
                count: Some(1),
                what: "BGSAVE".to_owned(),
                ..JournalEntry::default()
            });
        }
    }
    let rewriting = length("aof_current_rewrite_time_sec").filter(|_| after.rewriting());
    if let Some(s) = rewriting {
        entries.push(JournalEntry {
            kind: JournalKind::Rewrite,
            from_s: now - s - 1.0,
            to_s: now,
            usec: Some((s * 1e6) as u64),
            ..JournalEntry::default()
        });
    }
    entries
}

/// Parses an entry of `SLOWLOG` or `COMMANDLOG`: number, second, amount, arguments, address, name.
fn command(item: &Value, kind: JournalKind) -> Option<JournalEntry> {
    let fields = item.items()?;
    let number = |at: usize| match fields.get(at) {
        Some(Value::Integer(n)) => u64::try_from(*n).ok(),
        _ => None,
    };
    let text = |at: usize| fields.get(at).and_then(Value::text).unwrap_or_default();
    let (second, amount) = (number(1)? as f64, number(2)?);
    let slow = kind == JournalKind::SlowCommand;
    let words: Vec<String> = fields.get(3)?.items()?.iter().filter_map(Value::text).collect();
    // It is entered when it has ended, in this second.
    let lasted_s = if slow { amount as f64 / 1e6 } else { 0.0 };
    let (address, name) = (text(4), text(5));
    let client = if name.is_empty() {
        printable(&address)
    } else {
        printable(format!("{address} ({name})"))
    };
    Some(JournalEntry {
        kind,
        from_s: second - lasted_s,
        to_s: second + 1.0,
        usec: slow.then_some(amount),
        count: (!slow).then_some(amount),
        what: shown(&words),
        client,
    })
}

/// A command without possible secrets and long arguments: its name and first argument.
fn shown(words: &[String]) -> String {
    let name = words.first().map(|word| word.to_uppercase()).unwrap_or_default();
    let first = words.get(1).filter(|_| !["AUTH", "HELLO"].contains(&name.as_str()));
    let Some(first) = first else { return printable(&name) };
    let mut argument: String = first.chars().take(ARGUMENT_MAX).collect();
    if argument.len() < first.len() {
        argument.push('…');
    }
    printable(format!("{name} {argument}"))
}

/// Reads the latency monitor's events since then; `None` if refused.
fn latency_events(client: &mut Server, since_s: f64) -> Option<Vec<JournalEntry>> {
    let latest = client.ask(&[b"LATENCY", b"LATEST"]).ok()?;
    let mut entries = Vec::new();
    for event in latest.items()? {
        let Some([name, Value::Integer(last), ..]) = event.items() else { continue };
        if (*last as f64) + 1.0 < since_s {
            continue;
        }
        let name = name.text().unwrap_or_default();
        let history = client.ask(&[b"LATENCY", b"HISTORY", name.as_bytes()]).ok()?;
        for one in history.items().unwrap_or_default() {
            let Some([Value::Integer(second), Value::Integer(ms)]) = one.items() else { continue };
            let (second, ms) = (*second as f64, u64::try_from(*ms).unwrap_or_default());
            if second + 1.0 > since_s {
                entries.push(JournalEntry {
                    kind: JournalKind::Latency,
                    from_s: second - ms as f64 / 1e3,
                    to_s: second + 1.0,
                    usec: Some(ms * 1000),
                    what: printable(&name),
                    ..JournalEntry::default()
                });
            }
        }
    }
    Some(entries)
}

/// Measures the seconds by which the server's clock is ahead of this machine's; 0 if unknown.
fn ahead_s(client: &mut Server) -> Option<f64> {
    let asked = now_s();
    let reply = client.ask(&[b"TIME"]).ok()?;
    let answered = now_s();
    let parts: Option<Vec<f64>> =
        reply.items().map(|parts| parts.iter().filter_map(|p| p.text()?.parse().ok()).collect());
    Some(match parts.as_deref() {
        Some([s, us]) => {
            let ahead = s + us / 1e6 - (asked + answered) / 2.0;
            // Less than the question took is nothing.
            if ahead.abs() <= (answered - asked) / 2.0 { 0.0 } else { ahead }
        }
        _ => 0.0,
    })
}

fn at_least(version: &str, major: u64, minor: u64) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= (major, minor)
}

fn first_number(item: &Value) -> Option<i64> {
    match item.items()?.first()? {
        Value::Integer(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
