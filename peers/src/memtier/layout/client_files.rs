//! Its file of each connection: seconds, and how latencies spread over the whole run.

use std::fmt::Write;

use measure::{ConnectionSecond, ConnectionTrace};
use report::Summary;

use super::distribution::distribution;
use super::{MemtierHistogram, Rows, Style};

/// The files of run number `run`, one for each connection: the name after the prefix, with thread and number of
/// the connection, and the text.
pub(crate) fn client_files(
    summary: &Summary<'_>,
    style: &Style,
    run: usize,
) -> Vec<(String, String)> {
    // Every line has columns of its own.
    let rows = Rows::from_plan(&summary.run.plan, &Style { merged: false, ..style.clone() });
    let in_cluster = summary.run.plan.target.is_cluster();
    let threads = summary.run.measurement.by_connection.iter().enumerate();
    let connections = threads.flat_map(|(thread, by)| {
        by.connections().iter().enumerate().map(move |(client, traces)| (thread, client, traces))
    });
    connections
        .map(|(thread, client, traces)| {
            let traces = Traces::new(traces, &rows);
            let of_cluster = if in_cluster { cluster_seconds(&traces) } else { String::new() };
            (format!("-{run}-{thread}-{client}.csv"), text(&traces) + &of_cluster)
        })
        .collect()
}

/// Figures of one connection, row by row.
struct Traces<'r> {
    names: &'r [String],
    built_in: bool,
    seconds: Vec<Vec<ConnectionSecond>>,
    cells: Vec<MemtierHistogram>,
}

impl<'r> Traces<'r> {
    fn new(traces: &[ConnectionTrace], rows: &'r Rows) -> Self {
        let Rows { names, of, built_in, .. } = rows;
        let length = traces.iter().map(|trace| trace.seconds.len()).max().unwrap_or_default();
        let mut seconds = vec![vec![ConnectionSecond::default(); names.len()]; length];
        let mut cells = vec![MemtierHistogram::default(); names.len()];
        for (trace, row) in traces.iter().zip(of) {
            cells[*row].add(&trace.service);
            for (second, of_second) in trace.seconds.iter().zip(&mut seconds) {
                of_second[*row].add(second);
            }
        }
        Self { names, built_in: *built_in, seconds, cells }
    }
}

fn text(traces: &Traces<'_>) -> String {
    let mut out = if traces.built_in { built_in_seconds(traces) } else { command_seconds(traces) };
    // As there: GET before SET.
    let mut order: Vec<usize> = (0..traces.names.len()).collect();
    if traces.built_in {
        order.swap(0, 1);
    }
    for row in order {
        let _ =
            write!(out, "\nFull-Test {} Latency\nLatency (<= msec),Percent\n", traces.names[row]);
        for step in distribution(&traces.cells[row]) {
            let _ = writeln!(out, "{:>8.3},{:.3}", step.ms, step.percent);
        }
    }
    out
}

/// Formats seconds: a title, the names of columns, and a line each.
fn seconds(
    traces: &Traces<'_>,
    title: &str,
    columns: impl Iterator<Item = String>,
    line: impl Fn(&[ConnectionSecond]) -> String,
) -> String {
    let columns: String = columns.map(|column| format!(",{column}")).collect();
    let mut out = format!("{title}\nSecond{columns}\n");
    for (number, second) in traces.seconds.iter().enumerate() {
        let _ = writeln!(out, "{number},{}", line(second));
    }
    out
}

/// Names of the columns of [`figures`].
fn columns(name: &str) -> impl Iterator<Item = String> {
    ["Requests", "Average Latency", "Total Bytes", "Total Bytes TX", "Total Bytes RX"]
        .map(|what| format!("{name} {what}"))
        .into_iter()
}

fn built_in_seconds(traces: &Traces<'_>) -> String {
    let others = ["GET Misses", "GET Hits", "WAIT Requests", "WAIT Average Latency"];
    let columns = columns("SET").chain(columns("GET")).chain(others.map(str::to_owned));
    seconds(traces, "Per-Second Benchmark Data", columns, |second| {
        // In the order of the rows.
        let [set, get, wait] = [0, 1, 2].map(|row| second.get(row).copied().unwrap_or_default());
        let (misses, hits, waits) = (get.miss, get.ok, wait.replies());
        format!("{},{},{misses},{hits},{waits},{}", figures(&set), figures(&get), average(&wait))
    })
}

