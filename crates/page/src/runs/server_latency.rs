//! The server's own latency, as tables: execution times of commands, and recorded events.

use report::{CommandInServer, ServerLatencyFigures, Summary, grouped};

use crate::{Block, Table, Unit};

/// Both tables, as far as they have content; empty if the servers were not asked.
pub(super) fn blocks(summary: &Summary<'_>) -> Vec<Block> {
    let Some(found) = ServerLatencyFigures::from_run(summary.run) else { return Vec::new() };
    let mut blocks = Vec::new();
    let time = |us: Option<f64>| us.map_or("-".to_owned(), |us| Unit::Nanoseconds.show(us * 1e3));
    let mut table = Table::new([
        "command",
        "calls",
        "ran for, on average",
        "99 % within",
        "from sent to reply, on average",
        "share of the server's run",
    ]);
    table.caption =
        "In the server, by its own count; the rest is network, kernels and queues".into();
    for command in &found.commands {
        let CommandInServer { name, calls, mean_us, p99_at_most_us, service_us } = command;
        table.row([
            name.clone(),
            grouped(*calls as f64),
            time(Some(*mean_us)),
            time(p99_at_most_us.map(|us| us as f64)),
            time(*service_us),
            command.share().map_or("-".to_owned(), |share| Unit::Share.show(share)),
        ]);
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    let mut table = Table::new(["at", "what the server recorded"]);
    for event in found.events {
        table.row([Unit::Seconds.show(event.t_s.max(0.0)), event.text]);
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks
}
