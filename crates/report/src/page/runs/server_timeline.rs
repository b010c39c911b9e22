//! Samples of the servers (`--sample`), as charts over the same time as the latencies above them.

use crate::{Run, ServerPoint, server_timeline};

use super::over_time::over_whole_run;
use crate::page::{Axis, Chart, DataPoint, Series, Unit};

/// Most servers whose lines can be distinguished in one chart.
const SERVERS_MAX: usize = 8;

type Figure = fn(&ServerPoint) -> Option<f64>;

/// Charts of CPU, memory, clients and commands of each server; empty without samples.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let timeline = server_timeline(run);
    let wanted: [(&str, &str, Unit, Figure); 4] = [
        ("Server CPU over time (100 % is one core)", "share of one core", Unit::Share, |p| p.cores),
        ("Server memory over time", "memory in use", Unit::Bytes, |p| {
            p.memory_bytes.map(|n| n as f64)
        }),
        ("Clients of the server over time", "connected clients", Unit::Count, |p| {
            p.clients.map(|n| n as f64)
        }),
        (
            "Commands of the server over time, by its own count",
            "commands per second",
            Unit::PerSecond,
            |p| p.commands_per_s,
        ),
    ];
    let charts = wanted.into_iter().filter_map(|(title, label, unit, figure)| {
        let point = |point: &ServerPoint| {
            let at = DataPoint::at(point.t_s, figure(point)?);
            Some(if point.saving { at.noted("while it saved its data") } else { at })
        };
        let lines = timeline
            .iter()
            .take(SERVERS_MAX)
            .map(|(address, points)| Series::new(*address, points.iter().filter_map(point)));
        over_whole_run(run, title, Axis::linear(label, unit), lines)
    });
    charts.collect()
}
