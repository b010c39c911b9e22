//! Findings in words: the limit, its evidence, and one sentence of advice; also the same figures for
//! programs.

use host::BusyPart;

use super::advice::advice;
use super::causes::waited;
use super::disturbance::figure;
use super::evidence::{Crowd, Evidence, Outages, ServerSide};
use super::rules::{ERRORS_SHARE, Finding, UNREAD};
use super::threads::{HELD, ThreadUse};
use super::wait_causes::Causes;
use super::{EvidenceFigure, Verdict};
use crate::escape;
use crate::outages::only_waited;
use crate::quantity::{grouped, many, megabytes, percent, time};
use crate::schedule::Fault;

/// The verdict of a finding.
pub(super) fn verdict(finding: Finding, evidence: &Evidence) -> Verdict {
    // Names of devices and words of servers are others' text.
    let statement = escape(what(finding, evidence) + &waited(finding, evidence));
    let advice = escape(advice(finding, evidence).to_string());
    let figures = figures(evidence);
    let causes = evidence.causes.clone();
    Verdict { causes, ..Verdict::new(finding.limit(), Some(finding), statement, advice, figures) }
}

/// The evidence for a finding, without the limit that it names.
fn what(finding: Finding, evidence: &Evidence) -> String {
    let (server, client) = (server(evidence, "server "), client(evidence, "client "));
    let so = so(evidence);
    // Where the class of the finding names whose thread it is.
    let (server_thread, client_thread) = (self::server(evidence, ""), self::client(evidence, ""));
    let (others, unread) = (others(evidence), percent(evidence.unread()));
    let stamped = evidence.stamped_noun();
    match finding {
        Finding::Errors => errors(evidence),
        Finding::Outage => outage(evidence),
        Finding::Absence => format!("{}{so}; {server}", absence(evidence)),
        Finding::Nothing => "nothing was measured".to_owned(),
        Finding::Short => format!("the load lasted {}", time(evidence.load_s)),
        Finding::ScheduleKept => format!("{}; {server}{}", kept(evidence), unread_p99(evidence)),
        Finding::ScheduleMissed => {
            format!("{}{}; {server}, {client}", shortfall(evidence), room(evidence))
        }
        Finding::ScheduleBehind => {
            format!("requests were sent on time, but {}; {server}, {client}", behind(evidence))
        }
        Finding::EachOther => {
            format!("client and server took each other's CPU{so}; {server}, {client}")
        }
        Finding::SlowCommands => {
            let sentence = |causes: &Causes| causes.sentence(evidence.of_messages);
            let causes = evidence.causes.as_ref().map_or(String::new(), sentence);
            format!("its own slow commands: {causes}{so}; {server}, {client}")
        }
        Finding::ServerStarved => format!("{server} that {others} used{so}; {client}"),
        Finding::ClientStarved => format!("{client} that {others} used{so}; {server}"),
        Finding::Stolen => {
            let stolen = percent(evidence.stolen);
            format!(
                "the hypervisor gave {stolen} of this machine's CPU time to others{so}; {server}, {client}"
            )
        }
        Finding::Server => format!("{server_thread}{so}, {}", spare(evidence)),
        Finding::ServerQuota => format!("{server_thread}{so}; {client}"),
        Finding::ServerThreads => format!("{}; {server_thread}{so}; {client}", crowd(evidence)),
        Finding::ServerBlocked => {
            let executing = percent(evidence.executing.unwrap_or(0.0));
            format!("it spent {executing} of the time in commands, with {server}{so}")
        }
        Finding::ServerPolls => format!(
            "{server}, but its threads poll and it does not report how much of that was work; {client}{so}"
        ),
        Finding::Client => format!("{client_thread}{so} while {server}"),
        Finding::ClientQuota => format!("{client_thread}{so}; {server}"),
        Finding::ClientReads => format!(
            "{stamped} lay unread in this kernel for {unread} of the time{so}; {server}, {client}"
        ),
        Finding::LinkFull => {
            let (share, device) = evidence.link.clone().unwrap_or_default();
            format!("{device} is {} full{so}", percent(share))
        }
        Finding::Between => {
            format!("neither end was busy ({server}, {client}), but {}{so}", between(evidence))
        }
        Finding::Backlog => format!("{}: {server}, {client}", heaped_up(evidence)),
        Finding::Concurrency
        | Finding::Turns
        | Finding::Disturbed
        | Finding::Disk
        | Finding::Blocking => idle(finding, evidence, &server, &client),
        Finding::Unseen => format!("{client}, and {server}"),
        Finding::Unclear => format!("{server}, {client}"),
    }
}

