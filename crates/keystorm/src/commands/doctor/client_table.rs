//! The table of the client's ceiling, as text and as JSON. Its figures are computed elsewhere.

use anyhow::Result;
use serde_json::json;

/// Busy share of a core from which a thread counts as the limit of a cell.
const BUSY: f64 = 0.9;
/// Threads whose busy shares differ by less than this count as equally busy.
const ALIKE: f64 = 0.03;
const WHAT: &str = "the limit of this client on this machine, not a result about a server";

/// Content of the table and of the JSON.
#[derive(Debug)]
pub(super) struct Table {
    /// Command that was sent.
    command: String,
    connections: u32,
    seconds: f64,
    /// CPUs of sink and client.
    cpus: Option<[usize; 2]>,
    notes: Vec<String>,
    pub(super) cells: Vec<Cell>,
}

/// Line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) transport: &'static str,
    pub(super) engine: String,
    pub(super) pipeline: u32,
    /// Requests answered in a second.
    pub(super) requests_per_s: f64,
    /// Microseconds of the client's CPU for each request.
    pub(super) client_cpu_us: f64,
    /// Share of a core that the client used, 0 to 1.
    pub(super) client_busy: f64,
    /// Share of a core that the sink used, 0 to 1.
    pub(super) sink_busy: f64,
}

impl Table {
    pub(super) fn new(
        command: String,
        connections: u32,
        seconds: f64,
        cpus: Option<[usize; 2]>,
        notes: Vec<String>,
    ) -> Self {
        Self { command, connections, seconds, cpus, notes, cells: Vec::new() }
    }

    /// Returns the text above the first line.
    pub(super) fn head(&self) -> String {
        let Self { command, connections, seconds, .. } = self;
        let place = match self.cpus {
            Some([sink, client]) => {
                format!("The client runs on CPU {client}, the sink on CPU {sink}.")
            }
            None => {
                "Client and sink are not pinned: there is one CPU, and they share it.".to_owned()
            }
        };
        let notes: String = self.notes.iter().map(|note| format!("Note: {note}.\n")).collect();
        format!(
            "This is {WHAT}.\n{command} of 3 bytes, {connections} connections, one worker, \
             {seconds} s per line, against a sink: a server that\nonly answers. \
             {place}\n{notes}\n{:<9}  {:<6}  {:>8}  {:>10}  {:>17}  {:>11}  {:>9}  {}\n",
            "transport",
            "engine",
            "pipeline",
            "requests/s",
            "client µs/request",
            "client busy",
            "sink busy",
            "limit",
        )
    }

    /// Returns the text below the last line.
    pub(super) fn foot(&self) -> String {
        let is = |limit| self.cells.iter().any(|cell| cell.limit() == limit);
        let mut foot = String::new();
        if is("sink") {
            foot += "\nWhere the sink was the limit, the client can do more than the line \
                shows.\n";
        }
        if is("neither") {
            foot +=
                "\nWhere neither was the limit, both waited for each other or for the machine.\n";
        }
        foot
    }

    /// The table as JSON; `complete` is set if all lines were measured.
    pub(super) fn json(&self, complete: bool) -> Result<String> {
        let cells: Vec<_> = self.cells.iter().map(Cell::json).collect();
        let table = json!({
            "what": WHAT,
            "command": self.command,
            "value_bytes": 3,
            "connections": self.connections,
            "seconds_each": self.seconds,
            "client_cpu": self.cpus.map(|[_, client]| client),
            "sink_cpu": self.cpus.map(|[sink, _]| sink),
            "notes": self.notes,
            "complete": complete,
            "cells": cells,
        });
        Ok(report::json::pretty(&table)? + "\n")
    }
}

impl Cell {
    pub(super) fn row(&self) -> String {
        let Self { transport, engine, pipeline, requests_per_s, client_cpu_us, .. } = self;
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        format!(
            "{transport:<9}  {engine:<6}  {pipeline:>8}  {requests_per_s:>10.0}  \
             {client_cpu_us:>17.3}  {:>11}  {:>9}  {}\n",
            percent(self.client_busy),
            percent(self.sink_busy),
            self.limit(),
        )
    }

    /// Names the thread that had no CPU time to spare.
    fn limit(&self) -> &'static str {
        let (client, sink) = (self.client_busy, self.sink_busy);
        if client.max(sink) < BUSY {
            "neither"
        } else if (client - sink).abs() < ALIKE {
            "both"
        } else if client > sink {
            "client"
        } else {
            "sink"
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "transport": self.transport,
            "engine": self.engine,
            "pipeline": self.pipeline,
            "requests_per_s": self.requests_per_s,
            "client_cpu_us_per_request": self.client_cpu_us,
            "client_busy": self.client_busy,
            "sink_busy": self.sink_busy,
            "limit": self.limit(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(client_busy: f64, sink_busy: f64) -> Cell {
        Cell {
            transport: "tcp",
            engine: "uring".into(),
            pipeline: 16,
            requests_per_s: 1_234_567.8,
            client_cpu_us: 0.4321,
            client_busy,
            sink_busy,
        }
    }

    #[test]
    fn the_columns_stand_below_each_other() {
        let cpus = Some([0, 1]);
        let table =
            Table::new("SET".to_owned(), 50, 0.25, cpus, vec!["uring is not there".to_owned()]);
        let head = table.head();
        assert!(head.contains("not a result about a server") && head.contains("Note: uring is"));
        assert!(head.lines().all(|line| line.chars().count() <= 100), "{head}");
        let titles = head.lines().last().unwrap();
        let row = cell(1.0, 0.5).row();
        for (title, figure) in [
            ("pipeline", "16"),
            ("requests/s", "1234568"),
            ("request  ", "0.432"),
            ("sink busy", "50 %"),
        ] {
            let end = |line: &str, part: &str| {
                let end = line.find(part).unwrap() + part.trim_end().len();
                line[..end].chars().count()
            };
            assert_eq!(end(titles, title), end(&row, figure), "{title}\n{titles}\n{row}");
        }
    }

    #[test]
    fn the_limit_is_who_had_no_cpu_to_spare() {
        for (client, sink, limit) in [
            (0.99, 0.80, "client"),
            (0.70, 0.95, "sink"),
            (0.99, 0.98, "both"),
            (0.60, 0.60, "neither"),
        ] {
            assert_eq!(cell(client, sink).limit(), limit);
        }
        let mut table = Table::new("SET".to_owned(), 1, 1.0, None, Vec::new());
        assert_eq!(table.foot(), "");
        table.cells.push(cell(0.5, 1.0));
        assert!(table.foot().contains("can do more"));
    }

    #[test]
    fn the_json_says_what_it_is() {
        let mut table = Table::new("SET".to_owned(), 1, 1.0, None, Vec::new());
        table.cells.push(cell(0.5, 1.0));
        let json: serde_json::Value = serde_json::from_str(&table.json(true).unwrap()).unwrap();
        assert_eq!(json["what"], WHAT);
        assert_eq!(json["cells"][0]["limit"], "sink");
        assert!(json["client_cpu"].is_null());
    }
}
