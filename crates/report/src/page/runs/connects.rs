//! New connections on a page: the duration of each stage of opening.

use crate::{LatencyFigures, Summary, grouped};

use crate::page::{Block, Table, Unit};

/// A table with a row for each stage; `None` for a run on lasting connections.
pub(super) fn blocks(summary: &Summary<'_>) -> Option<Block> {
    let stages = summary.connects.as_ref()?;
    let mut table = Table::new(["stage", "avg", "min", "p50", "p95", "p99", "max", "connections"]);
    let mut row = |name: &str, of: &LatencyFigures| {
        let bounds = [of.p50_ns, of.p95_ns, of.p99_ns, of.max_ns].map(|ns| ns as f64);
        let times = [of.mean_ns, of.min_ns as f64].into_iter().chain(bounds);
        let times = times.map(|ns| Unit::Nanoseconds.show(ns));
        let cells = std::iter::once(name.to_owned()).chain(times);
        table.row(cells.chain([grouped(of.count as f64)]).collect::<Vec<_>>());
    };
    stages.stages().for_each(|(name, figures)| row(name, figures));
    row("from asking to the first reply", &summary.service);
    if summary.target_rps().is_some() {
        row("from due to the first reply", &summary.response);
    }
    Some(Block::Table(table))
}
