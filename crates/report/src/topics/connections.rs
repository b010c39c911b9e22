//! Connections of a run: TLS, requests without a reply, and counts.

use measure::Ending;
use workload::quantity::counted;

use crate::Summary;

/// A name and a value.
type Pair = (&'static str, String);

/// Version and cipher of TLS, and the resumed sessions, as far as known.
pub fn negotiated(summary: &Summary<'_>) -> Vec<Pair> {
    let Some(tls) = &summary.tls else { return Vec::new() };
    let negotiated = Some(&tls.negotiated).filter(|text| !text.is_empty());
    let resumed = tls.resumed.map(|resumed| format!("{resumed} of {} handshakes", tls.handshakes));
    let pairs = [("TLS", negotiated.cloned()), ("TLS sessions resumed", resumed)];
    pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Requests without a reply, requests that were sent again, and connections that were closed; empty without any.
pub fn troubles(summary: &Summary<'_>) -> Vec<Pair> {
    let of = summary.connections();
    let requests = |count: u64| counted(count, "request");
    // Of a run that was broken off, some always are.
    let unanswered = if *summary.ending() == Ending::Complete { of.unanswered } else { 0 };
    let retried = format!("{}, {} in all", requests(of.retried), counted(of.retries, "time"));
    let pairs = [
        (of.lost, "lost with their connection", requests(of.lost)),
        (of.timed_out, "timed out", requests(of.timed_out)),
        (unanswered, "unanswered at the end", requests(unanswered)),
        (of.renewed, "connections closed and reopened on purpose", of.renewed.to_string()),
        (of.retries, "retried", retried),
        (of.dropped, "connections lost", format!("{}, reopened: {}", of.dropped, of.reconnects)),
    ];
    counted_ones(pairs)
}

/// Counts that say nothing of troubles, and that layouts of other tools do not have; empty without any.
pub fn counters(summary: &Summary<'_>) -> Vec<Pair> {
    let of = summary.connections();
    counted_ones([(of.pushes, "push messages", of.pushes.to_string())])
}

/// Pairs whose count is not 0.
fn counted_ones<const N: usize>(pairs: [(u64, &'static str, String); N]) -> Vec<Pair> {
    let counted = pairs.into_iter().filter(|(count, ..)| *count > 0);
    counted.map(|(_, name, value)| (name, value)).collect()
}
