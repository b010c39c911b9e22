//! The tables of one test: its latencies, its nodes, its operations and its commands.

use report::{Lookups, Run, Summary, grouped};

use super::figures::{LATENCIES, cell, figure, latencies, mean};
use crate::{Block, Table, Unit};

/// Per command, per kind of error, per connection and per worker.
pub(super) fn tables(summary: &Summary<'_>) -> Vec<Block> {
    let run = summary.run;
    let total = &run.measurement.total;
    let mut blocks: Vec<Block> = operations(summary).map(Block::Table).into_iter().collect();
    // Of deliveries the latencies are no command's, and stand above.
    blocks.extend(summary.deliveries.is_none().then(|| Block::Table(commands(run))));
    blocks.extend(nodes(summary));
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
        ("connections lost".to_owned(), grouped(connections.dropped as f64)),
        (
            match summary.deliveries {
                Some(_) => "messages never answered".to_owned(),
                None => "requests never answered".to_owned(),
            },
            grouped(connections.unanswered as f64),
        ),
    ];
    if let Some(tls) = &summary.tls {
        pairs.push(("TLS".to_owned(), tls.negotiated.clone()));
        pairs.extend(tls.resumed.map(|n| ("sessions resumed".to_owned(), grouped(n as f64))));
    }
    blocks.push(Block::KeyValues(pairs));
    let all = &run.measurement.workers;
    // Those of receivers stand behind the others.
    let senders = all.len().saturating_sub(usize::from(run.plan.receiver_threads()));
    let mut workers = Table::new(["worker", "busy", "CPU time"]);
    for (number, worker) in all.iter().enumerate() {
        workers.row([
            match number.checked_sub(senders) {
                _ if run.plan.delivery.is_none() => (number + 1).to_string(),
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

/// Makes the table of the cluster nodes with a part in the load.
fn nodes(summary: &Summary<'_>) -> Option<Block> {
    let mut table = Table::new([
        "node", "role", "slots", "requests", "share", "errors", "moved", "asked", "retried",
        "avg (ms)", "p50 (ms)", "p99 (ms)", "max (ms)",
    ]);
    for node in &summary.nodes {
        let counts = [node.errors, node.moved, node.asked, node.retried];
        let figures = [node.response.p50_ns, node.response.p99_ns, node.response.max_ns];
        let role = if node.master { "master" } else { "replica" };
        let share = node.requests as f64 / summary.requests.max(1) as f64;
        let mut row = vec![node.name.clone(), role.to_owned(), grouped(f64::from(node.slots))];
        row.extend([grouped(node.requests as f64), Unit::Share.show_even(share)]);
        row.extend(counts.map(|n| grouped(n as f64)));
        let known = |text: String| if node.response.count == 0 { "–".to_owned() } else { text };
        row.push(known(report::msec(node.response.mean_ns)));
        row.extend(figures.map(|ns| known(report::msec_at_most(ns))));
        table.row(row);
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// Makes the table of the operations of a mix.
fn operations(summary: &Summary<'_>) -> Option<Table> {
    let mut table = Table::new([
        "operation",
        "count",
        "per second",
        "hits",
        "misses",
        "errors",
        "avg (ms)",
        "p50 (ms)",
        "p95 (ms)",
        "p99 (ms)",
        "p99.9 (ms)",
        "max (ms)",
        "bytes sent",
        "bytes received",
    ]);
    for operation in &summary.operations {
        let all = operation.tally.response();
        let mut row = vec![operation.name.clone()];
        row.extend([grouped(operation.count as f64), grouped(operation.rate_per_s)]);
        let counts = [operation.hits, operation.misses, operation.errors];
        row.extend(counts.map(|count| grouped(count as f64)));
        row.push(mean(all));
        row.extend([0.5, 0.95, 0.99, 0.999, 1.0].map(|q| cell(all, q)));
        row.extend([operation.bytes_out, operation.bytes_in].map(|n| grouped(n as f64)));
        table.row(row);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Makes the table of the different commands of the sequence.
fn commands(run: &Run) -> Table {
    let mut table = Table::new(["command", "hits", "misses"].into_iter().chain(LATENCIES));
    let different = run.plan.different_commands().commands;
    let total = &run.measurement.total;
    let looked = Lookups::of_commands(&run.plan, total);
    for ((spec, tally), lookups) in different.iter().zip(&total.commands).zip(looked) {
        let mut row = vec![spec.name()];
        row.extend(lookups.map_or(["-".to_owned(), "-".to_owned()], |of| {
            [of.hits, of.misses].map(|count| grouped(count as f64))
        }));
        row.extend(latencies(tally.response()));
        table.row(row);
    }
    table
}
