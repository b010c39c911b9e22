//! Weighing of the evidence: finds the limit that the figures show.
//!
//! A pure function whose first match wins. The order goes from findings that spoil all other figures (errors,
//! outages, too short a run) over those that are proved by themselves (a schedule that was kept, a CPU that
//! was busy or taken away, a full link) to those that follow from the rest. docs/measuring.md describes it in
//! prose.

use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, Outages};
use super::threads::{HELD, SATURATED, ThreadUse};
use super::wait_causes::WaitCause;
use crate::schedule::Fault;

/// Share of errors from which the run is one of errors. One in a hundred is more than any tolerable fault and
/// may already change the mean: error replies are often quicker.
pub(super) const ERRORS_SHARE: f64 = 0.01;
/// Share of error replies above which the test mostly consisted of them.
pub(super) const ERRORS_MOST: f64 = 0.5;
/// Share of time without success from which the mean rate is a mixture of two different states.
pub(super) const OUTAGE_SHARE: f64 = 0.01;
/// Shortest meaningful load: in a shorter one, looking at the server and opening connections weigh as much as
/// the load itself.
pub(super) const LOAD_S_MIN: f64 = 0.05;
/// Utilization from which a link is full: gaps between frames and bursts leave no more.
pub(super) const LINK_FULL: f64 = 0.85;
/// Minimum part of the service time that the idle round trip and the work of server and client must explain; if
/// they explain less, most of it was spent between them.
pub(super) const EXPLAINED: f64 = 0.5;
/// Share of possible requests in flight from which there was no room for more.
pub(super) const FULL: f64 = 0.9;
/// Part of the response time in which replies lay unread in the client's kernel, from which the client is the
/// limit.
pub(super) const UNREAD: f64 = 0.5;
/// Connections waiting per thread beyond which more of them change nothing: a thread would have been busy if
/// it could.
pub(super) const QUEUED_MAX: f64 = 10.0;

/// Limit that kept a run from being faster, or from keeping its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitedBy {
    /// The server used all its CPU time, or all its quota.
    Server,
    /// A worker of keystorm had no CPU left.
    Client,
    /// The link was fully used.
    Network,
    /// Too few requests in flight to keep anything busy.
    Concurrency,
    /// Messages piled up before their receivers, although no thread was busy.
    Backlog,
    /// The schedule of an open loop. Either it was kept, so that the measured rate is the requested one, or
    /// missed for a reason that no other limit names.
    Schedule,
    /// Error replies and lost requests.
    Errors,
    /// Spans without any success.
    Outage,
    /// Programs on this machine took the CPU from server or client: other processes, the hypervisor, or each
    /// other.
    Contention,
    /// The evidence does not show it.
    Unknown,
}

impl LimitedBy {
    /// Returns the name, as used in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Network => "network",
            Self::Concurrency => "concurrency",
            Self::Backlog => "backlog",
            Self::Schedule => "schedule",
            Self::Errors => "errors",
            Self::Outage => "outage",
            Self::Contention => "contention",
            Self::Unknown => "unknown",
        }
    }
}

/// Reason for a limit, more specific than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// An error ended the run, or too many replies were errors.
    Errors,
    /// A while without success.
    Outage,
    /// The client itself did not run for a while.
    Absence,
    /// Nothing was answered.
    Nothing,
    /// The run was too short to say.
    Short,
    /// The schedule was kept.
    ScheduleKept,
    /// The schedule was missed, for no other limit.
    ScheduleMissed,
    /// The schedule was kept, but replies came more slowly, for no other limit.
    ScheduleBehind,
    /// Client and server took each other's CPU.
    EachOther,
    /// The server was kept from its CPU by something else.
    ServerStarved,
    /// A worker was.
    ClientStarved,
    /// The hypervisor took CPU time away.
    Stolen,
    /// The server was busy.
    Server,
    /// Slow commands of the server delayed more requests than anything else.
    SlowCommands,
    /// The server's CPU quota stopped it.
    ServerQuota,
    /// The server's other threads kept the busiest from its CPU.
    ServerThreads,
    /// The server executed commands all the time without using its CPU.
    ServerBlocked,
    /// The server polls, and does not report how much of that was work.
    ServerPolls,
    /// A worker was busy.
    Client,
    /// A CPU quota stopped the client.
    ClientQuota,
    /// Replies spent most of their time unread in the client's kernel.
    ClientReads,
    /// The link was full.
    LinkFull,
    /// Time was spent between client and server.
    Between,
    /// Messages heaped up, and neither server nor client was busy.
    Backlog,
    /// Neither end was busy: more requests in flight would be faster.
    Concurrency,
    /// Neither end was busy, though enough requests were in flight.
    Turns,
    /// A CPU was waited for at times, and most of the time went elsewhere.
    Disturbed,
    /// The server waits for its disk.
    Disk,
    /// The commands wait for another event.
    Blocking,
    /// The server's part is unknown.
    Unseen,
    /// No rule applies.
    Unclear,
}

