//! Events that spoil a measurement: actions of a server, or effects on it, beside the load.
//!
//! Owns the thresholds and words of warnings. No warning changes a figure.

use std::time::{Duration, UNIX_EPOCH};

use host::{JournalKind, ServerUse, WatchRecord};
use measure::{Ending, Measurement, NodeTally};
use workload::{Arg, CommandSpec, Plan};

use super::memcache;
use super::misses::{misses, moving_hit_ratio};
use super::new_connections::beyond_backlog;
use super::no_receiver::no_receiver;
use super::not_reopened::not_reopened;
use super::{Warning, WarningKind, drift, evidence};
use crate::quantity::{grouped, many, percent, time};
use crate::{connections, deliveries, wall_clock_s};

/// Share of our commands, or of the time, from which other clients matter.
const OTHERS_SHARE: f64 = 0.01;
/// Minimum number of other clients' commands that matter; fewer are a health check.
const OTHERS_MIN: u64 = 10;
/// Share of stolen CPU time from which results differ from one run to the next.
const STOLEN_SHARE: f64 = 0.05;
/// Resident memory relative to the data below which a process has pages swapped out; small processes may
/// round.
const RESIDENT_SHARE: f64 = 0.9;
const RESIDENT_MIN_BYTES: u64 = 64 << 20;

/// Default size of a value.
const VALUE_DEFAULT_BYTES: u64 = 3;

/// Commands that our own connections, monitoring and replication send beside any load.
pub(crate) const HOUSEKEEPING: [&str; 17] = [
    "asking",
    "auth",
    "client",
    "cluster",
    "command",
    "commandlog",
    "config",
    "hello",
    "info",
    "latency",
    "psync",
    "quit",
    "readonly",
    "replconf",
    "select",
    "slowlog",
    "time",
];

/// All warnings about a run.
pub fn warnings(plan: &Plan, measurement: &Measurement, watched: &WatchRecord) -> Vec<Warning> {
    let memcache = plan.protocol.is_memcache();
    let mut found: Vec<Warning> = watched
        .servers
        .iter()
        .flat_map(|server| of_server(server, if memcache { memcache::BOUNDS } else { BOUNDS }))
        .collect();
    // In a run of several processes, the other clients are their own.
    let others = plan.load.shard.is_whole().then(|| others(plan, measurement, watched)).flatten();
    let new = |kind, text: Option<String>| text.map(|text| Warning::new(kind, text));
    let about = |kind, (name, text): (String, String)| Warning::about(kind, name, text);
    found.extend(new(WarningKind::OtherClients, others));
    let stolen = watched.stolen.filter(|share| *share >= STOLEN_SHARE);
    let stolen = stolen.map(|share| {
        format!("the hypervisor gave {} of this machine's CPU time to others", percent(share))
    });
    found.extend(new(WarningKind::Stolen, stolen));
    let gone = not_reopened(measurement).into_iter();
    found.extend(gone.map(|named| about(WarningKind::NotReopened, named)));
    found.extend(new(WarningKind::Backlog, beyond_backlog(measurement)));
    found.extend(new(WarningKind::SharedCpu, evidence::shared_cpus(plan, measurement, watched)));
    found.extend(new(WarningKind::Drift, drift::drift(plan, measurement)));
    let missed = misses(plan, measurement);
    let moving = missed.is_none().then(|| moving_hit_ratio(plan, measurement)).flatten();
    found.extend(missed.map(|named| about(WarningKind::Misses, named)));
    found.extend(new(WarningKind::HitRatio, moving));
    found.extend(new(WarningKind::NoReceiver, no_receiver(plan)));
    found.extend(new(WarningKind::KeysKept, deliveries::keys_kept(plan, measurement)));
    found.extend(new(WarningKind::ValueSize, value_size(plan, measurement)));
    found.extend(new(WarningKind::OptionSent, option_sent(plan, measurement)));
    if memcache {
        found.extend(new(WarningKind::PipelineCut, memcache::cut(plan, watched)));
        found.extend(new(WarningKind::RepliesApart, memcache::gets_warning(plan, watched)));
    }
    found
}

