//! The server's own latency: execution times of commands, and recorded events.

use crate::document::{Block, Table, Unit};
use crate::{CommandInServer, ServerLatencyFigures, Summary, grouped};

/// Both as tables, or that nothing was recorded; empty if the servers were not asked.
pub fn server_latency(summary: &Summary<'_>) -> Vec<Block> {
    let Some(found) = ServerLatencyFigures::from_run(summary.run) else { return Vec::new() };
    let time = |us: Option<f64>| us.map_or("-".to_owned(), |us| Unit::Nanoseconds.show(us * 1e3));
    let mut commands = Table::new([
        "command",
        "calls",
        "ran for, on average",
        "99 % within",
        "from sent to reply, on average",
        "share of the server's run",
    ]);
    commands.caption =
        "In the server, by its own count; the rest is network, kernels and queues".into();
    for command in &found.commands {
        let CommandInServer { name, calls, mean_us, p99_at_most_us, service_us } = command;
        commands.row([
            name.clone(),
            grouped(*calls as f64),
            time(Some(*mean_us)),
            time(p99_at_most_us.map(|us| us as f64)),
            time(*service_us),
            command.share().map_or("-".to_owned(), |share| Unit::Share.show(share)),
        ]);
    }
    let mut events = Table::new(["at", "what the server recorded"]);
    for event in found.events {
        events.row([Unit::Seconds.show(event.t_s.max(0.0)), event.text]);
    }
    let nothing = Block::Text("Nothing slow was recorded in the server during the run.".into());
    let nothing = events.rows.is_empty().then_some(nothing);
    let tables = [commands, events].into_iter().filter(|table| !table.rows.is_empty());
    tables.map(Block::Table).chain(nothing).collect()
}