impl Finding {
    /// The limit for this reason.
    pub fn limit(self) -> LimitedBy {
        match self {
            Self::Errors => LimitedBy::Errors,
            Self::Outage => LimitedBy::Outage,
            Self::ScheduleKept | Self::ScheduleMissed | Self::ScheduleBehind => LimitedBy::Schedule,
            Self::Server
            | Self::SlowCommands
            | Self::ServerQuota
            | Self::ServerThreads
            | Self::ServerBlocked => LimitedBy::Server,
            Self::Client | Self::ClientQuota | Self::ClientReads | Self::Absence => {
                LimitedBy::Client
            }
            Self::EachOther | Self::ServerStarved | Self::ClientStarved | Self::Stolen => {
                LimitedBy::Contention
            }
            Self::LinkFull | Self::Between => LimitedBy::Network,
            Self::Concurrency => LimitedBy::Concurrency,
            Self::Backlog => LimitedBy::Backlog,
            Self::Nothing
            | Self::Short
            | Self::ServerPolls
            | Self::Turns
            | Self::Disturbed
            | Self::Disk
            | Self::Blocking
            | Self::Unseen
            | Self::Unclear => LimitedBy::Unknown,
        }
    }
}

/// Weighs the evidence.
pub(super) fn find(evidence: &Evidence) -> Finding {
    if let Some(finding) = spoiled(evidence) {
        return finding;
    }
    // Senders that keep their schedule say nothing of a server at which messages pile up.
    if evidence.backlog.is_some() {
        return cpu(evidence).unwrap_or(Finding::Backlog);
    }
    let schedule = evidence.schedule.as_ref();
    if schedule.is_some_and(|s| s.kept() && s.behind_ns.is_none()) {
        return Finding::ScheduleKept;
    }
    if let Some(finding) = cpu(evidence) {
        return finding;
    }
    if evidence.link.as_ref().is_some_and(|(share, _)| *share >= LINK_FULL) {
        return Finding::LinkFull;
    }
    if evidence.unread() >= UNREAD {
        return Finding::ClientReads;
    }
    if let Some(figures) = schedule {
        let room = evidence.in_flight() < FULL * evidence.slots as f64;
        if !figures.kept() && (room || figures.fault.is_some_and(Fault::is_own)) {
            return Finding::ScheduleMissed;
        }
        if figures.kept() {
            return Finding::ScheduleBehind;
        }
    }
    waiting(evidence)
}

/// Returns the finding, taking the causes of waiting into account if they are known. The largest cause is the
/// limit of a schedule that no full CPU explains. Waiting for a CPU is no limit if it explains less than the
/// unexplained part.
pub(super) fn find_with_causes(evidence: &Evidence) -> Finding {
    let found = find(evidence);
    let Some(causes) = &evidence.causes else { return found };
    let silent = |outages: &Outages| outages.failed == 0 && outages.all_s.is_none();
    let is_open = match found {
        Finding::Outage => evidence.outages.as_ref().is_some_and(silent),
        Finding::ScheduleMissed
        | Finding::ScheduleBehind
        | Finding::EachOther
        | Finding::ServerStarved
        | Finding::ClientStarved
        | Finding::Stolen
        | Finding::Disturbed
        | Finding::Concurrency
        | Finding::Turns
        | Finding::Between
        | Finding::Unclear => true,
        // Busy with these.
        Finding::Server => causes.commands_s() >= EXPLAINED * evidence.span_s,
        _ => false,
    };
    let by_noise = matches!(
        found,
        Finding::EachOther | Finding::ServerStarved | Finding::ClientStarved | Finding::Stolen
    );
    let elsewhere = [Some(WaitCause::Unexplained), Some(WaitCause::Network)];
    if by_noise && !causes.of_time && elsewhere.contains(&causes.largest()) {
        let kept = evidence.schedule.as_ref().is_some_and(|schedule| schedule.kept());
        return if kept { Finding::ScheduleBehind } else { Finding::ScheduleMissed };
    }
    // A closed loop is limited by the part that takes most of its time.
    let most = !causes.of_time || causes.share(WaitCause::ServerCommands) >= EXPLAINED;
    let by_commands = is_open && most && causes.largest() == Some(WaitCause::ServerCommands);
    if by_commands { Finding::SlowCommands } else { found }
}

/// Returns the finding that makes the other figures meaningless, if any.
fn spoiled(evidence: &Evidence) -> Option<Finding> {
    if evidence.broken_off {
        return Some(Finding::Errors);
    }
    // Then the test was of errors, whether or not there was a time without anything else.
    let refused = evidence.failed.saturating_sub(evidence.unanswered);
    if refused as f64 > ERRORS_MOST * evidence.asked() as f64 {
        return Some(Finding::Errors);
    }
    // It explains the errors that came with it. Commands that wait by design make silence.
    let matters = evidence.outages.as_ref().is_some_and(|o| {
        o.total_s > OUTAGE_SHARE * evidence.span_s && (o.failed > 0 || evidence.blocking.is_none())
    });
    if matters {
        return Some(Finding::Outage);
    }
    if evidence.failed as f64 > ERRORS_SHARE * evidence.asked() as f64 {
        return Some(Finding::Errors);
    }
    let schedule = evidence.schedule.as_ref();
    let harmless = schedule.is_some_and(|s| s.kept() && s.behind_ns.is_none());
    if evidence.absent_s > OUTAGE_SHARE * evidence.span_s && !harmless {
        return Some(Finding::Absence);
    }
    if evidence.requests == 0 {
        return Some(Finding::Nothing);
    }
    (evidence.load_s < LOAD_S_MIN).then_some(Finding::Short)
}