/// Formats what nodes of a cluster sent on, second by second.
fn cluster_seconds(traces: &Traces<'_>) -> String {
    // A WAIT goes to no node in particular.
    let rows = if traces.built_in { 2 } else { traces.names.len() };
    let names = traces.names.iter().take(rows);
    let columns = names.flat_map(|name| [format!("{name} Moved"), format!("{name} Ask")]);
    seconds(traces, "\nPer-Second Benchmark Cluster Data", columns, |second| {
        let counts = second.iter().take(rows).map(|row| format!("{},{}", row.moved, row.asked));
        counts.collect::<Vec<_>>().join(",")
    })
}

fn command_seconds(traces: &Traces<'_>) -> String {
    let columns = traces.names.iter().flat_map(|name| columns(name));
    // With a comma at the end of the line, as there.
    seconds(traces, "Per-Second Benchmark Arbitrary Commands Data", columns, |second| {
        second.iter().map(|row| figures(row) + ",").collect()
    })
}

/// Requests, their average latency, and bytes: all, sent, received.
fn figures(second: &ConnectionSecond) -> String {
    let ConnectionSecond { bytes_in, bytes_out, .. } = *second;
    let requests = second.replies();
    format!("{requests},{},{},{bytes_out},{bytes_in}", average(second), bytes_in + bytes_out)
}

/// Mean latency in seconds, to the microsecond.
fn average(second: &ConnectionSecond) -> String {
    let us = second.service_ns / 1000 / u128::from(second.replies().max(1));
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{ByConnection, Outcome, Sample};

    const MS: u64 = 1_000_000;

    /// A connection that sent a SET of 40 bytes and, two seconds later, two GETs of which one missed.
    fn traces() -> ByConnection {
        let mut by = ByConnection::new(1, 2, true, 60);
        by.begin(0);
        by.put_together(0, 40);
        by.sent(0, 40, MS);
        let set = Sample {
            command: 0,
            outcome: Outcome::Ok,
            count: 1,
            bytes: 5,
            intended_ns: 0,
            sent_ns: MS,
            first_byte_ns: 0,
            arrived_ns: None,
            done_ns: 3 * MS,
        };
        by.record(0, &set);
        let get = Sample { command: 1, bytes: 38, sent_ns: 2000 * MS, done_ns: 2001 * MS, ..set };
        by.record(0, &get);
        by.record(0, &Sample { outcome: Outcome::Miss, ..get });
        by
    }

    fn rows(names: &[&str], built_in: bool) -> Rows {
        Rows {
            names: names.iter().map(|n| (*n).to_owned()).collect(),
            of: vec![0, 1],
            built_in,
            lookups: false,
        }
    }

    #[test]
    fn sets_and_gets_have_a_line_a_second() {
        let by = traces();
        let rows = rows(&["SET", "GET", "WAIT"], true);
        let text = text(&Traces::new(&by.connections()[0], &rows));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Per-Second Benchmark Data");
        assert_eq!(lines[1].split(',').count(), lines[2].split(',').count());
        assert_eq!(lines[2], "0,1,0.002000,45,40,5,0,0.000000,0,0,0,0,0,0,0.000000");
        assert_eq!(lines[4], "2,0,0.000000,0,0,0,2,0.001000,76,0,76,1,1,0,0.000000");
        assert_eq!(lines[5..8], ["", "Full-Test GET Latency", "Latency (<= msec),Percent"]);
        assert_eq!(lines[8], "   1.007,0.000");
        let titles = lines.iter().filter(|line| line.starts_with("Full-Test"));
        let kinds: Vec<_> = titles.map(|title| title.split(' ').nth(1).unwrap()).collect();
        assert_eq!(kinds, ["GET", "SET", "WAIT"]);
        assert_eq!(lines.last(), Some(&"   0.000,100.000"));
    }

    #[test]
    fn what_a_cluster_sent_on_has_lines_of_its_own() {
        let mut by = traces();
        by.redirected(0, 0, false, MS);
        by.redirected(0, 1, true, 1001 * MS);
        let rows = rows(&["SET", "GET", "WAIT"], true);
        let text = cluster_seconds(&Traces::new(&by.connections()[0], &rows));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..3],
            ["Per-Second Benchmark Cluster Data", "Second,SET Moved,SET Ask,GET Moved,GET Ask",]
        );
        assert_eq!(lines[3..], ["0,1,0,0,0", "1,0,0,0,1", "2,0,0,0,0"]);
    }

    #[test]
    fn commands_of_ones_own_have_columns_each() {
        let by = traces();
        let text = text(&Traces::new(&by.connections()[0], &rows(&["HSET", "HGETALL"], false)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Per-Second Benchmark Arbitrary Commands Data");
        assert!(lines[1].starts_with("Second,HSET Requests,HSET Average Latency,HSET Total Bytes"));
        assert_eq!(lines[2], "0,1,0.002000,45,40,5,0,0.000000,0,0,0,");
        assert!(text.contains("\n\nFull-Test HSET Latency\n"));
    }
}
