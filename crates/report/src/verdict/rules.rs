//! How the evidence is weighed: which limit the figures speak for.
//!
//! A pure function, first match wins. The order goes from what spoils every other figure (errors,
//! too short a run) over what is proved by itself (a busy CPU, a full link) to what follows from
//! the rest. docs/measuring.md tells it in prose.

use super::LimitedBy;
use super::grounds::{Grounds, Schedule};

/// A share of errors above this makes the run one of errors. One in a hundred is more than any
/// tolerable fault and may already change the mean: error replies are often quicker.
pub(super) const ERRORS_SHARE: f64 = 0.01;
/// More error replies than this are most of what the test was.
pub(super) const ERRORS_MOST: f64 = 0.5;
/// Nothing succeeded for more than this share of the time: then the mean rate is that of two
/// different things.
pub(super) const OUTAGE_SHARE: f64 = 0.01;
/// A shorter load says little: the looks at the server and the opening of connections weigh as
/// much as the load itself.
pub(super) const LOAD_S_MIN: f64 = 0.05;
/// A thread that is busy, or waits for a CPU, for this share of the time has none left. A loop
/// that does nothing else reads 95 to 100 %; the rest goes to the start, the end and interrupts.
pub(super) const SATURATED: f64 = 0.90;
/// A thread that waits for a CPU this long shares it with something that matters.
pub(super) const WAITING: f64 = 0.10;
/// A link this full is: headers between frames and bursts leave no more.
pub(super) const LINK_FULL: f64 = 0.85;
/// If less than this share of the service time is explained by the idle round trip and by the
/// work of server and client, most of it was spent between them.
pub(super) const EXPLAINED: f64 = 0.5;
/// The rate was kept if this share of it was achieved. A short run ends a little off.
pub(super) const RATE_KEPT: f64 = 0.99;
/// The schedule was kept if no more than this share of requests left too late (see
/// [`MISSED_NS`](crate::schedule::MISSED_NS)): what a percentile of 99 does not show.
pub(super) const MISSED_SHARE: f64 = 0.01;
/// This share of the requests that may be in flight were: there was no room for more.
pub(super) const FULL: f64 = 0.9;

/// What limited a run, with the reason in the words that the text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// An error ended it, or too many replies were errors.
    Errors,
    /// Nothing succeeded for a while.
    Outage,
    /// Nothing was answered.
    Nothing,
    /// It was too short to say.
    Short,
    /// The schedule was kept.
    ScheduleKept,
    /// The rate was kept, but with requests sent late on the way.
    ScheduleLate,
    /// The schedule was missed and no other limit found.
    ScheduleMissed,
    /// Client and server took each other's CPU.
    SharedCpu,
    /// The server was busy.
    Server,
    /// The server was kept from its CPU by something else.
    ServerCrowded,
    /// The server executed commands all the time without using its CPU.
    ServerBlocked,
    /// A worker was busy.
    Client,
    /// A worker was kept from its CPU by something else.
    ClientCrowded,
    /// The link was full.
    LinkFull,
    /// Time was spent between client and server.
    Between,
    /// Nobody was busy: more in flight would be faster.
    Concurrency,
    /// The server waits for its disk.
    Disk,
    /// The commands wait for something else.
    Blocking,
    /// The server's part is not known.
    Unseen,
    /// Nothing fits.
    Unclear,
}

impl Finding {
    /// The limit that it names.
    pub(super) fn limit(self) -> LimitedBy {
        match self {
            Self::Errors | Self::Outage => LimitedBy::Errors,
            Self::ScheduleKept | Self::ScheduleLate | Self::ScheduleMissed => LimitedBy::Schedule,
            Self::Server | Self::ServerCrowded | Self::ServerBlocked => LimitedBy::Server,
            Self::Client | Self::ClientCrowded | Self::SharedCpu => LimitedBy::Client,
            Self::LinkFull | Self::Between => LimitedBy::Network,
            Self::Concurrency => LimitedBy::Concurrency,
            Self::Nothing
            | Self::Short
            | Self::Disk
            | Self::Blocking
            | Self::Unseen
            | Self::Unclear => LimitedBy::Unknown,
        }
    }
}

