//! New connections on a page: the duration of each stage of opening.

use crate::{LatencyFigures, Summary, grouped};

use crate::page::{Block, Column, Table, Unit};

/// A table with a row for each stage; `None` for a run on lasting connections.
pub(super) fn blocks(summary: &Summary<'_>) -> Option<Block> {
    let scheduled = summary.target_rps().is_some();
    let due = scheduled.then_some(("from due to the first reply", summary.response));
    let whole = [("from asking to the first reply", summary.service)].into_iter().chain(due);
    let time = |ns: f64| Unit::Nanoseconds.show(ns);
    let columns: [Column<'_, (&str, LatencyFigures)>; 8] = [
        ("stage", &|(name, _)| (*name).to_owned()),
        ("avg", &|(_, of)| time(of.mean_ns)),
        ("min", &|(_, of)| time(of.min_ns as f64)),
        ("p50", &|(_, of)| time(of.p50_ns as f64)),
        ("p95", &|(_, of)| time(of.p95_ns as f64)),
        ("p99", &|(_, of)| time(of.p99_ns as f64)),
        ("max", &|(_, of)| time(of.max_ns as f64)),
        ("connections", &|(_, of)| grouped(of.count as f64)),
    ];
    let stages = summary.connects.iter().copied().chain(whole);
    (!summary.connects.is_empty()).then(|| Block::Table(Table::of(&columns, stages)))
}
