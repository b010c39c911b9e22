//! How well an open loop kept its schedule: when and by how much it was missed, and by whose
//! fault.

use std::fmt;

use measure::{Measurement, Point};
use workload::{Plan, Stop};

use crate::quantity::msec_at_most;

/// A request that leaves later than this after it was due has missed the schedule: 10 ms. An idle
/// machine stays below 0.1 ms; what is above ten is seen by people.
pub const MISSED_NS: u64 = 10_000_000;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleFigures {
    /// Requests per second that were due, on average.
    pub due_rps: f64,
    /// Median lateness of a send, in nanoseconds; likewise below.
    pub late_p50_ns: u64,
    /// 99th percentile.
    pub late_p99_ns: u64,
    /// Greatest.
    pub late_max_ns: u64,
    /// Greatest of the part for which a connection had room.
    pub own_late_max_ns: u64,
    /// Share of requests that left more than [`MISSED_NS`] late, 0 to 1.
    pub missed_share: f64,
    /// Whose fault most of the lateness was.
    pub fault: Fault,
    /// When the schedule was missed, in order.
    pub missed: Vec<Missed>,
    /// Requests that were due and had not been sent when the run ended.
    pub unsent: u64,
}

/// A span in which requests left too late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Missed {
    /// From the start of the measured part, in nanoseconds, to the interval.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// The greatest lateness in it, in nanoseconds.
    pub late_max_ns: u64,
}

/// What kept requests from leaving when they were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every connection was full: its replies had not come.
    NoRoom,
    /// Connections had room, and keystorm was late.
    Client,
}

impl ScheduleFigures {
    /// The figures of a run; `None` of a closed loop, and of one that sent nothing.
    #[must_use]
    pub fn of(plan: &Plan, measurement: &Measurement) -> Option<Self> {
        let schedule = plan.pace.schedule()?;
        let lateness = measurement.total.lateness.as_ref()?;
        let (late, own) = (&lateness.total, &lateness.own);
        let quantile = |q| late.quantile_ns(q).unwrap_or_default();
        let sum = |l: &measure::Latency| l.mean_ns().unwrap_or_default() * l.count() as f64;
        let missed: u64 = late.recorded().filter(|(ns, _)| *ns > MISSED_NS).map(|(_, n)| n).sum();
        let due_rps = plan.own_rate_per_s(schedule.mean_per_s(measurement.elapsed_ns));
        Some(Self {
            due_rps,
            late_p50_ns: quantile(0.5),
            late_p99_ns: quantile(0.99),
            late_max_ns: late.max_ns()?,
            own_late_max_ns: own.max_ns()?,
            missed_share: missed as f64 / late.count() as f64,
            fault: if sum(own) * 2.0 > sum(late) { Fault::Client } else { Fault::NoRoom },
            missed: spans(&measurement.timeline.points, measurement.timeline.interval_ns),
            unsent: match plan.stop {
                Stop::AfterNs(_) => unsent(due_rps, measurement, late.count()),
                Stop::Requests(_) => 0,
            },
        })
    }
}

/// Requests due by the end and not sent. Those of the last instant are not missing.
fn unsent(due_rps: f64, measurement: &Measurement, sent: u64) -> u64 {
    let due = due_rps * measurement.elapsed_ns as f64 / 1e9;
    let missing = due - sent as f64;
    let instant = due_rps * MISSED_NS as f64 / 1e9;
    if missing > instant.max(1.0) { missing as u64 } else { 0 }
}

/// Neighbouring intervals in which the schedule was missed, joined.
fn spans(points: &[Point], interval_ns: u64) -> Vec<Missed> {
    let mut spans: Vec<Missed> = Vec::new();
    for point in points {
        let Some(late_max_ns) = point.late_max_ns.filter(|ns| *ns > MISSED_NS) else {
            continue;
        };
        let from_ns = u64::from(point.index) * interval_ns;
        let to_ns = from_ns + interval_ns;
        match spans.last_mut() {
            Some(last) if last.to_ns == from_ns => {
                last.to_ns = to_ns;
                last.late_max_ns = last.late_max_ns.max(late_max_ns);
            }
            _ => spans.push(Missed { from_ns, to_ns, late_max_ns }),
        }
    }
    spans
}

impl fmt::Display for ScheduleFigures {
    /// One line for a person: whether the schedule was kept, and if not, when, by how much and
    /// why.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { due_rps, late_p50_ns, late_p99_ns, late_max_ns, .. } = self;
        if self.missed_share == 0.0 && self.unsent == 0 {
            let (p50, p99, max) = (
                msec_at_most(*late_p50_ns),
                msec_at_most(*late_p99_ns),
                msec_at_most(*late_max_ns),
            );
            return write!(
                f,
                "kept; of {due_rps:.2} requests per second, half left within {p50} msec of when \
                 they were due, 99 % within {p99}, all within {max}"
            );
        }
        write!(
            f,
            "MISSED; {:.2} % of requests left over {} msec late, the latest by {} msec",
            self.missed_share * 100.0,
            MISSED_NS / 1_000_000,
            msec_at_most(*late_max_ns)
        )?;
        if self.unsent > 0 {
            write!(f, ", and {} were due and never sent", self.unsent)?;
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        if let (Some(first), Some(last)) = (self.missed.first(), self.missed.last()) {
            write!(f, ", from {:.2} s to {:.2} s", seconds(first.from_ns), seconds(last.to_ns))?;
            if self.missed.len() > 1 {
                write!(f, " in {} spans", self.missed.len())?;
            }
        }
        f.write_str(match self.fault {
            Fault::NoRoom => {
                ": every connection was waiting for the server's replies; more connections (-c) or \
                 a deeper pipeline (-P) keep the schedule if the server can"
            }
            Fault::Client => {
                ": connections had room, but keystorm was late; give it CPU of its own (--cpus), or \
                 more --threads"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn point(index: u32, late_max_ns: Option<u64>) -> Point {
        Point { late_max_ns, ..fixture::point(index, 1) }
    }

    #[test]
    fn neighbouring_misses_are_one_span() {
        let late = |ms: u64| Some(ms * 1_000_000);
        let points = [
            point(0, late(1)),
            point(1, late(30)),
            point(2, late(20)),
            point(3, None),
            point(4, late(11)),
        ];
        let quarter = 250_000_000;
        let span = |from: u64, to: u64, ms: u64| Missed {
            from_ns: from * quarter,
            to_ns: to * quarter,
            late_max_ns: ms * 1_000_000,
        };
        assert_eq!(spans(&points, quarter), [span(1, 3, 30), span(4, 5, 11)]);
    }

    #[test]
    fn a_schedule_that_was_kept_says_so() {
        let run = fixture::open_loop();
        let figures = ScheduleFigures::of(&run.plan, &run.measurement).unwrap();
        assert_eq!((figures.missed_share, figures.fault), (0.0, Fault::Client));
        assert!(figures.to_string().starts_with("kept; of 8000.00 requests per second"));
    }

    #[test]
    fn a_closed_loop_has_no_schedule() {
        let run = fixture::complete();
        assert_eq!(ScheduleFigures::of(&run.plan, &run.measurement), None);
    }
}
