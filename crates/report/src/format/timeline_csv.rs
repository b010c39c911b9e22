//! `timeline` and `samples`: a row for each interval of a test, and one for each sample of a server
//! (`--sample`), as CSV for other programs.

use std::io::{self, Write};

use measure::Point;

use super::redis_csv::write_row;
use crate::server_course::{ServerPoint, server_course};
use crate::{Format, Summary, escape, machine_between, msec, msec_at_most, wall_clock_rfc3339};

/// A row for each interval.
#[derive(Default)]
pub(super) struct TimelineCsv;

/// A row for each look at a server.
#[derive(Default)]
pub(super) struct SamplesCsv;

const TIMELINE: [&str; 19] = [
    "test",
    "time",
    "t_s",
    "span_s",
    "requests",
    "errors",
    "rps",
    "requested_rps",
    "avg_ms",
    "p50_ms",
    "p99_ms",
    "max_ms",
    "stolen",
    "client_waited",
    "server_waited",
    "interrupts_per_s",
    "mhz",
    "operations_per_s",
    "goodput_rps",
];

const SAMPLES: [&str; 16] = [
    "test",
    "server",
    "time",
    "t_s",
    "cpu_cores",
    "cpu_main_cores",
    "memory_bytes",
    "clients",
    "commands_per_s",
    "net_in_bytes_per_s",
    "net_out_bytes_per_s",
    "evicted_keys",
    "expired_keys",
    "forks",
    "connections_opened",
    "saving",
];

impl Format for TimelineCsv {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write_row(&TIMELINE.map(str::to_owned), out)
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
            // What came in the last moment of a run belongs to the interval before it.
            if to_ns <= from_ns && point.is_none_or(|point| point.requests == 0) {
                continue;
            }
            let span_s = to_ns.saturating_sub(from_ns) as f64 / 1e9;
            write_row(&interval(summary, point, (from_ns, to_ns), span_s), out)?;
        }
        Ok(())
    }
}

fn interval(
    summary: &Summary<'_>,
    point: Option<&Point>,
    (from_ns, to_ns): (u64, u64),
    span_s: f64,
) -> Vec<String> {
    let run = summary.run;
    let count = |of: fn(&Point) -> u64| point.map_or(0, of);
    let rate = |n: f64| if span_s > 0.0 { format!("{:.2}", n / span_s) } else { String::new() };
    // Without a point nothing is known of what the plan counts.
    let optional = |of: fn(&Point) -> Option<u64>| {
        point.and_then(of).map(|n| rate(n as f64)).unwrap_or_default()
    };
    let limited = run.plan.load.pace.schedule().filter(|schedule| schedule.is_limited());
    let due = limited.map(|schedule| {
        let due = |ns| run.plan.own_rate_per_s(schedule.due_by(ns));
        rate(due(to_ns) - due(from_ns))
    });
    let latency = |ns: Option<u64>| ns.map(msec_at_most).unwrap_or_default();
    let machine = machine_between(run, from_ns, to_ns).unwrap_or_default();
    let share = |share: Option<f64>| share.map(|share| format!("{share:.4}")).unwrap_or_default();
    let whole = |rate: Option<f64>| rate.map(|rate| format!("{rate:.0}")).unwrap_or_default();
    vec![
        summary.title.clone(),
        wall_clock_rfc3339(run.measurement.started_at, from_ns),
        format!("{:.3}", from_ns as f64 / 1e9),
        format!("{span_s:.3}"),
        count(|point| point.requests).to_string(),
        count(|point| point.errors).to_string(),
        rate(count(|point| point.requests) as f64),
        due.unwrap_or_default(),
        point.and_then(Point::mean_ns).map(msec).unwrap_or_default(),
        latency(point.and_then(|point| point.p50_ns)),
        latency(point.and_then(|point| point.p99_ns)),
        latency(point.and_then(|point| point.max_ns)),
        share(machine.stolen),
        share(machine.waited),
        share(machine.server_waited),
        whole(machine.interrupts_per_s),
        whole(machine.mhz),
        optional(|point| point.operations),
        optional(|point| point.in_time),
    ]
}

impl Format for SamplesCsv {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write_row(&SAMPLES.map(str::to_owned), out)
    }

    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        for (address, points) in server_course(summary.run) {
            for point in points {
                write_row(&sample(summary, &escape(address), &point), out)?;
            }
        }
        Ok(())
    }
}

fn sample(summary: &Summary<'_>, address: &str, point: &ServerPoint) -> Vec<String> {
    let count = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let figure = |n: Option<f64>| n.map(|n| format!("{n:.2}")).unwrap_or_default();
    let after_ns = (point.t_s.max(0.0) * 1e9) as u64;
    vec![
        summary.title.clone(),
        address.to_owned(),
        wall_clock_rfc3339(summary.run.measurement.started_at, after_ns),
        format!("{:.3}", point.t_s),
        figure(point.cores),
        figure(point.main_cores),
        count(point.memory_bytes),
        count(point.clients),
        figure(point.commands_per_s),
        figure(point.net_in_per_s),
        figure(point.net_out_per_s),
        count(point.evicted_keys),
        count(point.expired_keys),
        count(point.forks),
        count(point.connections),
        u8::from(point.saving).to_string(),
    ]
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
