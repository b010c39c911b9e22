//! State of the client's machine during a run, as charts over the same time as the latencies above them.

use crate::{MachinePoint, Run, machine_timeline};

use super::over_time::over_whole_run;
use crate::page::{Axis, Chart, DataPoint, Series, Unit};

type Figure = fn(&MachinePoint) -> Option<f64>;

/// Charts of waiting for a CPU and stolen time, interrupts, and frequency; empty if the machine was not
/// watched.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let timeline = machine_timeline(run);
    let line = |name: &str, figure: Figure| {
        let middle = |point: &MachinePoint| point.t_s + point.lasted_s / 2.0;
        let seen = timeline.iter().filter(|point| middle(point) >= 0.0);
        let points: Vec<DataPoint> =
            seen.filter_map(|point| Some(DataPoint::at(middle(point), figure(point)?))).collect();
        (points.len() > 1).then(|| Series::new(name, points))
    };
    let shares = [
        line("keystorm's threads waited for a CPU", |point| point.waited),
        line("the server's threads waited for a CPU", |point| point.server_waited),
        line("stolen by the hypervisor, of all CPUs", |point| point.stolen),
    ];
    let interrupts = line("interrupts", |point| point.interrupts_per_s);
    let frequency = line("mean", |point| point.mhz);
    let share = Axis::linear("share of the time of one thread", Unit::Share);
    let rate = Axis::linear("interrupts per second", Unit::PerSecond);
    let mhz = Axis::linear("MHz", Unit::Count);
    let shares = shares.into_iter().flatten();
    let charts = [
        over_whole_run(run, "CPU time that this machine did not give", share, shares),
        over_whole_run(run, "Interrupts on the CPUs of keystorm", rate, interrupts),
        over_whole_run(run, "Frequency of the CPUs of keystorm", mhz, frequency),
    ];
    charts.into_iter().flatten().collect()
}
