//! Topics of a run as parts of a document, which its page and its text share.

mod clients;
mod connections;
mod deliveries;
mod nodes;
mod operations;
mod outages;
mod server_latency;

pub use clients::clients;
pub use connections::{counters, negotiated, troubles};
pub use deliveries::way;
pub use nodes::nodes;
pub use operations::{commands, operations};
pub use outages::story;
pub use server_latency::server_latency;

use crate::{LatencyFigures, Metric};

/// Columns of a distribution in the tables of a run.
pub const LATENCIES: [Metric; 6] =
    [Metric::Mean, Metric::P50, Metric::P95, Metric::P99, Metric::P99_9, Metric::Max];

/// Names of those columns.
pub fn latency_columns() -> [&'static str; 6] {
    LATENCIES.map(Metric::label)
}

/// Cells of those columns.
pub fn latency_cells(figures: &LatencyFigures) -> [String; 6] {
    figures.marked_cells("–", LATENCIES)
}
