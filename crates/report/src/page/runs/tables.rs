//! The tables of one test: its latencies, its nodes, its operations and its commands.

use crate::{CommandFigures, Summary, grouped, topics};

use super::figures::figure;
use crate::page::{Block, Table, Unit};

/// Per command, per kind of error, per connection and per worker.
pub(super) fn tables(summary: &Summary<'_>) -> Vec<Block> {
    let run = summary.run;
    let total = &run.measurement.total;
    let operations = topics::operations(summary);
    let commands = CommandFigures::of_plan(&run.plan, total);
    // The latencies of deliveries belong to no command, and are shown above.
    let commands = commands.iter().filter(|_| summary.deliveries.is_none());
    let tables = [operations, topics::commands(commands)].into_iter();
    let tables = tables.chain(topics::nodes(&summary.nodes)).filter(|table| !table.rows.is_empty());
    let mut blocks: Vec<Block> = tables.map(Block::Table).collect();
    if summary.errors > 0 {
        let mut errors = Table::new(["kind of error", "replies", "share of requests"]);
        for (kind, count) in total.errors.by_kind() {
            let share = *count as f64 / summary.requests.max(1) as f64;
            errors.row([kind.clone(), grouped(*count as f64), Unit::Share.show(share)]);
        }
        blocks.push(Block::Table(errors));
        let mut texts = Table::new(["error text from the server"]);
        for text in total.errors.examples() {
            texts.row([text.clone()]);
        }
        blocks.push(Block::Table(texts));
    }
    let connections = &total.connections;
    let seconds = summary.elapsed_s;
    let per_s = |bytes: u64| if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
    let mut pairs = vec![
        ("measured for".to_owned(), Unit::Seconds.show(seconds)),
        ("sent".to_owned(), traffic(connections.bytes_out, per_s(connections.bytes_out))),
        ("received".to_owned(), traffic(connections.bytes_in, per_s(connections.bytes_in))),
        ("connections opened".to_owned(), grouped(connections.connect.count() as f64)),
        ("time to connect, 99th percentile".to_owned(), figure(&connections.connect, 0.99)),
    ];
    let known = [topics::troubles(summary), topics::counters(summary), topics::negotiated(summary)];
    pairs.extend(known.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)));
    blocks.push(Block::KeyValues(pairs));
    let all = &run.measurement.workers;
    // Threads of receivers follow the others.
    let senders = all.len().saturating_sub(usize::from(run.plan.receiver_threads()));
    let mut workers = Table::new(["worker", "busy", "CPU time"]);
    for (number, worker) in all.iter().enumerate() {
        workers.row([
            match number.checked_sub(senders) {
                _ if !run.plan.has_receivers() => (number + 1).to_string(),
                None => format!("sender {}", number + 1),
                Some(receiver) => format!("receiver {}", receiver + 1),
            },
            Unit::Share.show(worker.busy()),
            Unit::Nanoseconds.show(worker.cpu_ns as f64),
        ]);
    }
    if !workers.rows.is_empty() {
        blocks.push(Block::Table(workers));
    }
    blocks
}

fn traffic(bytes: u64, per_s: f64) -> String {
    format!("{} ({})", Unit::Bytes.show(bytes as f64), Unit::BytesPerSecond.show(per_s))
}
