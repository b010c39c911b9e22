//! A finding in words: the limit, its evidence, and one sentence of advice; and the same figures
//! for programs.

use host::BusyPart;

use super::grounds::{Grounds, Outages};
use super::rules::Finding;
use super::{Evidence, Verdict};
use crate::escape;

/// The verdict of a finding.
pub(super) fn verdict(finding: Finding, grounds: &Grounds) -> Verdict {
    let (what, advice) = (what(finding, grounds), advice(finding, grounds));
    // Names of devices and words of servers are others' text.
    let text = escape(format!("{what}; {advice}"));
    Verdict { limited_by: finding.limit(), text, evidence: evidence(grounds) }
}

fn what(finding: Finding, grounds: &Grounds) -> String {
    let (server, client) = (server(grounds), client(grounds));
    match finding {
        Finding::Errors if grounds.broken_off => {
            format!("errors: an error ended the test after {} requests", grounds.requests)
        }
        Finding::Errors => {
            let asked = grounds.asked();
            let share = percent(grounds.failed as f64 / asked as f64);
            format!("errors: {share} of {asked} requests were refused or lost")
        }
        Finding::Outage => outage(grounds),
        Finding::Nothing => "not known: nothing was measured".to_owned(),
        Finding::Short => format!("not known: the load lasted {}", time(grounds.load_s)),
        Finding::ScheduleKept => {
            let rate = count(grounds.schedule.map_or(0.0, |s| s.target_rps));
            let late = grounds.schedule.map_or(0.0, |s| s.missed_share);
            let but = match late > 0.0 {
                true => format!(" ({} of them late)", percent(late)),
                false => String::new(),
            };
            format!("schedule: the {rate}/s asked for were sent{but} and answered; {server}")
        }
        Finding::ScheduleLate => {
            let late = time(grounds.schedule.map_or(0.0, |s| s.late_s));
            format!(
                "schedule: the rate was kept over the whole test, but requests were sent {late} \
                 late on average, and nobody was short of CPU ({server}, {client})"
            )
        }
        Finding::ScheduleMissed => {
            let room = match grounds.schedule.is_some_and(|s| s.own_fault) {
                true => "although connections had room",
                false => "since all connections waited for replies",
            };
            format!("schedule: {}, {room}; {server}, {client}", shortfall(grounds))
        }
        Finding::SharedCpu => format!(
            "client: it shares a CPU with the server{}; {server}, {client}",
            missed(grounds)
        ),
        Finding::Server => format!("server: {server}{}, {}", missed(grounds), spare(grounds)),
        Finding::ServerCrowded => format!(
            "server: {server}, which something else used{}; {}",
            missed(grounds),
            spare(grounds)
        ),
        Finding::ServerBlocked => {
            let executing = percent(grounds.executing.unwrap_or(0.0));
            format!(
                "server: it spent {executing} of the time in commands, with {server}{}",
                missed(grounds)
            )
        }
        Finding::Client => format!("client: {client}{} while {server}", missed(grounds)),
        Finding::ClientCrowded => {
            format!("client: {client}, which something else used{}; {server}", missed(grounds))
        }
        Finding::LinkFull => {
            let (share, device) = grounds.link.clone().unwrap_or_default();
            format!("network: {device} is {} full{}", percent(share), missed(grounds))
        }
        Finding::Between => format!(
            "network: neither end was busy ({server}, {client}), and a reply took {} where a \
             round trip without load takes {}, at {} MB/s{}",
            time(grounds.service_s.unwrap_or(0.0)),
            time(grounds.round_trip_s.unwrap_or(0.0)),
            megabytes(grounds.bytes_per_s),
            missed(grounds)
        ),
        Finding::Concurrency => format!(
            "concurrency: {:.1} requests in flight on average leave both ends idle at times; \
             {server}, {client}{}",
            grounds.in_flight(),
            missed(grounds)
        ),
        Finding::Disk => format!(
            "not known: nobody was short of CPU ({server}, {client}), but the server answers a \
             write only when it is on disk (appendfsync always)"
        ),
        Finding::Blocking => format!(
            "not known: {} may wait for something other than the server's CPU; {server}, {client}",
            grounds.blocking.clone().unwrap_or_default()
        ),
        Finding::Unseen => format!("not known: {client}, and {server}"),
        Finding::Unclear => format!("not known: {server}, {client}"),
    }
}

