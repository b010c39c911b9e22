//! What limited the runs of each side, and what that says against their ratio.

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

/// The word for a limit, as in JSON.
#[must_use]
pub fn word(limit: LimitedBy) -> String {
    let value = serde_json::to_value(limit).unwrap_or_default();
    value.as_str().unwrap_or("unknown").to_owned()
}

/// What at least half of a side's runs were limited by.
pub(super) fn mostly(limits: &Limits, runs: usize) -> Option<LimitedBy> {
    limits.first().filter(|(_, count)| count * 2 >= runs).map(|(limit, _)| *limit)
}

/// What to know before believing a ratio of sides that were limited so.
pub(super) fn warnings(
    names: &[String; 2],
    limits: &[Limits; 2],
    runs: [usize; 2],
    open_loop: bool,
) -> Vec<String> {
    let [a, b] = [mostly(&limits[0], runs[0]), mostly(&limits[1], runs[1])];
    let mut warnings = Vec::new();
    match (a, b) {
        (Some(LimitedBy::Client), Some(LimitedBy::Client)) => warnings.push(
            "the client limited both sides: the ratio says nothing about the servers; give the \
             client more --threads or its own CPUs"
                .to_owned(),
        ),
        (Some(LimitedBy::Client), _) | (_, Some(LimitedBy::Client)) => {
            let side = &names[usize::from(a != Some(LimitedBy::Client))];
            warnings.push(format!(
                "the client limited {side}, which may be faster than shown; give the client more \
                 --threads or its own CPUs"
            ));
        }
        (Some(LimitedBy::Contention), _) | (_, Some(LimitedBy::Contention)) => warnings
            .push("other processes took CPU time: the ratio may reflect this disturbance".into()),
        (Some(LimitedBy::Network), Some(LimitedBy::Network)) => warnings
            .push("the network limited both sides: the ratio is that of the network paths".into()),
        (Some(LimitedBy::Concurrency), Some(LimitedBy::Concurrency)) if !open_loop => {
            warnings.push(
                "too few requests were in flight to saturate either server: the throughput only \
                 mirrors the latency; raise -c or -P"
                    .to_owned(),
            );
        }
        _ => {}
    }
    if open_loop && a == Some(LimitedBy::Schedule) && b == Some(LimitedBy::Schedule) {
        warnings.push("--rps set the throughput of both: compare the latencies".to_owned());
    }
    warnings
}

/// What limited the runs of a side: `server (9 of 10 runs), client (1)`.
#[must_use]
pub fn limited(limits: &Limits) -> String {
    let runs: usize = limits.iter().map(|(_, count)| count).sum();
    let part = |(at, (limit, count)): (usize, &(_, usize))| match at {
        0 => format!("{} ({count} of {runs} runs)", word(*limit)),
        _ => format!("{} ({count})", word(*limit)),
    };
    limits.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
}
