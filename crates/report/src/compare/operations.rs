//! Comparison of operations of a mix, or of commands of recorded traffic, by the figures in reports.

use super::rows::row;
use super::sittings::Excuse;
use super::{RatioRow, RunDigest, Setup};
use crate::{Figures, Metric};

/// Figures of an operation that are compared, in the order of reports.
const COMPARED: [Metric; 5] =
    [Metric::Throughput, Metric::P50, Metric::P99, Metric::P99_9, Metric::ServerCpu];

/// Latency from which a rare recorded command is compared, as all others wait for it.
const SLOW_MS: f64 = 10.0;

/// Comparison of one operation on both sides.
#[derive(Debug, Clone)]
pub struct OperationComparison {
    /// Name of the operation, safe for a terminal.
    pub name: String,
    /// A row for each figure that both sides have.
    pub rows: Vec<RatioRow>,
}

/// Compares the operations that all runs of both sides have.
pub(super) fn compared(
    setup: &Setup,
    [a, b]: [&[RunDigest]; 2],
    excuse: &Excuse,
) -> Vec<OperationComparison> {
    let names = a.first().into_iter().flat_map(|glance| &glance.operations);
    let of = |name: &str, side: &[RunDigest]| -> Option<Vec<Figures>> {
        let find = |glance: &RunDigest| {
            glance.operations.iter().find(|(known, _)| known == name).map(|(_, figures)| *figures)
        };
        side.iter().map(find).collect()
    };
    let operations = names.filter_map(|(name, _)| {
        let sides = [of(name, a)?, of(name, b)?];
        let rows = COMPARED.into_iter();
        let rows = rows.filter_map(|metric| row(metric, setup, sides.each_ref(), excuse));
        let is_rare = setup.by_command && sides.iter().flatten().any(Figures::is_rare);
        let rows = rows.filter(|row| !is_rare || row.means.iter().any(|ms| *ms >= SLOW_MS));
        Some(OperationComparison { name: name.clone(), rows: rows.collect() })
            .filter(|of| !of.rows.is_empty())
    });
    operations.collect()
}
