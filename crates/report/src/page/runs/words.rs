//! Words of a page for what its runs measure: replies to requests, or deliveries of messages.

use workload::quantity::counted;

use crate::Run;

/// Words with which charts of a run name its measurements.
pub(super) struct ChartWords {
    /// Name of the line of replies.
    pub(super) answered: &'static str,
    /// The axis of response times.
    pub(super) response: &'static str,
    /// The axis of response times and service times.
    pub(super) latency: &'static str,
    /// The lines of these two.
    pub(super) lines: [&'static str; 2],
    /// Noun of the counted deliveries.
    pub(super) counted: &'static str,
    /// Noun of the replies in cells of heat maps.
    pub(super) replies: &'static str,
    /// Noun of one of them, as in the CPU time that each takes.
    pub(super) each: &'static str,
    /// Titles of the charts of latency and throughput over time, all latencies over time, and their percentiles.
    pub(super) titles: [&'static str; 4],
}

/// Returns the words of a run, which are about deliveries if it has receivers.
pub(super) fn words(run: &Run) -> ChartWords {
    if run.plan.has_receivers() {
        return ChartWords {
            answered: "received",
            response: "delivery time",
            latency: "delivery time",
            lines: ["due to received", "sent to received"],
            counted: "deliveries",
            replies: "deliveries",
            each: "delivery",
            titles: [
                "Delivery time over time",
                "Deliveries per second over time",
                "All delivery times over time",
                "Delivery time by percentile",
            ],
        };
    }
    ChartWords {
        answered: "answered",
        response: "response time",
        latency: "latency",
        lines: ["response time", "service time"],
        counted: if run.plan.counts_operations() { "operations" } else { "requests" },
        replies: "replies",
        each: "request",
        titles: [
            "Response time over time",
            "Throughput over time",
            "All response times over time",
            "Response time by percentile",
        ],
    }
}

/// Describes the senders and receivers of a run, if it has receivers.
pub(super) fn parties(run: &Run) -> Option<String> {
    let receivers = run.plan.delivery.as_ref()?.receivers;
    let senders = counted(run.plan.own_connections().into(), "sender");
    Some(format!("{senders} to {}", counted(receivers.into(), "receiver")))
}
