//! Limits of the runs of each side, and the doubts that they cast on the ratio.

use naming::RATE;

use super::{Pairing, RunDigest, Setup};
use crate::{Finding, LimitedBy, verdict};

/// Limit of a run, for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Cause of the limit.
    pub by: LimitedBy,
    /// Set if nothing limited it: the schedule was kept.
    pub kept: bool,
}

impl Limit {
    pub(super) fn of_run(run: &RunDigest) -> Self {
        Self { by: run.limited_by, kept: run.kept }
    }

    /// Name in a word or two, from the verdict.
    pub fn name(self) -> &'static str {
        verdict::class(self.by, self.kept.then_some(Finding::ScheduleKept))
    }
}

/// Limits of the runs of a side, most frequent first.
pub type Limits = Vec<(Limit, usize)>;

/// Reason for doubting a ratio, from the limits of its sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caution {
    /// The client limited the first, the second or both.
    ByClient([bool; 2]),
    /// Other programs took CPU time, and runs did not take turns.
    Disturbed,
    /// The network limited both.
    ByNetwork,
    /// Too few requests were in flight to keep either server busy.
    FewInFlight,
    /// The requested rate is the throughput of both.
    RateSet,
}

impl Caution {
    /// Sentence without a full stop, with these names of the sides.
    pub fn describe(self, [first, second]: &[String; 2]) -> String {
        let limited = |name: &str| {
            format!(
                "the client limited {name}, which may be faster than shown; give the client more \
                 --threads or its own CPUs"
            )
        };
        match self {
            Self::ByClient([true, true]) => {
                "the client limited both sides: the ratio says nothing \
                about the servers; give the client more --threads or its own CPUs"
                    .to_owned()
            }
            Self::ByClient([true, false]) => limited(first),
            Self::ByClient([false, _]) => limited(second),
            Self::Disturbed => "other programs took CPU time, and these runs were not made in turn: the difference \
                may be theirs; compare the servers themselves"
                .to_owned(),
            Self::ByNetwork => {
                "the network limited both sides: the ratio is that of the network paths".to_owned()
            }
            Self::FewInFlight => "too few requests were in flight to saturate either server: the \
                throughput only mirrors the latency; raise -c or -P"
                .to_owned(),
            Self::RateSet => {
                format!("{RATE} set the throughput of every server: compare the latencies")
            }
        }
    }
}

/// Returns the reasons for doubt of a ratio of sides that were mostly limited so.
pub(super) fn warnings(sides: [Option<LimitedBy>; 2], setup: &Setup) -> Vec<Caution> {
    let ([a, b], open_loop) = (sides, setup.open_loop);
    let mut warnings = Vec::new();
    match (a, b) {
        (Some(LimitedBy::Client), _) | (_, Some(LimitedBy::Client)) => {
            let by_client = [a, b].map(|limit| limit == Some(LimitedBy::Client));
            warnings.push(Caution::ByClient(by_client));
        }
        (Some(LimitedBy::Contention), _) | (_, Some(LimitedBy::Contention)) => {
            // What disturbs runs that take turns is in the interval.
            warnings.extend((setup.pairing == Pairing::None).then_some(Caution::Disturbed));
        }
        (Some(LimitedBy::Network), Some(LimitedBy::Network)) => warnings.push(Caution::ByNetwork),
        (Some(LimitedBy::Concurrency), Some(LimitedBy::Concurrency)) if !open_loop => {
            warnings.push(Caution::FewInFlight);
        }
        _ => {}
    }
    if open_loop && a == Some(LimitedBy::Schedule) && b == Some(LimitedBy::Schedule) {
        warnings.push(Caution::RateSet);
    }
    warnings
}

/// Describes the limits of the runs of a side: `server (9 of 10 runs), client (1)`.
pub fn limited(limits: &Limits) -> String {
    let runs: usize = limits.iter().map(|(_, count)| count).sum();
    let parts = limits.iter().enumerate().map(|(at, (limit, count))| match at {
        0 => format!("{} ({count} of {runs} runs)", limit.name()),
        _ => format!("{} ({count})", limit.name()),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Describes the limits of the runs of a side with its name: `redis limited by: server (9 of 10 runs), client
/// (1)`. Runs that kept their schedule count as not limited.
pub fn describe_limits(name: &str, limits: &Limits) -> String {
    let is_kept = limits.iter().any(|(limit, _)| limit.kept);
    let Some(rest) = limits.iter().position(|(limit, _)| !limit.kept).filter(|_| is_kept) else {
        let verb = if is_kept { "" } else { " limited by" };
        return format!("{name}{verb}: {}", limited(limits));
    };
    let runs: usize = limits.iter().map(|(_, count)| count).sum();
    let parts = limits.iter().enumerate().map(|(at, (limit, count))| {
        let by = if at == rest { "limited by " } else { "" };
        let of = if at == 0 { format!(" of {runs} runs") } else { String::new() };
        format!("{by}{} ({count}{of})", limit.name())
    });
    let parts: Vec<String> = parts.collect();
    format!("{name}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_saturated_was_not_limited() {
        let kept = Limit { by: LimitedBy::Schedule, kept: true };
        let of = |by| Limit { by, kept: false };
        let describe = |limits: &[(Limit, usize)]| describe_limits("a", &limits.to_vec());
        assert_eq!(describe(&[(kept, 6)]), "a: not saturated (6 of 6 runs)");
        assert_eq!(
            describe(&[(kept, 4), (of(LimitedBy::Schedule), 1), (of(LimitedBy::Server), 1)]),
            "a: not saturated (4 of 6 runs), limited by schedule (1), server (1)"
        );
        assert_eq!(
            describe(&[(of(LimitedBy::Server), 5), (kept, 1)]),
            "a: limited by server (5 of 6 runs), not saturated (1)"
        );
        assert_eq!(describe(&[(of(LimitedBy::Server), 2)]), "a limited by: server (2 of 2 runs)");
    }
}
