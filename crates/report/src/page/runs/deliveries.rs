//! Messages and their deliveries on a page: the duration of each part of their way, and their outcome.

use crate::{DeliveryFigures, Run, Summary, grouped, topics};
use measure::{Deliveries, DeliveryCounts};
use workload::quantity::counted;

use super::over_time::over_time;
use crate::page::{Axis, Block, Chart, Tone, Unit, sentence};

/// The way of the messages as a table, and a note of problems; empty for a run without receivers.
pub(super) fn blocks(summary: &Summary<'_>) -> Vec<Block> {
    let Some(figures) = &summary.deliveries else { return Vec::new() };
    let mut blocks = Vec::new();
    if figures.deliveries.is_faulty() {
        let text = format!("Deliveries: {}.", figures.received());
        blocks.push(Block::Note(Tone::Warning, text));
    }
    blocks.push(Block::Table(topics::way(summary, figures)));
    blocks
}

/// The messages in flight over time; `None` for a run without queues.
pub(super) fn backlog(run: &Run) -> Option<Chart> {
    /// Most points; a screen cannot show more.
    const POINTS_MAX: usize = 240;
    let waits = run.measurement.deliveries.as_ref()?.waits.as_ref()?;
    let (most, _) = waits.backlogs()?;
    let chart =
        over_time("Backlog over time", Axis::linear("messages sent and not received", Unit::Count));
    let groups = waits.backlog.chunks(waits.backlog.len().div_ceil(POINTS_MAX));
    let greatest = groups.filter_map(|group| group.iter().max_by_key(|at| at.messages));
    let points = greatest.map(|at| (at.at_ns as f64 / 1e9, at.messages as f64));
    let (most, at) = (counted(most.messages, "message"), most.at_ns as f64 / 1e9);
    let note = format!("At most {most} at {}.", Unit::Seconds.show(at));
    Some(chart.with("backlog", points).noted(note))
}

/// The counts of messages and deliveries; empty for a run without receivers.
pub(super) fn counts(summary: &Summary<'_>) -> Vec<Block> {
    let Some(figures) = &summary.deliveries else { return Vec::new() };
    let lines = figures.lines().into_iter().map(|line| Block::Text(sentence(&line)));
    std::iter::once(Block::Heading("Messages and deliveries".to_owned())).chain(lines).collect()
}

/// The top figures: received messages, and the number sent for them.
pub(super) fn key_figures(figures: &DeliveryFigures<'_>) -> Vec<(String, String)> {
    let Deliveries { counts, expected, .. } = figures.deliveries;
    let DeliveryCounts { received, doubled, out_of_order, .. } = *counts;
    let mut shown = vec![
        ("messages sent per second".to_owned(), grouped(figures.sent_rps)),
        (
            "deliveries received".to_owned(),
            format!("{} of {}", grouped(received as f64), grouped(*expected as f64)),
        ),
        ("lost".to_owned(), grouped(figures.deliveries.lost() as f64)),
    ];
    for (name, count) in [("doubled", doubled), ("out of order", out_of_order)] {
        if count > 0 {
            shown.push((name.to_owned(), grouped(count as f64)));
        }
    }
    shown
}