fn outage(grounds: &Grounds) -> String {
    let Some(Outages { count, total_s, node }) = &grounds.outages else { return String::new() };
    let on = node.as_ref().map_or(String::new(), |name| format!(" on {name}"));
    let of = if *count == 1 { String::new() } else { format!(", in {count} outages") };
    format!(
        "errors: nothing succeeded{on} for {total_s:.2} s of {:.2} s{of}; {} requests failed",
        grounds.load_s, grounds.failed
    )
}

fn advice(finding: Finding, grounds: &Grounds) -> String {
    match finding {
        Finding::Errors => "look at the errors first, since other figures mean little".to_owned(),
        Finding::Outage => {
            "judge by the outages: rates and latencies of the whole test mix two states".to_owned()
        }
        Finding::Nothing => "see why above".to_owned(),
        Finding::Short => "run longer (-n or --duration) to tell".to_owned(),
        Finding::ScheduleKept => "a higher --rps shows what it can take".to_owned(),
        Finding::ScheduleLate => {
            "look at the slowest replies: the server, or what is on the way, stood still at times"
                .to_owned()
        }
        Finding::ScheduleMissed => {
            "see whether something stops this client or the server at times".to_owned()
        }
        Finding::SharedCpu => {
            "give each its own CPU (--cpus, --server-cpus, taskset) or use another machine \
             for the client"
                .to_owned()
        }
        Finding::Server => {
            "this is what the server can do with these commands on this CPU".to_owned()
        }
        Finding::ServerCrowded => {
            "stop what else runs there, or give the server a CPU of its own".to_owned()
        }
        Finding::ServerBlocked => {
            "see what keeps it: disk, swapping, a CPU quota, or commands that sleep".to_owned()
        }
        Finding::Client => more_client(grounds),
        Finding::ClientCrowded => {
            "stop what else runs on this machine, or pin the workers to free CPUs (--cpus)"
                .to_owned()
        }
        Finding::LinkFull => "smaller values or a faster link would show the server".to_owned(),
        Finding::Between => {
            "see what is between them: the link's bandwidth, a proxy, or a CPU quota of the \
             server's container"
                .to_owned()
        }
        Finding::Concurrency => "use more connections (-c) or deeper pipelines (-P)".to_owned(),
        Finding::Disk => "see whether the disk is the limit".to_owned(),
        Finding::Blocking => "judge by the latency of what it waits for".to_owned(),
        Finding::Unseen => {
            "look at the server's CPU there, or let this user call INFO, to tell".to_owned()
        }
        Finding::Unclear => "repeat the test, longer, to tell".to_owned(),
    }
}

/// How to get more out of the client.
fn more_client(grounds: &Grounds) -> String {
    let taken = grounds.workers + usize::from(grounds.server_here);
    match grounds.cpus {
        Some(cpus) if cpus <= taken => "this machine has no CPU for another worker, so use deeper \
             pipelines (-P) or a second machine"
            .to_owned(),
        _ if grounds.connections <= grounds.workers as u64 => {
            "add connections (-c) and --threads".to_owned()
        }
        _ => "add --threads".to_owned(),
    }
}

/// How busy the server was.
fn server(grounds: &Grounds) -> String {
    let Some(busy) = grounds.server else {
        return match &grounds.unseen {
            Some(why) => format!("the server's CPU is not known ({why})"),
            None => "the server's CPU is not known (its INFO does not tell)".to_owned(),
        };
    };
    let of = if grounds.servers > 1 { "busiest server's " } else { "" };
    let part = match busy.part {
        BusyPart::MainThread => "main thread",
        BusyPart::Process => "server process",
        BusyPart::Threads => "server threads",
    };
    format!("{of}{part} {} busy{}", percent(busy.cpu), waited(busy.wait))
}

