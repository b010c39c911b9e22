//! Advice for each finding, in one sentence.

use naming::{
    CONNECTIONS, CPUS, DURATION, PIPELINE, RATE, RECEIVER_THREADS, REQUESTS, SERVER_CPUS, THREADS,
    Text, text,
};

use super::evidence::Evidence;
use super::rules::Finding;
use super::wait_causes::{Causes, WaitCause};

/// Returns advice for a finding.
pub(super) fn advice(finding: Finding, evidence: &Evidence) -> Text {
    let is_slow = is_largest(evidence, WaitCause::ServerCommands);
    match finding {
        Finding::Errors if evidence.missing > 0 && evidence.missing == evidence.failed => {
            text!("check whether the keys were written, and then deleted, evicted or expired")
        }
        Finding::Errors => text!("fix the errors first: the other figures mean little"),
        Finding::Outage => {
            text!("judge by the outages: rates and latencies over the whole test mix two states")
        }
        Finding::Absence => text!("repeat the test: this says nothing of the server"),
        Finding::Nothing => text!("see the error above"),
        Finding::Short if evidence.sourced => {
            text!("to find out, send it several times (--loop)")
        }
        Finding::Short => text!("to find out, run longer ({REQUESTS} or {DURATION})"),
        Finding::SlowCommands => SLOW_COMMANDS.into(),
        Finding::ScheduleKept if is_slow => SLOW_COMMANDS.into(),
        // No higher rate is advised for a server that other clients use and that is already slow.
        Finding::ScheduleKept if evidence.is_shared || evidence.causes.is_some() => text!(""),
        Finding::ScheduleKept if evidence.sourced => text!("raise --speed to find its limit"),
        Finding::ScheduleKept => text!("raise {RATE} to find its limit"),
        Finding::ScheduleMissed if is_largest(evidence, WaitCause::Network) => LOSSES.into(),
        Finding::ScheduleMissed => {
            text!("check whether something stops this client or the server at times")
        }
        Finding::ScheduleBehind => {
            text!("find what delays the replies: requests arrived faster than they were answered")
        }
        Finding::EachOther => text!(
            "give each its own CPU ({CPUS}, {SERVER_CPUS}, taskset), or run the client on \
                 another machine"
        ),
        Finding::Stolen => text!("use a machine or instance type with dedicated CPUs"),
        Finding::Server => text!("this is the server's limit for these commands on this CPU"),
        Finding::ServerStarved => {
            text!("stop the programs that compete with the server, or give it its own CPU")
        }
        Finding::ServerQuota => {
            text!("this is the server's limit within the CPU quota of its container")
        }
        Finding::ServerThreads => {
            text!("give the server more CPUs ({SERVER_CPUS}) or fewer threads")
        }
        Finding::ServerBlocked => {
            text!("find what blocks it: disk, swapping, or commands that sleep")
        }
        Finding::ServerPolls => SERVER_POLLS.into(),
        Finding::Client | Finding::ClientQuota | Finding::ClientReads | Finding::ClientStarved => {
            of_client(finding, evidence)
        }
        Finding::LinkFull => text!("use smaller values or a faster link to measure the server"),
        Finding::Between => BETWEEN.into(),
        Finding::Backlog => text!("use more receivers, or a lower rate"),
        Finding::Concurrency => {
            text!("use more connections ({CONNECTIONS}) or deeper pipelines ({PIPELINE})")
        }
        Finding::Turns => text!(
            "to find out, use deeper pipelines ({PIPELINE}) or run the client on another machine"
        ),
        Finding::Disturbed => text!("to find out, free the CPUs and repeat the test"),
        Finding::Disk => text!("check whether the disk is the limit"),
        Finding::Blocking => text!("judge by the latency of what they wait for"),
        Finding::Unseen => text!(
            "to find out, look at the server's CPU on its machine, or let this \
            user call INFO"
        ),
        Finding::Unclear => text!("to find out, repeat the test with a longer run"),
    }
}

const SERVER_POLLS: &str =
    "Valkey 9.1 and newer report work apart from polling; use one of these to find out";
const BETWEEN: &str = "check what is between them: the link's bandwidth, a proxy, or a CPU quota of the \
    server's container";
const LOSSES: &str = "find where the network between client and server loses packets";
const SLOW_COMMANDS: &str =
    "make these quicker, smaller or rarer: while one runs, the server answers nobody";

/// Returns whether this cause delayed more requests than any other.
fn is_largest(evidence: &Evidence, cause: WaitCause) -> bool {
    evidence.causes.as_ref().and_then(Causes::largest) == Some(cause)
}

/// Returns advice for getting more out of the client.
fn of_client(finding: Finding, evidence: &Evidence) -> Text {
    let taken = evidence.workers + usize::from(evidence.server_here);
    match finding {
        Finding::ClientQuota => text!("raise or remove the CPU quota of this client"),
        Finding::ClientReads => {
            text!("use more threads ({THREADS}) or give this client CPUs of its own ({CPUS})")
        }
        Finding::ClientStarved => {
            text!("stop other processes on this machine, or pin the workers to free CPUs ({CPUS})")
        }
        _ if evidence.of_messages && evidence.busiest_receives => text!("add {RECEIVER_THREADS}"),
        _ if evidence.cpus.is_some_and(|cpus| cpus <= taken) => text!(
            "this machine has no CPU for another worker, so use deeper pipelines ({PIPELINE}) or a \
             second machine"
        ),
        _ if evidence.connections <= evidence.workers as u64 => {
            text!("add connections ({CONNECTIONS}) and {THREADS}")
        }
        _ => text!("add {THREADS}"),
    }
}
