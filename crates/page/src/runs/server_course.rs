//! Samples of the servers (`--sample`), as charts over the same time as the latencies above them.

use report::{Run, ServerPoint, server_course};

use super::over_time::in_course;
use crate::{Axis, Chart, DataPoint, Series, Unit};

/// Most servers whose lines can be distinguished in one chart.
const SERVERS_MAX: usize = 8;

type Figure = fn(&ServerPoint) -> Option<f64>;

/// Charts of CPU, memory, clients and commands of each server; empty without samples.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let course = server_course(run);
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
    let mut charts = Vec::new();
    for (title, label, unit, figure) in wanted {
        let mut chart =
            Chart::lines(title, Axis::linear("time", Unit::Seconds), Axis::linear(label, unit));
        for (address, points) in course.iter().take(SERVERS_MAX) {
            let points: Vec<DataPoint> = points
                .iter()
                .filter_map(|point| {
                    let data_point = DataPoint::at(point.t_s, figure(point)?);
                    Some(if point.saving {
                        data_point.noted("while it saved its data")
                    } else {
                        data_point
                    })
                })
                // A look during the warm-up is of no part that is shown.
                .filter(|point| point.x >= 0.0)
                .collect();
            if !points.is_empty() {
                chart.series.push(Series::from_points(*address, points));
            }
        }
        if chart.points_shown() > 0 {
            charts.push(in_course(chart, run));
        }
    }
    charts
}