/// How busy the client was.
fn client(grounds: &Grounds) -> String {
    let Some(busy) = grounds.client else {
        return "the client's CPU is not known".to_owned();
    };
    let who = if grounds.workers > 1 { "busiest worker" } else { "worker" };
    format!("{who} {} busy{}", percent(busy.cpu), waited(busy.wait))
}

/// Below a hundredth, waiting is not worth a word.
fn waited(share: f64) -> String {
    if share < 0.01 {
        return String::new();
    }
    format!(" and {} of the time waiting for a CPU", percent(share))
}

fn spare(grounds: &Grounds) -> String {
    match grounds.client {
        Some(busy) => format!("client had {} to spare", percent(1.0 - busy.cpu - busy.wait)),
        None => client(grounds),
    }
}

/// `, so the schedule was missed (…)` of an open loop, and nothing of a closed one.
fn missed(grounds: &Grounds) -> String {
    grounds.schedule.map_or(String::new(), |_| format!(", so {}", shortfall(grounds)))
}

fn shortfall(grounds: &Grounds) -> String {
    let Some(schedule) = grounds.schedule else { return String::new() };
    let (achieved, target) = (count(grounds.achieved_rps), count(schedule.target_rps));
    let late = time(schedule.late_s);
    format!("{achieved} of {target}/s were answered, sent {late} late on average")
}

fn evidence(grounds: &Grounds) -> Vec<Evidence> {
    let of = |name: &str, value: Option<f64>, unit: &str| {
        value.filter(|value| value.is_finite()).map(|value| Evidence {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
        })
    };
    let part = match grounds.server.map(|busy| busy.part) {
        Some(BusyPart::Process) => "server_process_busy",
        Some(BusyPart::Threads) => "server_threads_busy",
        _ => "server_main_thread_busy",
    };
    let asked = grounds.asked() as f64;
    let schedule = grounds.schedule;
    [
        of(part, grounds.server.map(|busy| busy.cpu), "share"),
        of(
            "server_waiting_for_cpu",
            grounds.server.filter(|_| grounds.server_here).map(|busy| busy.wait),
            "share",
        ),
        of("server_executing", grounds.executing, "share"),
        of("client_worker_busy", grounds.client.map(|busy| busy.cpu), "share"),
        of("client_waiting_for_cpu", grounds.client.map(|busy| busy.wait), "share"),
        of("link_full", grounds.link.as_ref().map(|(share, _)| *share), "share"),
        of("payload", Some(grounds.bytes_per_s), "bytes_per_second"),
        of("service_time_mean", grounds.service_s, "seconds"),
        of("idle_round_trip", grounds.round_trip_s, "seconds"),
        of("service_time_explained", grounds.explained(), "share"),
        of("in_flight_mean", Some(grounds.in_flight()), "count"),
        of("in_flight_max", Some(grounds.slots as f64), "count"),
        of("rate_asked", schedule.map(|s| s.target_rps), "per_second"),
        of("rate_achieved", Some(grounds.achieved_rps), "per_second"),
        of("send_late_mean", schedule.map(|s| s.late_s), "seconds"),
        of("sent_too_late", schedule.map(|s| s.missed_share), "share"),
        of("failed", (asked > 0.0).then(|| grounds.failed as f64 / asked), "share"),
        of("outages", grounds.outages.as_ref().map(|o| o.total_s), "seconds"),
        of("load", Some(grounds.load_s), "seconds"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A share as `97 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share.clamp(0.0, 1.0) * 100.0;
    if percent > 0.0 && percent < 1.0 { "less than 1 %".into() } else { format!("{percent:.0} %") }
}

/// A time with the unit that suits it.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.001 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}

/// A number with commas between thousands.
pub(super) fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!(count(0.0), "0");
        assert_eq!(count(999.6), "1,000");
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.004), "less than 1 %");
        assert_eq!(percent(0.994), "99 %");
        assert_eq!([time(2.0), time(0.0125), time(0.00005)], ["2.00 s", "12.50 ms", "50 µs"]);
    }
}
