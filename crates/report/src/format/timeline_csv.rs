//! `timeline` and `samples`: a row for each interval of a test, and one for each sample of a server
//! (`--sample`), as CSV for other programs.

use std::io::{self, Write};

use measure::Point;

use crate::csv::write_row;
use crate::server_timeline::{ServerPoint, server_timeline};
use crate::{
    Format, MachinePoint, Summary, escape, machine_between, msec, msec_at_most, wall_clock_rfc3339,
};

/// A row for each interval.
pub(super) struct TimelineCsv;

/// A row for each look at a server.
pub(super) struct SamplesCsv;

/// An interval of a test.
struct Interval<'s> {
    summary: &'s Summary<'s>,
    /// The point of the timeline; `None` if nothing was measured.
    point: Option<&'s Point>,
    from_ns: u64,
    to_ns: u64,
    machine: MachinePoint,
}

impl Interval<'_> {
    fn span_s(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    fn count(&self, of: fn(&Point) -> u64) -> u64 {
        self.point.map_or(0, of)
    }

    /// A number in it as a rate; empty if it has no length.
    fn rate(&self, n: f64) -> String {
        let span_s = self.span_s();
        if span_s > 0.0 { format!("{:.2}", n / span_s) } else { String::new() }
    }

    /// Rate of a figure that only some plans count; empty without a point.
    fn optional(&self, of: fn(&Point) -> Option<u64>) -> String {
        self.point.and_then(of).map(|n| self.rate(n as f64)).unwrap_or_default()
    }

    /// Requested rate of a schedule.
    fn requested(&self) -> String {
        let plan = &self.summary.run.plan;
        let limited = plan.load.pace.schedule().filter(|schedule| schedule.is_limited());
        let due = limited.map(|schedule| {
            let due = |ns| plan.own_rate_per_s(schedule.due_by(ns));
            self.rate(due(self.to_ns) - due(self.from_ns))
        });
        due.unwrap_or_default()
    }

    fn latency(&self, of: fn(&Point) -> Option<u64>) -> String {
        self.point.and_then(of).map(msec_at_most).unwrap_or_default()
    }
}

/// Text of a figure with this many decimals; empty if the figure is unknown.
fn known(figure: Option<f64>, decimals: usize) -> String {
    figure.map(|figure| format!("{figure:.decimals$}")).unwrap_or_default()
}

/// Cell of an interval.
type IntervalCell = fn(&Interval<'_>) -> String;

const TIMELINE: [(&str, IntervalCell); 19] = [
    ("test", |of| of.summary.title.clone()),
    ("time", |of| wall_clock_rfc3339(of.summary.run.measurement.started_at, of.from_ns)),
    ("t_s", |of| format!("{:.3}", of.from_ns as f64 / 1e9)),
    ("span_s", |of| format!("{:.3}", of.span_s())),
    ("requests", |of| of.count(|point| point.requests).to_string()),
    ("errors", |of| of.count(|point| point.errors).to_string()),
    ("rps", |of| of.rate(of.count(|point| point.requests) as f64)),
    ("requested_rps", |of| of.requested()),
    ("avg_ms", |of| of.point.and_then(Point::mean_ns).map(msec).unwrap_or_default()),
    ("p50_ms", |of| of.latency(|point| point.p50_ns)),
    ("p99_ms", |of| of.latency(|point| point.p99_ns)),
    ("max_ms", |of| of.latency(|point| point.max_ns)),
    ("stolen", |of| known(of.machine.stolen, 4)),
    ("client_waited", |of| known(of.machine.waited, 4)),
    ("server_waited", |of| known(of.machine.server_waited, 4)),
    ("interrupts_per_s", |of| known(of.machine.interrupts_per_s, 0)),
    ("mhz", |of| known(of.machine.mhz, 0)),
    ("operations_per_s", |of| of.optional(|point| point.operations)),
    ("goodput_rps", |of| of.optional(|point| point.in_time)),
];

impl Format for TimelineCsv {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write_row(&TIMELINE.map(|(name, _)| name.to_owned()), out)
    }

    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        let measurement = &summary.run.measurement;
        let timeline = &measurement.timeline;
        let interval_ns = timeline.interval_ns;
        let Some(last) = timeline.points.last() else { return Ok(()) };
        let mut points = timeline.points.iter().peekable();
        for index in 0..=last.index {
            let point = points.next_if(|point| point.index == index);
            let from_ns = u64::from(index).saturating_mul(interval_ns);
            let to_ns = from_ns.saturating_add(interval_ns).min(measurement.elapsed_ns);
            // Requests of the last moment of a run belong to the interval before it.
            if to_ns <= from_ns && point.is_none_or(|point| point.requests == 0) {
                continue;
            }
            let machine = machine_between(summary.run, from_ns, to_ns).unwrap_or_default();
            let interval = Interval { summary, point, from_ns, to_ns, machine };
            write_row(&TIMELINE.map(|(_, cell)| cell(&interval)), out)?;
        }
        Ok(())
    }
}