/// Returns the finding that a CPU of client or server was the limit: busy, or withheld.
fn cpu(evidence: &Evidence) -> Option<Finding> {
    let schedule = evidence.schedule.as_ref();
    let ours = schedule.is_some_and(|s| !s.kept() && s.fault.is_some_and(Fault::is_own));
    let client = evidence.client;
    let server = evidence.server.map(|server| server.time);
    if evidence.must_share && each_other(evidence) && evidence.stolen < HELD {
        return Some(Finding::EachOther);
    }
    // A client that was late although connections had room was not kept waiting by the server.
    if let Some(side) = evidence.server.filter(|side| !ours && side.time.full()) {
        let time = side.time;
        // Where both are full, the one that could not wait for a CPU is the fuller.
        let polls = side.polls && !time.starved();
        if client.is_none_or(|client| !client.full() || (!polls && time.cpu >= client.cpu)) {
            let busy = if polls { Finding::ServerPolls } else { Finding::Server };
            return Some(if time.starved() { withheld(evidence, time) } else { busy });
        }
    }
    let held = |time: ThreadUse| {
        // Some of the time matters where it is more than the way takes, or made requests late.
        let more = evidence.on_the_way().is_none_or(|way| time.held() >= way);
        time.full() || more || evidence.schedule.is_some()
    };
    if let Some(time) = client.filter(|time| time.starved() && (ours || held(*time))) {
        // The fuller of the two is the one that is waited for.
        if ours || server.is_none_or(|server| !server.starved() || server.taken() <= time.taken()) {
            return Some(if time.by_quota() {
                Finding::ClientQuota
            } else {
                Finding::ClientStarved
            });
        }
    }
    if client.is_some_and(|time| time.full() && !time.starved()) {
        return Some(Finding::Client);
    }
    if let Some(time) = server.filter(|time| !ours && time.starved() && held(*time)) {
        return Some(withheld(evidence, time));
    }
    if evidence.stolen >= HELD
        && [server, client].iter().flatten().any(|time| time.taken() + evidence.stolen >= SATURATED)
    {
        return Some(Finding::Stolen);
    }
    if ours {
        return None;
    }
    let executing = evidence.executing.is_some_and(|share| share >= SATURATED);
    if executing && !server.is_some_and(|time| time.starved()) {
        return Some(Finding::ServerBlocked);
    }
    // Up to half of the time on a CPU, polling leaves room whatever part of it was work.
    let polls = evidence.server.is_some_and(|side| side.polls && side.time.taken() >= EXPLAINED);
    polls.then_some(Finding::ServerPolls)
}

/// Returns the reason why the server was kept from its CPU.
fn withheld(evidence: &Evidence, server: ThreadUse) -> Finding {
    if server.by_quota() {
        return Finding::ServerQuota;
    }
    if evidence.crowd().is_some() { Finding::ServerThreads } else { Finding::ServerStarved }
}

/// Returns whether client and server each waited while the other ran.
fn each_other(evidence: &Evidence) -> bool {
    let ends = [evidence.client, evidence.server.map(|server| server.time)];
    let both =
        ends.iter().flatten().filter(|time| time.starved() || time.cpu >= SATURATED).count() == 2;
    let mut starving =
        ends.iter().flatten().filter(|time| time.starved() && !time.by_quota()).peekable();
    // A thread that waits for longer than keystorm's other threads ran waits for something else, unless they had
    // every CPU there is.
    let all = evidence.cpus.is_some_and(|cpus| evidence.ours >= SATURATED * cpus as f64);
    both && starving.peek().is_some()
        && (all || starving.all(|time| evidence.ours - time.cpu >= EXPLAINED * time.held()))
}

/// Finds what requests waited for if neither client nor server was busy.
fn waiting(evidence: &Evidence) -> Finding {
    let starved = [evidence.client, evidence.server.map(|side| side.time)];
    if starved.iter().flatten().any(|time| time.starved()) {
        return Finding::Disturbed;
    }
    let unseen = evidence.server.is_none();
    // Mostly on the way, or too few at each end to keep it busy.
    let few = evidence.on_the_way().is_some_and(|way| way >= EXPLAINED)
        || evidence.queued() <= QUEUED_MAX;
    match evidence.explained() {
        // It takes both sides to rule out both.
        Some(explained) if explained >= EXPLAINED && few => Finding::Concurrency,
        _ if evidence.blocking.is_some() => Finding::Blocking,
        _ if evidence.waits_for_disk => Finding::Disk,
        Some(explained) if explained >= EXPLAINED => Finding::Turns,
        _ if unseen => Finding::Unseen,
        Some(_) => Finding::Between,
        None => Finding::Unclear,
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
