//! The way of messages to their receivers.

use crate::document::Table;
use crate::metric::COLUMNS;
use crate::{DeliveryFigures, LatencyFigures, Metric, Summary, grouped};

/// A part of the way of messages, with its latency.
#[derive(Debug, Clone)]
pub(crate) struct WayPart<'s> {
    /// Name of the part.
    pub(crate) name: String,
    /// The event at its beginning.
    pub(crate) from: &'static str,
    /// The event at its end.
    pub(crate) to: &'static str,
    /// The latency from the one to the other.
    pub(crate) figures: &'s LatencyFigures,
}

impl DeliveryFigures<'_> {
    /// Returns the parts of the way of messages that were measured; the first is the headline.
    pub(crate) fn way<'s>(&'s self, summary: &'s Summary<'_>) -> Vec<WayPart<'s>> {
        let is_open = summary.target_rps().is_some();
        let waits = self.waits.as_ref();
        let wait = self.replicas.as_ref();
        let replica_wait = wait.map(|of| format!("replica wait ({})", of.wait.name()));
        let replica_wait = replica_wait.unwrap_or_default();
        let sender = "reply to the sender";
        let parts = [
            ("delivery", "due", "received", Some(&summary.response)),
            ("first receiver", "due", "received by the first", self.first.as_ref()),
            ("last receiver", "due", "received by all", self.last.as_ref()),
            ("due to sent", "due", "sent", self.late.as_ref().filter(|_| is_open)),
            ("sent to received", "sent", "received", is_open.then_some(&summary.service)),
            (
                "wake-up",
                "sent",
                "received by one that waited",
                waits.and_then(|of| of.wake_up.as_ref()),
            ),
            (
                "timeout late by",
                "end of the time to wait",
                "reply without a message",
                waits.and_then(|of| of.timeout_late.as_ref()),
            ),
            ("sent to acknowledged", "sent", sender, Some(&self.acknowledged)),
            ("stale window", sender, "invalidation at a cache", self.stale.as_ref()),
            (&replica_wait, sender, "acknowledged by so many", wait.map(|of| &of.latency)),
            ("between reads", "a read at a replica", "the next", self.gap.as_ref()),
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
