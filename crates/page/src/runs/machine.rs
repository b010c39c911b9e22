//! State of the client's machine during a run, as charts over the same time as the latencies above them.

use report::{MachinePoint, Run, machine_course};

use super::over_time::in_course;
use crate::{Axis, Chart, DataPoint, Series, Unit};

type Figure = fn(&MachinePoint) -> Option<f64>;

/// Charts of waiting for a CPU and stolen time, interrupts, and frequency; empty if the machine was not
/// watched.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let course = machine_course(run);
    let lines = |title: &str, label: &str, unit: Unit, figures: &[(&str, Figure)]| {
        let mut chart =
            Chart::lines(title, Axis::linear("time", Unit::Seconds), Axis::linear(label, unit));
        for (name, figure) in figures {
            let points: Vec<DataPoint> = course
                .iter()
                .filter_map(|point| {
                    Some(DataPoint::at(point.t_s + point.lasted_s / 2.0, figure(point)?))
                })
                // A span of the warm-up is of no part that is shown.
                .filter(|point| point.x >= 0.0)
                .collect();
            if points.len() > 1 {
                chart.series.push(Series::from_points(*name, points));
            }
        }
        (chart.points_shown() > 0).then(|| in_course(chart, run))
    };
    let charts = [
        lines(
            "CPU time that this machine did not give",
            "share of the time of one thread",
            Unit::Share,
            &[
                ("keystorm's threads waited for a CPU", |point| point.waited),
                ("the server's threads waited for a CPU", |point| point.server_waited),
                ("stolen by the hypervisor, of all CPUs", |point| point.stolen),
            ],
        ),
        lines(
            "Interrupts on the CPUs of keystorm",
            "interrupts per second",
            Unit::PerSecond,
            &[("interrupts", |point| point.interrupts_per_s)],
        ),
        lines(
            "Frequency of the CPUs of keystorm",
            "MHz",
            Unit::Count,
            &[("mean", |point| point.mhz)],
        ),
    ];
    charts.into_iter().flatten().collect()
}