/// Warns about returned values of another size. Without a size in the plan, the size of its own values is
/// expected, so values of other programs cause no warning.
fn value_size(plan: &Plan, measurement: &Measurement) -> Option<String> {
    let read = crate::other_value_size(plan, measurement);
    let read = read.filter(|_| plan.data.payload_bytes != VALUE_DEFAULT_BYTES)?;
    Some(format!(
        "the values that were read have {}, not {} (-d): they were stored before; write them anew, \
         such as with --fill",
        many(read.round() as u64, "byte"),
        many(plan.data.payload_bytes, "byte")
    ))
}

/// The warning about a refused command that contains a word which looks like an option; unescaped.
pub fn option_sent(plan: &Plan, measurement: &Measurement) -> Option<String> {
    let different = plan.different_commands().commands;
    let refused = different.iter().zip(&measurement.total.commands);
    let mut refused = refused.filter(|(_, tally)| tally.errors > 0 && tally.ok == 0);
    let option = |command: &&CommandSpec| {
        let words = command.args.iter().skip(1).filter_map(Arg::fixed_bytes);
        let mut options = words.filter(|word| {
            let name = word.strip_prefix(b"--").or_else(|| word.strip_prefix(b"-"));
            name.and_then(<[u8]>::first).is_some_and(u8::is_ascii_alphabetic)
        });
        options.next().map(|word| String::from_utf8_lossy(&word).into_owned())
    };
    refused.find_map(|(command, _)| {
        let option = option(command)?;
        let name = command.name();
        Some(format!(
            "{option} follows {name}, so it was sent to the server, which refused that; options of \
             keystorm stand before the command"
        ))
    })
}

/// Names of the bounds of Redis and Valkey.
const BOUNDS: [&str; 2] = ["maxmemory", "maxclients, or protected mode"];

fn of_server(server: &ServerUse, [memory, limit]: [&str; 2]) -> Vec<Warning> {
    let some = |figure: Option<u64>| figure.filter(|n| *n > 0);
    let fork = some(server.fork_usec).map_or(String::new(), |usec| {
        let at = forked_at(server).map_or(String::new(), |at| format!(" at about {at} UTC"));
        format!("; the fork paused it for {}{at}", time(usec as f64 / 1e6))
    });
    let mut found = Vec::new();
    let mut warn = |kind, text: String| found.push(Warning::new(kind, text));
    if server.saved == Some(true) {
        warn(WarningKind::Saved, format!("the server took a snapshot during the test{fork}"));
    }
    if server.rewrote == Some(true) {
        let text = format!("the server rewrote its append-only file during the test{fork}");
        warn(WarningKind::Rewrote, text);
    }
    if let Some(clients) = some(server.monitors) {
        let use_it = if clients == 1 { "client uses" } else { "clients use" };
        let text = format!("{clients} {use_it} MONITOR, which slows every command down");
        warn(WarningKind::Monitored, text);
    }
    if let Some(keys) = some(server.evicted_keys) {
        let keys = many(keys, "key");
        let text = format!("the server evicted {keys} to stay below {memory}");
        warn(WarningKind::Evicted, text);
    }
    if let Some(text) = swapped(server) {
        warn(WarningKind::Swapped, text);
    }
    if let Some(clients) = some(server.rejected_connections) {
        let who = many(clients, "client");
        warn(WarningKind::Rejected, format!("the server turned {who} away ({limit})"));
    }
    let changed = server.settings.iter().filter_map(|setting| {
        let (name, old, new) = (&setting.name, setting.changed_from.as_ref()?, &setting.value);
        let text =
            format!("the server's {name} was changed during the test from \"{old}\" to \"{new}\"");
        Some(Warning::about(WarningKind::SettingChanged, name, text))
    });
    found.extend(changed);
    found
}

/// Returns the time of the server's last fork by this machine's clock, to a second or two.
fn forked_at(server: &ServerUse) -> Option<String> {
    let journal = server.journal.as_ref()?;
    let forks = journal.entries.iter().filter(|entry| entry.kind == JournalKind::Fork);
    let last = forks.max_by(|a, b| a.from_s.total_cmp(&b.from_s))?;
    let unix_s = f64::midpoint(last.from_s, last.to_s) - journal.ahead_s;
    let after = Duration::try_from_secs_f64(unix_s).ok()?;
    Some(wall_clock_s(UNIX_EPOCH.checked_add(after)?, 0))
}

