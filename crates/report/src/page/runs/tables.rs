//! The tables of one test: its latencies, its nodes, its operations and its commands.

use measure::WorkerUse;

use crate::{CommandFigures, Summary, grouped, topics};

use super::figures::figure;
use crate::page::{Block, Column, Table, Unit};

/// Per command, per kind of error, per connection and per worker.
pub(super) fn tables(summary: &Summary<'_>) -> Vec<Block> {
    let run = summary.run;
    let total = &run.measurement.total;
    let operations = topics::operations(summary);
    let commands = CommandFigures::of_plan(&run.plan, total);
    // The latencies of deliveries belong to no command, and are shown above.
    let commands = commands.iter().filter(|_| summary.deliveries.is_none());
    let tables = [operations, topics::commands(commands)].into_iter();
    let tables = tables.chain(topics::nodes(&summary.nodes)).filter_map(Table::filled);
    let mut blocks: Vec<Block> = tables.map(Block::Table).collect();
    if summary.errors > 0 {
        let all = summary.requests.max(1) as f64;
        let columns: [Column<'_, &(String, u64)>; 3] = [
            ("kind of error", &|(kind, _)| kind.clone()),
            ("replies", &|(_, count)| grouped(*count as f64)),
            ("share of requests", &|(_, count)| Unit::Share.show(*count as f64 / all)),
        ];
        blocks.push(Block::Table(Table::of(&columns, total.errors.by_kind())));
        let texts: [Column<'_, &String>; 1] =
            [("error text from the server", &|text| (*text).clone())];
        blocks.push(Block::Table(Table::of(&texts, total.errors.examples())));
    }
    let connections = &total.connections;
    let seconds = summary.elapsed_s;
    let per_s = |bytes: u64| if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
    let mut pairs = vec![
        ("measured for", Unit::Seconds.show(seconds)),
        ("sent", traffic(connections.bytes_out, per_s(connections.bytes_out))),
        ("received", traffic(connections.bytes_in, per_s(connections.bytes_in))),
        ("connections opened", grouped(connections.connect.count() as f64)),
        ("time to connect, 99th percentile", figure(&connections.connect, 0.99)),
    ];
    let known = [topics::troubles(summary), topics::counters(summary), topics::negotiated(summary)];
    pairs.extend(known.into_iter().flatten());
    blocks.push(Block::pairs(pairs));
    let all = &run.measurement.workers;
    // Threads of receivers follow the others.
    let senders = all.len().saturating_sub(usize::from(run.plan.receiver_threads()));
    let columns: [Column<'_, (usize, &WorkerUse)>; 3] = [
        ("worker", &|(number, _)| match number.checked_sub(senders) {
            _ if !run.plan.has_receivers() => (number + 1).to_string(),
            None => format!("sender {}", number + 1),
            Some(receiver) => format!("receiver {}", receiver + 1),
        }),
        ("busy", &|(_, worker)| Unit::Share.show(worker.busy())),
        ("CPU time", &|(_, worker)| Unit::Nanoseconds.show(worker.cpu_ns as f64)),
    ];
    blocks.extend(Table::of(&columns, all.iter().enumerate()).filled().map(Block::Table));
    blocks
}

fn traffic(bytes: u64, per_s: f64) -> String {
    format!("{} ({})", Unit::Bytes.show(bytes as f64), Unit::BytesPerSecond.show(per_s))
}