/// The evidence for a finding in which neither client nor server was full.
fn idle(finding: Finding, evidence: &Evidence, server: &str, client: &str) -> String {
    let (so, in_flight) = (so(evidence), evidence.in_flight());
    let service = time(evidence.service_s.unwrap_or(0.0));
    match finding {
        Finding::Concurrency => format!(
            "with {in_flight:.1} requests in flight on average, both ends were idle at times; {server}, {client}{so}"
        ),
        Finding::Turns => format!(
            "neither end was full with {in_flight:.1} requests in flight ({server}, {client}), as if they took turns{so}"
        ),
        Finding::Disturbed => format!(
            "threads waited for a CPU at times ({server}, {client}), but most of the {service} per reply was spent elsewhere"
        ),
        Finding::Disk => format!(
            "no CPU was full ({server}, {client}), but the server answers writes only once they are on disk \
             (appendfsync always)"
        ),
        Finding::Blocking => format!(
            "{} may wait for something other than the server's CPU; {server}, {client}",
            evidence.blocking.clone().unwrap_or_default()
        ),
        _ => format!("{server}, {client}"),
    }
}

/// Describes the client's part of the p99, in which replies lay unread, as `; …`; empty if it is small.
fn unread_p99(evidence: &Evidence) -> String {
    let Some(parts) = evidence.unread_p99().filter(|parts| parts.read_share() >= UNREAD) else {
        return String::new();
    };
    let (share, lay) = (percent(parts.read_share()), time(parts.until_read_ns / 1e9));
    format!("; {share} of the p99 is this client's: {lay} in its kernel, before keystorm read")
}

/// Describes the messages that waited for a receiver.
fn heaped_up(evidence: &Evidence) -> String {
    let (waiting, sent) = evidence.backlog.unwrap_or_default();
    let (waiting, sent) = (grouped(waiting as f64), grouped(sent as f64));
    format!(
        "{waiting} of {sent} messages had heaped up when the last was sent, although no thread was busy"
    )
}

/// Describes the failed requests, or those after which an error ended the test.
fn errors(evidence: &Evidence) -> String {
    let asked = evidence.asked();
    if evidence.broken_off {
        return format!("an error ended the test after {}", many(evidence.requests, "request"));
    }
    if asked == 1 {
        return format!("the only request {}", how_it_failed(evidence));
    }
    let share = percent(evidence.failed as f64 / asked as f64);
    format!("{share} of {} {}", many(asked, "request"), how_it_failed(evidence))
}

fn absence(evidence: &Evidence) -> String {
    let (absent_s, span_s) = (evidence.absent_s, evidence.span_s.max(evidence.absent_s));
    format!(
        "keystorm itself did not run for {absent_s:.2} s of {span_s:.2} s, as if it or its machine had been stopped"
    )
}

/// Describes the time of a reply, the time of a round trip without load, and the rate of bytes.
fn between(evidence: &Evidence) -> String {
    let (service_s, round_trip_s) = (evidence.service_s, evidence.round_trip_s);
    format!(
        "a reply took {} and a round trip without load takes {}, at {}/s",
        time(service_s.unwrap_or(0.0)),
        time(round_trip_s.unwrap_or(0.0)),
        megabytes(evidence.bytes_per_s)
    )
}

/// Describes the outcome of the failed requests.
fn how_it_failed(evidence: &Evidence) -> &'static str {
    let Evidence { failed, missing, corrupt, .. } = *evidence;
    match (missing, corrupt) {
        (0, 0) if evidence.asked() == 1 => "was refused or lost",
        (0, 0) => "were refused or lost",
        (missing, _) if missing == failed => "found nothing",
        (_, corrupt) if corrupt == failed => "read a wrong value",
        _ => "failed",
    }
}

/// Describes the sent and answered requests of a schedule that was kept.
fn kept(evidence: &Evidence) -> String {
    let Some(figures) = &evidence.schedule else { return String::new() };
    let rate = rate(figures.due_rps);
    let mut except = Vec::new();
    let unsent = figures.unsent + figures.given_up;
    if unsent > 0 {
        let (unsent, due) = (grouped(unsent as f64), grouped(figures.due as f64));
        except.push(format!("{unsent} of {due} unsent at the end"));
    }
    if figures.late > 0 {
        except.push(format!("{} sent more than 10 ms late", figures.late_percent()));
    }
    match evidence.unanswered.saturating_sub(figures.given_up) {
        0 => {}
        // Only an early end leaves this many requests that are not errors.
        waiting if waiting as f64 > ERRORS_SHARE * figures.due as f64 => {
            except.push(format!("{} had no reply yet", grouped(waiting as f64)));
        }
        waiting => except.push(format!("{} unanswered", grouped(waiting as f64))),
    }
    let except =
        if except.is_empty() { String::new() } else { format!(" ({})", except.join(", ")) };
    let what = if evidence.of_messages { "messages" } else { "requests" };
    format!("the server kept up with {rate} {what}/s{except}")
}

