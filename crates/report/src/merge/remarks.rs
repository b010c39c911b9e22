//! What is said of the runs of several clients: what limited them, and what a reader must know.

use crate::{LimitedBy, Run, Verdict, escape};

/// The verdict of the whole, if the clients agree with it. Clients that were limited by different
/// things were not limited by one.
pub(super) fn verdict(names: &[String], limits: &[LimitedBy], whole: Verdict) -> Verdict {
    let count = limits.len();
    if limits.iter().all(|limit| *limit == whole.limited_by) {
        return Verdict {
            text: format!("{} (the same for all {count} clients)", whole.text),
            ..whole
        };
    }
    let mut by_limit: Vec<(LimitedBy, Vec<&str>)> = Vec::new();
    for (name, limit) in names.iter().zip(limits) {
        match by_limit.iter_mut().find(|(known, _)| known == limit) {
            Some((_, of)) => of.push(name),
            None => by_limit.push((*limit, vec![name])),
        }
    }
    let said = by_limit.iter().map(|(limit, of)| {
        let word = crate::compare::word(*limit);
        format!(
            "{} by {}",
            of.join(", "),
            if word == "unknown" { "something unknown" } else { &word }
        )
    });
    let said = said.collect::<Vec<_>>().join("; ");
    let text = format!(
        "unknown: the clients were limited by different things ({said}); look at each (keystorm \
         show)"
    );
    Verdict { limited_by: LimitedBy::Unknown, text: escape(text), evidence: whole.evidence }
}

/// The clients' own, and that they did not run at the same time, if so.
pub(super) fn warnings(names: &[String], shares: &[Run]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for warning in shares.iter().flat_map(|share| &share.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    let started = |share: &Run| share.measurement.started_at;
    let shortest_ns = shares.iter().map(|share| share.measurement.elapsed_ns).min();
    let first = shares.iter().map(started).min();
    let last = names.iter().zip(shares).max_by_key(|(_, share)| started(share));
    if let (Some(first), Some((name, share)), Some(shortest_ns)) = (first, last, shortest_ns) {
        let late = started(share).duration_since(first).unwrap_or_default();
        // A hundredth moves no figure by more than that.
        if late.as_nanos() > u128::from(shortest_ns / 100) {
            warnings.push(format!(
                "{name} started {:.3} s after the first client; until then the load was not \
                 complete",
                late.as_secs_f64()
            ));
        }
    }
    warnings
}

/// Different texts, each once.
pub(super) fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut different: Vec<&str> = Vec::new();
    for part in texts.flat_map(|text| text.split(", ")) {
        if !different.contains(&part) {
            different.push(part);
        }
    }
    different.join(", ")
}
