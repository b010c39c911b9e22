//! Checks of the server's further work: threads, logs, watchers, and other clients' traffic.

use workload::quantity::counted;

use super::asked;
use crate::doctor::finding::{Outcome, Verdict};
use crate::doctor::{Evidence, SlowCommand};

pub(super) fn log_level(evidence: &Evidence) -> Verdict {
    let level = asked(evidence)?.setting("loglevel")?;
    let mend = "CONFIG SET loglevel notice";
    Ok(match level {
        "debug" => Outcome::bad(level, "the server writes lines about connections and keys", mend),
        "verbose" => Outcome::warn(level, "the server writes a line for each connection", mend),
        _ => Outcome::ok(level),
    })
}

pub(super) fn io_threads(evidence: &Evidence) -> Verdict {
    let threads = asked(evidence)?.number("io-threads")?;
    let seen = format!("{threads}");
    if threads <= 1 {
        return Ok(Outcome::ok(format!("{seen}: one CPU does all the work")));
    }
    if !evidence.location.is_here() {
        return Ok(Outcome::ok(seen));
    }
    let cpus = i64::from(super::known(&evidence.host.cpu.logical)?);
    let seen = format!("{threads} on {cpus} CPUs");
    let mend = format!("start the server with --io-threads {}", (cpus / 2).max(1));
    Ok(Outcome::ok(seen)
        .bad_if(
            threads > cpus,
            "more threads than CPUs: they wait for each other in turns of whole time slices",
            &mend,
        )
        .warn_if(threads == cpus, "no CPU is left for the client, which shares this machine", mend))
}

pub(super) fn maxclients(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let most = server.number("maxclients").or_else(|refused| {
        let info = server.info.as_ref().map_err(|_| refused)?;
        info.number("maxclients").map(|n| n as i64)
    })?;
    let needed = i64::from(evidence.load.connections);
    let others = match &server.clients {
        Ok(clients) => clients.others as i64,
        Err(_) if most < needed => 0,
        Err(reason) => {
            return Err(format!("{most}; the number of other clients is unknown: {reason}"));
        }
    };
    let seen = format!("{most}, {others} others connected");
    Ok(Outcome::ok(seen).bad_if(
        most < needed + others,
        format!("-c {needed} connections do not fit"),
        format!("CONFIG SET maxclients {}", needed + others + 64),
    ))
}

pub(super) fn monitors(evidence: &Evidence) -> Verdict {
    let clients = asked(evidence)?.clients.as_ref().map_err(Clone::clone)?;
    Ok(match clients.monitors {
        0 => Outcome::ok("none"),
        n => Outcome::bad(
            format!("{} in MONITOR", counted(n as u64, "client")),
            "every command is also written to each of them, which can halve throughput",
            "find them with CLIENT LIST (flags=O) and end them with CLIENT KILL ID",
        ),
    })
}

/// Commands per second of other clients.
const TRAFFIC_WARN: f64 = 10.0;
const TRAFFIC_BAD: f64 = 1000.0;

pub(super) fn traffic(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let traffic = server.traffic.as_ref().map_err(Clone::clone)?;
    let rate = traffic.commands as f64 / traffic.seconds.max(1e-3);
    let who = match &server.clients {
        Ok(clients) => {
            format!(", {} other clients ({} replicas)", clients.others, clients.replicas)
        }
        Err(_) => ", an unknown number of other clients".to_owned(),
    };
    let seen = format!("{rate:.0} commands per second{who}");
    Ok(of_others(rate, seen, "--spawn"))
}

/// Judges the load of other clients, in commands per second; `spawn` is the option that starts a private
/// server.
pub(super) fn of_others(rate: f64, seen: String, spawn: &str) -> Outcome {
    let why = "the server also works for other clients, and the keys may be theirs";
    let mend = format!("measure a private server, as keystorm {spawn} starts it");
    Outcome::graded(rate >= TRAFFIC_BAD, rate >= TRAFFIC_WARN, seen, why, &mend)
}