fn outage(evidence: &Evidence) -> String {
    let Some(outages) = &evidence.outages else { return String::new() };
    let Outages { count, total_s, node, failed, to_the_end, all_s } = outages;
    let on = node.as_ref().map_or(String::new(), |name| format!(" on {name}"));
    let of = if *count == 1 { String::new() } else { format!(", in {count} outages") };
    let span_s = evidence.span_s.max(*total_s);
    let cost = match (failed, evidence.unanswered) {
        (0, waiting @ 1..) if *to_the_end => format!("{} had no reply", many(waiting, "request")),
        (0, _) => only_waited(evidence.of_messages).to_owned(),
        (n, _) if all_s.is_some() && node.is_some() => {
            format!("{} failed on all servers together", many(*n, "request"))
        }
        (n, _) => format!("{} failed during it", many(*n, "request")),
    };
    let all = match (all_s, node) {
        (Some(all_s), Some(_)) => format!(", and on no server for the last {all_s:.2} s"),
        _ => String::new(),
    };
    format!("nothing succeeded{on} for {total_s:.2} s of {span_s:.2} s{of}{all}; {cost}")
}

/// Describes a server with more threads than CPUs.
fn crowd(evidence: &Evidence) -> String {
    let Some(Crowd { threads, cpus, .. }) = evidence.crowd() else { return String::new() };
    format!("its {threads} threads share {}", many(cpus as u64, "CPU"))
}

/// Names the other user of a contended CPU.
fn others(evidence: &Evidence) -> &'static str {
    if evidence.stolen >= HELD { "the hypervisor" } else { "other programs" }
}

/// Describes how busy the server was; `owner` precedes the name of its thread.
fn server(evidence: &Evidence, owner: &str) -> String {
    let Some(ServerSide { time, part, polls, .. }) = evidence.server else {
        return match &evidence.unseen {
            Some(why) => format!("the server's CPU is unknown ({why})"),
            None => "the server's CPU is unknown (its INFO does not report it)".to_owned(),
        };
    };
    let of = if evidence.servers > 1 { "busiest server's " } else { owner };
    let part = match part {
        BusyPart::MainThread => "main thread",
        BusyPart::IoThread => "I/O thread",
        BusyPart::Worker => "busiest worker thread",
        BusyPart::Process => "process",
        BusyPart::Threads => "threads",
    };
    in_use(&format!("{of}{part}"), time, polls)
}

/// Describes how busy the client was; `owner` precedes the name of its worker.
fn client(evidence: &Evidence, owner: &str) -> String {
    let Some(time) = evidence.client else {
        return "the client's CPU is unknown".to_owned();
    };
    let who = match &evidence.client_name {
        Some(name) => name.clone(),
        None if evidence.of_messages && evidence.busiest_receives => "busiest receiver".to_owned(),
        None if evidence.of_messages => "busiest sender".to_owned(),
        None if evidence.workers > 1 => format!("busiest {owner}worker"),
        None => format!("{owner}worker"),
    };
    in_use(&who, time, false)
}

/// Describes how long a thread ran, and what kept it from a CPU, if that was a hundredth of the time. A
/// thread that `polls` is never called busy.
fn in_use(who: &str, time: ThreadUse, polls: bool) -> String {
    let (ran, held) = (percent(time.cpu), percent(time.held()));
    match time.held() {
        share if share < 0.01 && !polls => format!("{who} {ran} busy"),
        share if share < 0.01 => format!("{who} ran {ran} of the time"),
        _ if time.by_quota() => {
            format!("{who} ran {ran} of the time and was stopped {held} of it by its CPU quota")
        }
        _ => format!("{who} ran {ran} of the time and waited {held} for a CPU"),
    }
}

fn spare(evidence: &Evidence) -> String {
    match evidence.client {
        Some(time) => format!("client had {} to spare", percent(1.0 - time.taken())),
        None => client(evidence, "client "),
    }
}

/// Formats the consequence for an open loop that missed its schedule as `, so …`; empty for a closed one.
fn so(evidence: &Evidence) -> String {
    match &evidence.schedule {
        Some(schedule) if !schedule.kept() => format!(", so {}", shortfall(evidence)),
        Some(schedule) if schedule.behind_ns.is_some() => {
            format!(", so {}", behind(evidence))
        }
        _ => String::new(),
    }
}

fn behind(evidence: &Evidence) -> String {
    evidence.schedule.as_ref().map_or(String::new(), |schedule| schedule.behind())
}