/// Weighs the evidence.
pub(super) fn find(grounds: &Grounds) -> Finding {
    if grounds.broken_off {
        return Finding::Errors;
    }
    // Then the test was of errors, whether or not there was a time without anything else.
    let refused = grounds.failed.saturating_sub(grounds.unanswered);
    if refused as f64 > ERRORS_MOST * grounds.asked() as f64 {
        return Finding::Errors;
    }
    // It explains the errors that came with it.
    if grounds.outages.as_ref().is_some_and(|o| o.total_s > OUTAGE_SHARE * grounds.load_s) {
        return Finding::Outage;
    }
    if grounds.failed as f64 > ERRORS_SHARE * grounds.asked() as f64 {
        return Finding::Errors;
    }
    if grounds.requests == 0 {
        return Finding::Nothing;
    }
    if grounds.load_s < LOAD_S_MIN {
        return Finding::Short;
    }
    if schedule_kept(grounds) {
        return Finding::ScheduleKept;
    }
    if let Some(finding) = cpu(grounds) {
        return finding;
    }
    if grounds.link.as_ref().is_some_and(|(share, _)| *share >= LINK_FULL) {
        return Finding::LinkFull;
    }
    if let Some(schedule) = &grounds.schedule {
        if schedule.own_fault {
            return Finding::ScheduleMissed;
        }
        if grounds.in_flight() < FULL * grounds.slots as f64 {
            return if rate_kept(grounds) {
                Finding::ScheduleLate
            } else {
                Finding::ScheduleMissed
            };
        }
    }
    waiting(grounds)
}

/// Whether a rate was asked for and achieved.
fn rate_kept(grounds: &Grounds) -> bool {
    grounds.schedule.is_some_and(|s| grounds.achieved_rps >= RATE_KEPT * s.target_rps)
}

/// Whether requests were sent when they were due and answered at the rate asked for.
fn schedule_kept(grounds: &Grounds) -> bool {
    let kept = |s: &Schedule| s.unsent == 0 && s.missed_share <= MISSED_SHARE;
    rate_kept(grounds) && grounds.schedule.as_ref().is_some_and(kept)
}

/// Whether somebody's CPU was the limit.
fn cpu(grounds: &Grounds) -> Option<Finding> {
    let server = grounds.server.map_or((0.0, 0.0), |busy| (busy.cpu, busy.wait));
    let client = grounds.client.map_or((0.0, 0.0), |busy| (busy.cpu, busy.wait));
    let full = |(cpu, wait): (f64, f64)| cpu + wait >= SATURATED;
    let crowded = |(cpu, wait): (f64, f64)| wait >= WAITING && cpu < SATURATED;
    // Each waits while the other runs: the client takes what the server needs.
    if grounds.must_share && crowded(server) && crowded(client) {
        return Some(Finding::SharedCpu);
    }
    // Where both are full, the one that could not wait for a CPU is the fuller.
    if full(server) && (!full(client) || server.0 >= client.0) {
        let crowded = crowded(server);
        return Some(if crowded { Finding::ServerCrowded } else { Finding::Server });
    }
    if full(client) {
        let crowded = crowded(client);
        return Some(if crowded { Finding::ClientCrowded } else { Finding::Client });
    }
    let executing = grounds.executing.is_some_and(|share| share >= SATURATED);
    executing.then_some(Finding::ServerBlocked)
}

/// Nobody was busy, so requests waited: for what?
fn waiting(grounds: &Grounds) -> Finding {
    let unseen = grounds.server.is_none();
    match grounds.explained() {
        // It takes both sides to rule out both.
        Some(explained) if explained >= EXPLAINED => Finding::Concurrency,
        _ if grounds.blocking.is_some() => Finding::Blocking,
        _ if grounds.waits_for_disk => Finding::Disk,
        _ if unseen => Finding::Unseen,
        Some(_) => Finding::Between,
        None => Finding::Unclear,
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
