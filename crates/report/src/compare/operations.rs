//! The operations of a mix, compared: the same figures of each that reports have.

use super::rows::row;
use super::sittings::Excuse;
use super::{Row, RunDigest, Setup};
use crate::{Figures, Metric, OperationFigures};

/// What is compared of an operation, in the order of reports.
const COMPARED: [Metric; 4] = [Metric::Throughput, Metric::P50, Metric::P99, Metric::P99_9];

/// One operation of both sides.
#[derive(Debug, Clone)]
pub struct OperationComparison {
    /// Its name, safe for a terminal.
    pub name: String,
    /// A row for each figure that both sides know.
    pub rows: Vec<Row>,
}

/// The figures of each operation of a run, by name.
pub(super) fn figures(operations: &[OperationFigures]) -> Vec<(String, Figures)> {
    operations.iter().map(|of| (of.name.clone(), Figures::of_operation(of))).collect()
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
    let operation = |(name, _): &(String, Figures)| {
        let sides = [of(name, a)?, of(name, b)?];
        let rows = COMPARED.into_iter();
        let rows = rows.filter_map(|metric| row(metric, setup, sides.each_ref(), excuse));
        Some(OperationComparison { name: name.clone(), rows: rows.collect() })
    };
    names.filter_map(operation).collect()
}