/// Warns about swapped pages: the kernel reports those of a local server; a remote one holds less memory than
/// its data takes.
fn swapped(server: &ServerUse) -> Option<String> {
    if let Some(bytes) = server.swap_bytes {
        let grown = server.swap_grown_bytes.unwrap_or(0);
        return (bytes > 0).then(|| {
            format!(
                "{} MB of the server's memory is swapped out, {} MB of it during the test",
                grouped(bytes as f64 / 1e6),
                grouped(grown as f64 / 1e6)
            )
        });
    }
    let (rss, used) = (server.memory_rss_bytes?, server.memory_after_bytes?);
    let missing = used >= RESIDENT_MIN_BYTES && (rss as f64) < RESIDENT_SHARE * used as f64;
    missing.then(|| {
        format!(
            "the server seems to be swapping: of {} MB in use, only {} MB is in memory",
            grouped(used as f64 / 1e6),
            grouped(rss as f64 / 1e6)
        )
    })
}

/// Describes the work of other clients, if it is enough to matter.
pub(super) fn others(
    plan: &Plan,
    measurement: &Measurement,
    watched: &WatchRecord,
) -> Option<String> {
    if plan.protocol.is_memcache() {
        return memcache::others(plan, measurement, watched, OTHERS_MIN, OTHERS_SHARE);
    }
    let ours: Vec<String> = plan.sequence.iter().map(|c| c.name().to_lowercase()).collect();
    // The commands of a script are counted by their own names.
    if ours.iter().any(|name| name.starts_with("eval") || name.starts_with("fcall")) {
        return None;
    }
    let (mut calls, mut usec, mut shared) = (0, 0, 0u64);
    let receivers = plan.own_receivers().map_or(&[][..], |of| of.kind.receiver_commands());
    // A replica in a cluster executes the commands of its master, not of a client.
    let clustered = plan.target.cluster.is_some();
    let clients_of = |server: &&ServerUse| !(clustered && server.replica == Some(true));
    for command in watched.servers.iter().filter(clients_of).flat_map(|s| &s.by_command) {
        let name = command.name.split('|').next().unwrap_or_default();
        if HOUSEKEEPING.contains(&name) || receivers.contains(&name) {
            // Our own queries of the server are among them, even if the load sends the same command.
            continue;
        }
        if ours.iter().any(|own| own == name) {
            shared += command.calls;
        } else {
            calls += command.calls;
            usec += command.usec;
        }
    }
    let total = &measurement.total;
    let gone = &total.connections;
    let gone = [gone.unanswered, gone.lost, gone.timed_out];
    let mut sent =
        gone.into_iter().fold(deliveries::answered(plan, measurement), u64::saturating_add);
    // A node counts the commands that it redirected, too.
    let redirects: u64 = measurement.nodes.iter().map(NodeTally::redirects).sum();
    sent += redirects * ours.len() as u64;
    if measurement.ending != Ending::Complete {
        // Requests in flight at the end were executed, but not counted here.
        let concurrency = &plan.load.concurrency;
        sent += connections::count(plan, measurement)
            * u64::from(concurrency.pipeline_depth)
            * ours.len() as u64;
    }
    // Requests of a warm-up, and of other shares of the plan, are in the server's count only.
    // No figure counts requests of a source that wait for other clients.
    if plan.load.warmup_ns == 0 && plan.load.shard.is_whole() && !plan.has_source() {
        calls += shared.saturating_sub(sent);
    }
    let wall_ns = measurement.workers.iter().map(|worker| worker.wall_ns).max().unwrap_or(0);
    let often = calls >= OTHERS_MIN && calls as f64 >= OTHERS_SHARE * sent as f64;
    let long = usec as f64 * 1e3 >= OTHERS_SHARE * wall_ns as f64 && usec > 0;
    (often || long).then(|| {
        format!(
            "other clients sent {} during the test (ours were {})",
            many(calls, "command"),
            grouped(sent as f64)
        )
    })
}

#[cfg(test)]
#[path = "warnings_tests.rs"]
mod tests;
