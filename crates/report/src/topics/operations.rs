//! Operations of a mix, and different commands.

use super::{latency_cells, latency_columns};
use crate::document::Table;
use crate::{CommandFigures, Summary, grouped};

/// The operations of a mix; without rows if there is none.
pub fn operations(summary: &Summary<'_>) -> Table {
    let counts = ["operation", "share", "count", "per second", "hits", "misses", "errors"];
    let columns = counts.into_iter().chain(latency_columns());
    let mut table = Table::new(columns.chain(["bytes sent", "bytes received"]));
    let all = summary.counted().max(1) as f64;
    for operation in &summary.operations {
        let share = format!("{:.1} %", 100.0 * operation.count as f64 / all);
        let mut row = vec![operation.name.clone(), share];
        row.extend([grouped(operation.count as f64), grouped(operation.rate_per_s)]);
        let counts = [operation.hits, operation.tally.missed, operation.tally.failed];
        row.extend(counts.map(|count| grouped(count as f64)));
        row.extend(latency_cells(&operation.response));
        row.extend([operation.bytes_out, operation.bytes_in].map(|n| grouped(n as f64)));
        table.row(row);
    }
    table
}

/// These commands with their hits and misses.
pub fn commands<'c>(of: impl IntoIterator<Item = &'c CommandFigures>) -> Table {
    let mut table = Table::new(["command", "hits", "misses"].into_iter().chain(latency_columns()));
    for command in of {
        let lookups = command.lookups.map(|of| [of.hits, of.misses]);
        let lookups = lookups.map(|counts| counts.map(|count| grouped(count as f64)));
        let lookups = lookups.unwrap_or(["-", "-"].map(str::to_owned));
        let name = std::iter::once(command.name.clone());
        table.row(name.chain(lookups).chain(latency_cells(&command.response)));
    }
    table
}
