//! Outages in a saved run, in seconds from the start.

use measure::{Absence, Failures, Outage};
use serde::{Deserialize, Serialize};

use super::RecordError;

/// A span in which nothing succeeded. Times are whole slices of 10 ms.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OutageRecord {
    node: u16,
    from_s: f64,
    to_s: f64,
    to_the_end: bool,
    /// Nothing succeeded on any other server either.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    of_all: bool,
    first_failure_s: Option<f64>,
    errors: u64,
    lost: u64,
    timed_out: u64,
    rate_before_rps: Option<f64>,
    recovered_s: Option<f64>,
}

impl OutageRecord {
    pub(super) fn from_outage(outage: &Outage) -> Self {
        let Outage {
            node,
            from_ns,
            to_ns,
            to_the_end,
            of_all,
            first_failure_ns,
            failures: Failures { errors, lost, timed_out },
            rate_before_per_s,
            recovered_ns,
        } = *outage;
        Self {
            node,
            from_s: seconds(from_ns),
            to_s: seconds(to_ns),
            to_the_end,
            of_all,
            first_failure_s: first_failure_ns.map(seconds),
            errors,
            lost,
            timed_out,
            rate_before_rps: rate_before_per_s,
            recovered_s: recovered_ns.map(seconds),
        }
    }

    pub(super) fn outage(&self) -> Result<Outage, RecordError> {
        possible("an outage", self.from_s, self.to_s)?;
        let Self { errors, lost, timed_out, .. } = *self;
        Ok(Outage {
            node: self.node,
            from_ns: ns(self.from_s),
            to_ns: ns(self.to_s),
            to_the_end: self.to_the_end,
            of_all: self.of_all,
            first_failure_ns: self.first_failure_s.map(ns),
            failures: Failures { errors, lost, timed_out },
            rate_before_per_s: self.rate_before_rps,
            recovered_ns: self.recovered_s.map(ns),
        })
    }
}

/// A span in which the client did not run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct AbsenceRecord {
    from_s: f64,
    to_s: f64,
}

impl AbsenceRecord {
    pub(super) fn from_absence(absence: &Absence) -> Self {
        Self { from_s: seconds(absence.from_ns), to_s: seconds(absence.to_ns) }
    }

    pub(super) fn absence(&self) -> Result<Absence, RecordError> {
        possible("an absence", self.from_s, self.to_s)?;
        Ok(Absence { from_ns: ns(self.from_s), to_ns: ns(self.to_s) })
    }
}

fn possible(what: &str, from: f64, to: f64) -> Result<(), RecordError> {
    if (0.0..=to).contains(&from) {
        return Ok(());
    }
    Err(RecordError::wrong(format!("{what} from {from} to {to} is not possible")))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