/// A look at a server.
struct Sample<'s> {
    summary: &'s Summary<'s>,
    address: &'s str,
    point: &'s ServerPoint,
}

/// Text of a count; empty if it is not known.
fn count(n: Option<u64>) -> String {
    n.map(|n| n.to_string()).unwrap_or_default()
}

/// Cell of a look at a server.
type SampleCell = fn(&Sample<'_>) -> String;

const SAMPLES: [(&str, SampleCell); 16] = [
    ("test", |of| of.summary.title.clone()),
    ("server", |of| escape(of.address)),
    ("time", |of| {
        let after_ns = (of.point.t_s.max(0.0) * 1e9) as u64;
        wall_clock_rfc3339(of.summary.run.measurement.started_at, after_ns)
    }),
    ("t_s", |of| format!("{:.3}", of.point.t_s)),
    ("cpu_cores", |of| known(of.point.cores, 2)),
    ("cpu_main_cores", |of| known(of.point.main_cores, 2)),
    ("memory_bytes", |of| count(of.point.memory_bytes)),
    ("clients", |of| count(of.point.clients)),
    ("commands_per_s", |of| known(of.point.commands_per_s, 2)),
    ("net_in_bytes_per_s", |of| known(of.point.net_in_per_s, 2)),
    ("net_out_bytes_per_s", |of| known(of.point.net_out_per_s, 2)),
    ("evicted_keys", |of| count(of.point.evicted_keys)),
    ("expired_keys", |of| count(of.point.expired_keys)),
    ("forks", |of| count(of.point.forks)),
    ("connections_opened", |of| count(of.point.connections)),
    ("saving", |of| u8::from(of.point.saving).to_string()),
];

impl Format for SamplesCsv {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write_row(&SAMPLES.map(|(name, _)| name.to_owned()), out)
    }

    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        for (address, points) in server_timeline(summary.run) {
            for point in &points {
                let sample = Sample { summary, address, point };
                write_row(&SAMPLES.map(|(_, cell)| cell(&sample)), out)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn rows(mut format: impl Format, run: &crate::Run) -> Vec<String> {
        let mut out = Vec::new();
        format.begin(&mut out).unwrap();
        format.each(&Summary::from_run(run), &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_silent_interval_has_its_row_and_every_row_the_columns() {
        let run = fixture::open_loop();
        let found = rows(TimelineCsv, &run);
        let last = run.measurement.timeline.points.last().unwrap().index as usize;
        assert_eq!(found.len(), 2 + last, "{found:?}");
        assert!(found.iter().all(|row| row.matches(',').count() == TIMELINE.len() - 1));
        assert!(found[3].contains("\"0.500\",\"0.250\",\"0\",\"0\",\"0.00\",\"8000.00\""));
        assert_eq!(rows(SamplesCsv, &run).len(), 1);
    }
}
