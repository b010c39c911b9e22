//! Clients that generated the load of a test, and the probe beside it.

use report::{CLIENT_COLUMNS, Clients, Probe, Summary};

use super::figures::{LATENCIES, latencies};
use crate::{Block, Table, Tone};

/// Blocks with the probe first, as its latencies are those of a user of the server.
pub(super) fn blocks(summary: &Summary<'_>) -> Vec<Block> {
    let run = summary.run;
    let mut blocks = Vec::new();
    blocks.extend(run.probe.as_ref().map(|probed| Block::Table(probe(probed, summary))));
    if let Some(probed) = &run.clients {
        let lost =
            probed.rows.iter().enumerate().filter_map(|(at, row)| Some((at, row.lost.as_ref()?)));
        blocks.extend(
            lost.map(|(at, why)| {
                Block::Note(Tone::Bad, format!("{}: lost {why}", probed.called(at)))
            }),
        );
        blocks.push(Block::Table(clients(probed)));
    }
    blocks
}

fn probe(probe: &Probe, summary: &Summary<'_>) -> Table {
    let mut table = Table::new(["response time of"].into_iter().chain(LATENCIES));
    table.caption = format!("Probe: {}", probe.describe());
    for (who, response) in [("the probe", &probe.response), ("the load", &summary.response_times)] {
        table.row([who.to_owned()].into_iter().chain(latencies(response)));
    }
    table
}

fn clients(clients: &Clients) -> Table {
    let shown = clients.standing_out();
    let mut table = Table::new(CLIENT_COLUMNS);
    table.caption = clients.beginning();
    let more = clients.rows.len() - shown.len();
    if more > 0 {
        table.caption += &format!("; {more} more are in the --json file");
    }
    for row in shown {
        table.row(row.cells());
    }
    table
}
