//! Advice for each finding, in one sentence.

use naming::{
    CONNECTIONS, CPUS, DURATION, PIPELINE, RATE, RECEIVER_THREADS, REQUESTS, SERVER_CPUS, THREADS,
};

use super::causes::{Causes, WaitCause};
use super::evidence::Evidence;
use super::rules::Finding;

/// Returns advice for a finding.
pub(super) fn advice(finding: Finding, evidence: &Evidence) -> String {
    match finding {
        Finding::Errors if evidence.missing > 0 && evidence.missing == evidence.failed => {
            "check whether the keys were written, and then deleted, evicted or expired"
        }
        Finding::Errors => "fix the errors first: the other figures mean little",
        Finding::Outage => {
            "judge by the outages: rates and latencies over the whole test mix two states"
        }
        Finding::Absence => "repeat the test: this says nothing of the server",
        Finding::Nothing => "see the error above",
        Finding::Short if evidence.recorded => "to find out, send it several times (--loop)",
        Finding::Short => return format!("to find out, run longer ({REQUESTS} or {DURATION})"),
        Finding::SlowCommands => SLOW_COMMANDS,
        Finding::ScheduleKept if is_largest(evidence, WaitCause::ServerCommands) => SLOW_COMMANDS,
        // Nobody tries the limit of a server that others need, and that has slow requests already.
        Finding::ScheduleKept if evidence.is_shared || evidence.causes.is_some() => "",
        Finding::ScheduleKept if evidence.recorded => "raise --speed to find its limit",
        Finding::ScheduleKept => return format!("raise {RATE} to find its limit"),
        Finding::ScheduleMissed if is_largest(evidence, WaitCause::Network) => LOSSES,
        Finding::ScheduleMissed => {
            "check whether something stops this client or the server at times"
        }
        Finding::ScheduleBehind => {
            "find what delays the replies: requests arrived faster than they were answered"
        }
        Finding::EachOther => {
            return format!(
                "give each its own CPU ({CPUS}, {SERVER_CPUS}, taskset), or run the client on \
                 another machine"
            );
        }
        Finding::Stolen => "use a machine or instance type with dedicated CPUs",
        Finding::Server => "this is the server's limit for these commands on this CPU",
        Finding::ServerStarved => {
            "stop the programs that compete with the server, or give it its own CPU"
        }
        Finding::ServerQuota => "this is the server's limit within the CPU quota of its container",
        Finding::ClientQuota => "raise or remove the CPU quota of this client",
        Finding::ServerBlocked => "find what blocks it: disk, swapping, or commands that sleep",
        Finding::ServerPolls => SERVER_POLLS,
        Finding::Client if evidence.of_messages && evidence.busiest_receives => {
            return format!("add {RECEIVER_THREADS}");
        }
        Finding::Client => return more_client(evidence),
        Finding::ClientReads => {
            return format!(
                "use more threads ({THREADS}) or give this client CPUs of its own ({CPUS})"
            );
        }
        Finding::ClientStarved => {
            return format!(
                "stop other processes on this machine, or pin the workers to free CPUs ({CPUS})"
            );
        }
        Finding::LinkFull => "use smaller values or a faster link to measure the server",
        Finding::Between => {
            "check what is between them: the link's bandwidth, a proxy, or a CPU quota of the \
             server's container"
        }
        Finding::Backlog => "use more receivers, or a lower rate",
        Finding::Concurrency => {
            return format!("use more connections ({CONNECTIONS}) or deeper pipelines ({PIPELINE})");
        }
        Finding::Turns => {
            return format!(
                "to find out, use deeper pipelines ({PIPELINE}) or run the client on another machine"
            );
        }
        Finding::Disturbed => "to find out, free the CPUs and repeat the test",
        Finding::Disk => "check whether the disk is the limit",
        Finding::Blocking => "judge by the latency of what they wait for",
        Finding::Unseen => {
            "to find out, look at the server's CPU on its machine, or let this \
            user call INFO"
        }
        Finding::Unclear => "to find out, repeat the test with a longer run",
    }
    .to_owned()
}

const SERVER_POLLS: &str =
    "Valkey 9.1 and newer report work apart from polling; use one of these to find out";
const LOSSES: &str = "find where the network between client and server loses packets";
const SLOW_COMMANDS: &str =
    "make these quicker, smaller or rarer: while one runs, the server answers nobody";

/// Returns whether this cause delayed more requests than any other.
fn is_largest(evidence: &Evidence, cause: WaitCause) -> bool {
    evidence.causes.as_ref().and_then(Causes::largest) == Some(cause)
}

/// Returns advice for getting more out of the client.
fn more_client(evidence: &Evidence) -> String {
    let taken = evidence.workers + usize::from(evidence.server_here);
    match evidence.cpus {
        Some(cpus) if cpus <= taken => format!(
            "this machine has no CPU for another worker, so use deeper pipelines ({PIPELINE}) or a \
             second machine"
        ),
        _ if evidence.connections <= evidence.workers as u64 => {
            format!("add connections ({CONNECTIONS}) and {THREADS}")
        }
        _ => format!("add {THREADS}"),
    }
}
