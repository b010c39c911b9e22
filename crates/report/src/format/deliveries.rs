//! Messages and their deliveries in a report.

use std::io::{self, Write};

use workload::quantity::counted;

use crate::deliveries::backlog;
use crate::{DeliveryFigures, Summary};

/// Writes the counts, a line each.
pub(super) fn write_counts(figures: &DeliveryFigures<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  messages: {}", figures.messages())?;
    writeln!(out, "  deliveries: {}", figures.received())?;
    if let Some(replicas) = &figures.replicas {
        writeln!(out, "  {}", replicas.line())?;
    }
    let removed = figures.deliveries.kept.is_none();
    let waits = figures.waits.iter().flat_map(|waits| waits.lines(removed));
    let lines = figures
        .clocks()
        .into_iter()
        .chain(figures.fairness())
        .chain(figures.cache_lines())
        .chain(waits);
    for line in lines.chain(figures.slow()) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// Describes the faults of deliveries, each after a comma; empty if there are none.
pub(super) fn trouble(summary: &Summary<'_>) -> String {
    let Some(figures) = &summary.deliveries else { return String::new() };
    let mut text = String::new();
    if figures.deliveries.is_faulty() {
        text += &format!(", {}", figures.received());
    }
    if let Some((waiting, _)) = backlog(figures.deliveries) {
        text += &format!(", backlog of {} when the last was sent", counted(waiting, "message"));
    }
    if let Some(fewer) = figures.replicas.map(|replicas| replicas.fewer).filter(|n| *n > 0) {
        text += &format!(", {} had too few replicas in time", counted(fewer, "message"));
    }
    text
}
