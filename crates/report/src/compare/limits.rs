//! What limited the runs of each side, and what that says against their ratio.

use std::fmt;

use super::Glance;
use crate::LimitedBy;

/// What limited the runs of a side, most frequent first.
pub type Limits = Vec<(LimitedBy, usize)>;

/// Counts them.
pub(super) fn limits(side: &[Glance]) -> Limits {
    let mut limits: Limits = Vec::new();
    for Glance { limited_by, .. } in side {
        match limits.iter_mut().find(|(limit, _)| limit == limited_by) {
            Some((_, count)) => *count += 1,
            None => limits.push((*limited_by, 1)),
        }
    }
    limits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    limits
}

/// What at least half of a side's runs were limited by.
pub(super) fn mostly(limits: &Limits, runs: usize) -> Option<LimitedBy> {
    limits.first().filter(|(_, count)| count * 2 >= runs).map(|(limit, _)| *limit)
}

/// What to know before believing a ratio, from what limited its sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caution {
    /// The client limited both sides.
    ByClient,
    /// The client limited the side of this name.
    OneByClient(String),
    /// Other programs took CPU time.
    Disturbed,
    /// The network limited both.
    ByNetwork,
    /// Too few requests were in flight to keep either server busy.
    FewInFlight,
    /// The rate that was asked for is the throughput of both.
    RateSet,
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByClient => f.write_str(
                "the client limited both sides: the ratio says nothing about the servers; give the \
                 client more --threads or its own CPUs",
            ),
            Self::OneByClient(side) => write!(
                f,
                "the client limited {side}, which may be faster than shown; give the client more \
                 --threads or its own CPUs"
            ),
            Self::Disturbed => {
                f.write_str("other processes took CPU time: the ratio may reflect this disturbance")
            }
            Self::ByNetwork => f.write_str(
                "the network limited both sides: the ratio is that of the network paths",
            ),
            Self::FewInFlight => f.write_str(
                "too few requests were in flight to saturate either server: the throughput only \
                 mirrors the latency; raise -c or -P",
            ),
            Self::RateSet => f.write_str("--rps set the throughput of both: compare the latencies"),
        }
    }
}

/// What to know before believing a ratio of sides that were limited so.
pub(super) fn warnings(
    names: &[String; 2],
    limits: &[Limits; 2],
    runs: [usize; 2],
    open_loop: bool,
) -> Vec<Caution> {
    use LimitedBy::{Client, Concurrency, Contention, Network, Schedule};
    let [a, b] = [mostly(&limits[0], runs[0]), mostly(&limits[1], runs[1])];
    let mut warnings = Vec::new();
    warnings.extend(match (a, b) {
        (Some(Client), Some(Client)) => Some(Caution::ByClient),
        (Some(Client), _) => Some(Caution::OneByClient(names[0].clone())),
        (_, Some(Client)) => Some(Caution::OneByClient(names[1].clone())),
        (Some(Contention), _) | (_, Some(Contention)) => Some(Caution::Disturbed),
        (Some(Network), Some(Network)) => Some(Caution::ByNetwork),
        (Some(Concurrency), Some(Concurrency)) if !open_loop => Some(Caution::FewInFlight),
        _ => None,
    });
    if open_loop && a == Some(Schedule) && b == Some(Schedule) {
        warnings.push(Caution::RateSet);
    }
    warnings
}

/// What limited the runs of a side: `server (9 of 10 runs), client (1)`.
#[must_use]
pub fn limited(limits: &Limits) -> String {
    let runs: usize = limits.iter().map(|(_, count)| count).sum();
    let part = |(at, (limit, count)): (usize, &(LimitedBy, usize))| match at {
        0 => format!("{} ({count} of {runs} runs)", limit.name()),
        _ => format!("{} ({count})", limit.name()),
    };
    limits.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
}
