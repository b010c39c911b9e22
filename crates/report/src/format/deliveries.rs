//! Faults of deliveries in a report of one line.

use workload::quantity::counted;

use crate::Summary;
use crate::deliveries::backlog;

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
    if let Some(fewer) = figures.replica_waits().map(|(_, waits)| waits.miss).filter(|n| *n > 0) {
        text += &format!(", {} had too few replicas in time", counted(fewer, "message"));
    }
    text
}
