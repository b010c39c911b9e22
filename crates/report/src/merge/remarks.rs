//! Verdict and warnings of merged runs.

use crate::groups::{by_key, unique};
use crate::{LimitedBy, Run, Verdict, Warning, WarningKind, escape};

/// The verdict of the whole, if the clients' verdicts agree with it. Clients with different limits have no
/// common one.
pub(super) fn verdict(names: &[String], limits: &[LimitedBy], whole: Verdict) -> Verdict {
    let count = limits.len();
    if limits.iter().all(|limit| *limit == whole.limited_by) {
        let behind = format!(" (the same for all {count} clients)");
        let Verdict { limited_by, finding, mut statement, mut advice, evidence, .. } = whole;
        if advice.is_empty() { &mut statement } else { &mut advice }.push_str(&behind);
        return Verdict::new(limited_by, finding, statement, advice, evidence);
    }
    let by_limit = by_key(limits.iter().zip(names.iter().map(String::as_str)));
    let each = by_limit.iter().map(|(limit, of)| {
        let limit = match limit {
            LimitedBy::Unknown => "something unknown",
            known => known.name(),
        };
        format!("{} by {limit}", of.join(", "))
    });
    let each = each.collect::<Vec<_>>().join("; ");
    let statement = escape(format!("the clients were limited by different things ({each})"));
    let advice = "look at each (keystorm show)".to_owned();
    Verdict::new(LimitedBy::Unknown, None, statement, advice, whole.evidence)
}

/// The clients' own warnings, and one if they did not run at the same time.
pub(super) fn warnings(names: &[String], shares: &[Run]) -> Vec<Warning> {
    let mut warnings = unique(shares.iter().flat_map(|share| share.warnings.iter().cloned()));
    let started = |share: &Run| share.measurement.started_at;
    let shortest_ns = shares.iter().map(|share| share.measurement.elapsed_ns).min();
    let first = shares.iter().map(started).min();
    let last = names.iter().zip(shares).max_by_key(|(_, share)| started(share));
    if let (Some(first), Some((name, share)), Some(shortest_ns)) = (first, last, shortest_ns) {
        let late = started(share).duration_since(first).unwrap_or_default();
        // A hundredth moves no figure by more than that.
        if late.as_nanos() > u128::from(shortest_ns / 100) {
            let text = format!(
                "{name} started {:.3} s after the first client; until then the load was not \
                 complete",
                late.as_secs_f64()
            );
            warnings.push(Warning::new(WarningKind::ClientLate, text));
        }
    }
    warnings
}

/// Joins the parts of these comma-separated texts, each part once.
pub(super) fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    unique(texts.flat_map(|text| text.split(", "))).join(", ")
}
