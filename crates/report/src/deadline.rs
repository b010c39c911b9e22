//! Requests within the deadline of a run: the figures, and their line.

use measure::Measurement;
use serde::Serialize;
use workload::Plan;

use crate::csv::CsvRow;
use crate::quantity::{grouped, msec, time};

/// Figures of one run. They count operations if these have figures of their own, otherwise requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeadlineFigures {
    /// Nanoseconds from when a request was due.
    pub deadline_ns: u64,
    /// Answered within it without an error.
    pub in_time: u64,
    /// Answered later.
    pub late: u64,
    /// Given up: not sent, or not retried.
    pub given_up: u64,
    /// Requests that were due, whatever their outcome.
    pub asked: u64,
    /// Requests in time per second.
    pub goodput_rps: f64,
    /// Share of the requests that were answered late or given up, 0 to 1.
    pub late_share: f64,
}

impl DeadlineFigures {
    /// Makes the figures of a run; `None` without a deadline.
    pub fn new(plan: &Plan, measurement: &Measurement) -> Option<Self> {
        let deadline_ns = plan.recovery.deadline_ns?;
        let total = &measurement.total;
        let (in_time, tally) = (total.in_time()?, total.deadline?);
        let gone = &total.connections;
        // Requests that were given up count as timed out, per command.
        let without_answer = gone.lost.saturating_add(gone.unanswered);
        let ended = total.operations_ended().saturating_add(tally.given_up);
        let due = total.lateness.as_ref().map_or(0, |lateness| lateness.due);
        let elapsed_s = measurement.elapsed_ns as f64 / 1e9;
        let asked = ended.saturating_add(without_answer).max(due);
        Some(Self {
            deadline_ns,
            in_time,
            late: tally.late,
            given_up: tally.given_up,
            asked,
            goodput_rps: if elapsed_s > 0.0 { in_time as f64 / elapsed_s } else { 0.0 },
            late_share: tally.late.saturating_add(tally.given_up) as f64 / asked.max(1) as f64,
        })
    }

    /// Returns the row of a test with this title in a table for programs.
    pub(crate) fn csv_row(&self, title: &str) -> CsvRow {
        let Self { deadline_ns, in_time, late, given_up, goodput_rps, .. } = self;
        vec![
            ("test", title.to_owned()),
            ("deadline_ms", msec(*deadline_ns as f64)),
            ("goodput_rps", format!("{goodput_rps:.2}")),
            ("in_time", in_time.to_string()),
            ("late", late.to_string()),
            ("given_up", given_up.to_string()),
        ]
    }

    /// Sentence such as `deadline 50 ms: goodput 1234.50 requests/s; 12 of 2,000 answered later, 31 given
    /// up`.
    pub fn sentence(&self, noun: &str) -> String {
        let Self { deadline_ns, late, given_up, asked, goodput_rps, .. } = self;
        let [late, given_up, asked] = [late, given_up, asked].map(|count| grouped(*count as f64));
        let deadline = time(*deadline_ns as f64 / 1e9);
        format!(
            "deadline {deadline}: goodput {goodput_rps:.2} {noun}/s; of {asked} {noun} {late} were answered \
             later and {given_up} given up"
        )
    }
}
