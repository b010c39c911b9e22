//! Clients that generated the load of a test, and the probe beside it.

use crate::topics::{self, latency_cells, latency_columns};
use crate::{LatencyFigures, Probe, Summary};

use crate::page::{Block, Table};

/// Blocks with the probe first, as its latencies are those of a user of the server.
pub(super) fn blocks(summary: &Summary<'_>) -> Vec<Block> {
    let run = summary.run;
    let probed = run.probe.as_ref().map(|probed| Block::Table(probe(probed, summary)));
    let clients = run.clients.as_ref().map_or_else(Vec::new, topics::clients);
    probed.into_iter().chain(clients).collect()
}

fn probe(probe: &Probe, summary: &Summary<'_>) -> Table {
    let mut table = Table::new(["response time of"].into_iter().chain(latency_columns()));
    table.caption = format!("Probe: {}", probe.describe());
    for (who, response) in [("the probe", &probe.response), ("the load", &summary.response_times)] {
        let figures = LatencyFigures::from_latency(response);
        table.row([who.to_owned()].into_iter().chain(latency_cells(&figures)));
    }
    table
}
