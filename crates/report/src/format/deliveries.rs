//! Messages and their deliveries in a report.

use std::io::{self, Write};

use workload::quantity::counted;

use crate::deliveries::backlog;
use crate::{DeliveryFigures, LatencyFigures, Summary};

/// Names and figures of the rows of latencies. The first is the headline.
pub(super) fn rows<'s>(
    summary: &'s Summary<'_>,
    figures: &'s DeliveryFigures<'_>,
) -> Vec<(&'static str, &'s LatencyFigures)> {
    let mut rows = vec![("delivery (ms)", &summary.response)];
    rows.extend(figures.first.as_ref().map(|first| ("first receiver", first)));
    rows.extend(figures.last.as_ref().map(|last| ("last receiver", last)));
    if summary.target_rps().is_some() {
        rows.extend(figures.late.as_ref().map(|late| ("due to sent", late)));
        rows.push(("sent to received", &summary.service));
    }
    if let Some(waits) = &figures.waits {
        rows.extend(waits.wake_up.as_ref().map(|wake_up| ("wake-up", wake_up)));
        rows.extend(waits.timeout_late.as_ref().map(|late| ("timeout late by", late)));
    }
    rows.push(("sent to acknowl.", &figures.acknowledged));
    rows.extend(figures.stale.as_ref().map(|stale| ("stale window", stale)));
    rows.extend(figures.replicas.as_ref().map(|replicas| ("replica wait", &replicas.latency)));
    rows.extend(figures.gap.as_ref().map(|gap| ("between reads", gap)));
    rows
}

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