/// Threshold, in µs, below which a busy server logs ordinary commands.
const SLOWLOG_MIN_US: i64 = 1000;

/// Entries of a log by number.
fn logged(entries: u64) -> String {
    format!("{entries} {}", if entries == 1 { "entry" } else { "entries" })
}

/// Number of slow commands that are shown.
const SHOWN: usize = 3;

/// Returns whether a command ran long enough for other clients to notice.
fn is_slow(command: &SlowCommand) -> bool {
    command.ran.as_micros() >= SLOWLOG_MIN_US as u128
}

/// The slowest commands of a log, each with its duration and time.
fn slowest(commands: &[SlowCommand]) -> String {
    let shown = commands.iter().filter(|command| is_slow(command)).take(SHOWN).map(|command| {
        let ago = match command.ago.as_secs() {
            s @ ..120 => format!("{s} s"),
            s @ ..7200 => format!("{} min", s / 60),
            s => format!("{} h", s / 3600),
        };
        format!("{} {:.1} ms, {ago} ago", command.what, command.ran.as_secs_f64() * 1e3)
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { String::new() } else { format!("; slowest: {}", shown.join("; ")) }
}

pub(super) fn slowlog(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let entries = server.slowlog.clone();
    // Valkey has had both names since 8.1, where COMMANDLOG holds the log.
    let names = ["slowlog-log-slower-than", "commandlog-execution-slower-than"];
    let threshold =
        server.number(names[0]).or_else(|reason| server.number(names[1]).map_err(|_| reason));
    let mend = "CONFIG SET slowlog-log-slower-than 10000";
    let why = "commands that are not slow are copied into the log with their arguments";
    match (entries, threshold) {
        (Err(reason), Err(_)) => Err(reason),
        (Ok(entries), Err(reason)) => {
            Err(format!("{}; threshold unknown: {reason}", logged(entries)))
        }
        (entries, Ok(..0)) => Err(format!(
            "off (slowlog-log-slower-than -1): the server records no slow commands{}",
            entries
                .ok()
                .filter(|n| *n > 0)
                .map_or(String::new(), |n| format!("; {} from before", logged(n)))
        )),
        (entries, Ok(threshold)) => {
            let entries = entries
                .map_or_else(|reason| format!("an unknown number of entries ({reason})"), logged)
                + &slowest(&server.slow_commands);
            let is_slow = server.slow_commands.iter().any(is_slow);
            Ok(match threshold {
                ..=0 => Outcome::bad(format!("every command, {entries}"), why, mend),
                us if us < SLOWLOG_MIN_US => {
                    Outcome::warn(format!("from {us} µs, {entries}"), why, mend)
                }
                us if is_slow => Outcome::warn(
                    format!("from {us} µs, {entries}"),
                    "while one of them runs, all other commands wait, those of a test among them",
                    "SLOWLOG GET tells who sent them; keystorm impact --of mix tells what they cost others",
                ),
                us => Outcome::ok(format!("from {us} µs, {entries}")),
            })
        }
    }
}

pub(super) fn latency(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let events = server.latency_events.as_ref().map_err(Clone::clone)?;
    // Events from before the monitor was turned off stay in its list.
    if events.is_empty() {
        return match server.number("latency-monitor-threshold") {
            Ok(..=0) => {
                Err("off (latency-monitor-threshold 0): the server records no stalls".to_owned())
            }
            Ok(ms) => Ok(Outcome::ok(format!("no stalls of {ms} ms or more"))),
            Err(reason) => Err(format!("no events, but it may be off: {reason}")),
        };
    }
    let shown: Vec<String> =
        events.iter().map(|(event, ms)| format!("{event} up to {ms} ms")).collect();
    let now = match server.number("latency-monitor-threshold") {
        Ok(..=0) => "; the monitor is off now",
        _ => "",
    };
    Ok(Outcome::warn(
        shown.join(", ") + now,
        "the server recorded stalls; they will show in high percentiles",
        "LATENCY DOCTOR explains them; LATENCY RESET clears them",
    ))
}
