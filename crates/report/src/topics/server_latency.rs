//! The server's own latency: execution times of commands, and recorded events.

use crate::document::{Block, Column, Table, Unit};
use crate::{CommandInServer, ServerEvent, ServerLatencyFigures, Summary, grouped};

/// Both as tables, or that nothing was recorded; empty if the servers were not asked.
pub fn server_latency(summary: &Summary<'_>) -> Vec<Block> {
    let Some(found) = ServerLatencyFigures::from_run(summary.run) else { return Vec::new() };
    let time = |us: Option<f64>| us.map_or("-".to_owned(), |us| Unit::Nanoseconds.show(us * 1e3));
    let columns: [Column<'_, &CommandInServer>; 6] = [
        ("command", &|command| command.name.clone()),
        ("calls", &|command| grouped(command.calls as f64)),
        ("ran for, on average", &|command| time(Some(command.mean_us))),
        ("99 % within", &|command| time(command.p99_at_most_us.map(|us| us as f64))),
        ("from sent to reply, on average", &|command| time(command.service_us)),
        ("share of the server's run", &|command| {
            command.share().map_or("-".to_owned(), |share| Unit::Share.show(share))
        }),
    ];
    let mut commands = Table::of(&columns, &found.commands);
    commands.caption =
        "In the server, by its own count; the rest is network, kernels and queues".into();
    let columns: [Column<'_, &ServerEvent>; 2] = [
        ("at", &|event| Unit::Seconds.show(event.t_s.max(0.0))),
        ("what the server recorded", &|event| event.text.clone()),
    ];
    let events = Table::of(&columns, &found.events);
    let nothing = Block::Text("Nothing slow was recorded in the server during the run.".into());
    let nothing = events.rows.is_empty().then_some(nothing);
    let tables = [commands, events].into_iter().filter_map(Table::filled);
    tables.map(Block::Table).chain(nothing).collect()
}
