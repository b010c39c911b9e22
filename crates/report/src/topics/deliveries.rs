//! The way of messages to their receivers.

use measure::Latency;

use crate::document::Table;
use crate::metric::COLUMNS;
use crate::{DeliveryFigures, LatencyFigures, Metric, Summary, grouped};

/// A part of the way of messages, with its latency.
#[derive(Debug, Clone)]
pub(crate) struct WayPart {
    /// Name of the part.
    pub(crate) name: String,
    /// The event at its beginning.
    pub(crate) from: &'static str,
    /// The event at its end.
    pub(crate) to: &'static str,
    /// The latency from the one to the other.
    pub(crate) figures: LatencyFigures,
}

impl DeliveryFigures<'_> {
    /// Returns the parts of the way of messages that were measured; the first is the headline.
    pub(crate) fn way(&self, summary: &Summary<'_>) -> Vec<WayPart> {
        let is_open = summary.target_rps().is_some();
        let figures = |latency: Option<&Latency>| latency.map(LatencyFigures::from_latency);
        let of = self.deliveries;
        let acknowledged = figures(of.messages().map(|messages| &messages.service));
        let late = of.sending.lateness.as_ref().filter(|_| is_open);
        let (wait, waits) = self.replica_waits().unzip();
        let replica_wait = wait.map(|of| format!("replica wait ({})", of.name()));
        let replica_wait = replica_wait.unwrap_or_default();
        let sender = "reply to the sender";
        let parts = [
            ("delivery", "due", "received", Some(summary.response)),
            ("first receiver", "due", "received by the first", figures(of.first.as_ref())),
            ("last receiver", "due", "received by all", figures(of.last.as_ref())),
            ("due to sent", "due", "sent", figures(late.map(|late| &late.total))),
            ("sent to received", "sent", "received", is_open.then_some(summary.service)),
            ("wake-up", "sent", "received by one that waited", self.wake_up()),
            (
                "timeout late by",
                "end of the time to wait",
                "reply without a message",
                self.timeout_late(),
            ),
            ("sent to acknowledged", "sent", sender, Some(acknowledged.unwrap_or_default())),
            ("stale window", sender, "invalidation at a cache", self.stale()),
            (
                &*replica_wait,
                sender,
                "acknowledged by so many",
                figures(waits.map(|waits| &waits.service)),
            ),
            (
                "between reads",
                "a read at a replica",
                "the next",
                figures(of.polls.as_ref().map(|polls| &polls.gap)),
            ),
        ];
        let known = parts.into_iter().filter_map(|(name, from, to, figures)| {
            Some(WayPart { name: name.to_owned(), from, to, figures: figures? })
        });
        known.collect()
    }
}

/// The latency of each part of the way.
pub fn way(summary: &Summary<'_>, figures: &DeliveryFigures<'_>) -> Table {
    let names = ["latency", "from", "to"].into_iter().chain(COLUMNS.map(Metric::label));
    let mut table = Table::new(names.chain(["of"]));
    for part in figures.way(summary) {
        let names = [part.name, part.from.to_owned(), part.to.to_owned()].into_iter();
        let cells = names.chain(part.figures.cells_or("–", COLUMNS));
        table.row(cells.chain([grouped(part.figures.count as f64)]));
    }
    table
}