/// Describes the requests of a schedule that left late or never, by the figures of the line about the
/// schedule.
fn shortfall(evidence: &Evidence) -> String {
    let Some(figures) = &evidence.schedule else { return String::new() };
    let due = figures.counted(figures.due);
    let mut parts = Vec::new();
    // Of a rate far beyond what can be sent, how late the few were that left says little.
    if figures.late > 0 && figures.unsent < figures.due / 2 {
        let (late, mean) = (figures.late_percent(), time(figures.late_mean_s));
        parts.push(format!("{late} of {due} were sent over 10 ms late, {mean} on average"));
    }
    if figures.unsent > 0 {
        let of = if parts.is_empty() { format!(" of {due}") } else { String::new() };
        let (unsent, were) = (grouped(figures.unsent as f64), figures.were_unsent());
        parts.push(format!("{unsent}{of} {were} due and never sent"));
    }
    parts.join(", and ")
}

/// Describes why requests left late, if known, as the end of a sentence.
fn room(evidence: &Evidence) -> String {
    match evidence.schedule.as_ref().and_then(|schedule| schedule.fault) {
        Some(Fault::Client) => ", although connections had room".to_owned(),
        Some(fault) => format!(", since {}", fault.describe()),
        None => String::new(),
    }
}

fn figures(evidence: &Evidence) -> Vec<EvidenceFigure> {
    let by_quota = |time: ThreadUse| Some(time.throttled).filter(|share| *share > 0.0);
    let of = |name: &str, value: Option<f64>, unit: &str| {
        value.filter(|value| value.is_finite()).map(|value| figure(name, value, unit))
    };
    let server = evidence.server.map(|side| side.time);
    let part = match evidence.server.map(|side| (side.part, side.polls)) {
        Some((_, true)) => "server_on_cpu",
        Some((BusyPart::Process, _)) => "server_process_busy",
        Some((BusyPart::Threads, _)) => "server_threads_busy",
        Some((BusyPart::IoThread, _)) => "server_io_thread_busy",
        Some((BusyPart::Worker, _)) => "server_worker_busy",
        _ => "server_main_thread_busy",
    };
    let asked = evidence.asked() as f64;
    let schedule = evidence.schedule.as_ref();
    [
        of(part, server.map(|time| time.cpu), "share"),
        of(
            "server_waiting_for_cpu",
            server.filter(|_| evidence.server_here).map(|time| time.wait),
            "share",
        ),
        of("server_stopped_by_quota", server.and_then(by_quota), "share"),
        of("server_other_threads", evidence.crowd().map(|crowd| crowd.others), "count"),
        of("server_executing", evidence.executing, "share"),
        of("client_worker_busy", evidence.client.map(|time| time.cpu), "share"),
        of("client_waiting_for_cpu", evidence.client.map(|time| time.wait), "share"),
        of("client_stopped_by_quota", evidence.client.and_then(by_quota), "share"),
        of("cpu_stolen", Some(evidence.stolen).filter(|share| *share > 0.0), "share"),
        of("replies_unread", evidence.spans.as_ref().map(|_| evidence.unread()), "share"),
        of("p99_unread", evidence.unread_p99().map(|p| p.until_read_ns / 1e9), "seconds"),
        of("link_full", evidence.link.as_ref().map(|(share, _)| *share), "share"),
        of("payload", Some(evidence.bytes_per_s), "bytes_per_second"),
        of("service_time_mean", evidence.service_s, "seconds"),
        of("idle_round_trip", evidence.round_trip_s, "seconds"),
        of("service_time_explained", evidence.explained(), "share"),
        of("in_flight_mean", Some(evidence.in_flight()), "count"),
        of("in_flight_max", Some(evidence.slots as f64), "count"),
        of("rate_asked", schedule.map(|s| s.due_rps), "per_second"),
        of("rate_achieved", Some(evidence.achieved_rps), "per_second"),
        of("due", schedule.map(|s| s.due as f64), "count"),
        of("never_sent", schedule.map(|s| s.unsent as f64), "count"),
        of("send_late_mean", schedule.map(|s| s.late_mean_s), "seconds"),
        of("sent_too_late", schedule.map(|s| s.late as f64 / s.due as f64), "share"),
        of("failed", (asked > 0.0).then(|| evidence.failed as f64 / asked), "share"),
        of("outages", evidence.outages.as_ref().map(|o| o.total_s), "seconds"),
        of("client_absent", Some(evidence.absent_s).filter(|s| *s > 0.0), "seconds"),
        of("load", Some(evidence.load_s), "seconds"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A rate per second, with as many decimal places as a low one needs.
pub(crate) fn rate(per_s: f64) -> String {
    if per_s >= 100.0 || per_s <= 0.0 || per_s.fract() == 0.0 {
        return grouped(per_s);
    }
    // As many places as tell it from zero.
    let places = if per_s < 0.1 { (1.0 - per_s.log10().floor()).min(9.0) as usize } else { 2 };
    format!("{per_s:.places$}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
#[path = "wording_tests.rs"]
mod tests;
