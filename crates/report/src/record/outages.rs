//! Outages in a saved run, in seconds from the start.

use measure::{Failures, Outage};
use serde::{Deserialize, Serialize};

use super::RecordError;

/// A span in which nothing succeeded. Times are whole slices of 10 ms.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OutageRecord {
    node: u16,
    from_s: f64,
    to_s: f64,
    to_the_end: bool,
    first_failure_s: Option<f64>,
    errors: u64,
    lost: u64,
    timed_out: u64,
    rate_before_rps: Option<f64>,
    recovered_s: Option<f64>,
}

impl OutageRecord {
    pub(super) fn of(outage: &Outage) -> Self {
        let Outage {
            node,
            from_ns,
            to_ns,
            to_the_end,
            first_failure_ns,
            failures: Failures { errors, lost, timed_out },
            rate_before_per_s,
            recovered_ns,
        } = *outage;
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            node,
            from_s: seconds(from_ns),
            to_s: seconds(to_ns),
            to_the_end,
            first_failure_s: first_failure_ns.map(seconds),
            errors,
            lost,
            timed_out,
            rate_before_rps: rate_before_per_s,
            recovered_s: recovered_ns.map(seconds),
        }
    }

    pub(super) fn outage(&self) -> Result<Outage, RecordError> {
        if !(0.0..=self.to_s).contains(&self.from_s) {
            let (from, to) = (self.from_s, self.to_s);
            return Err(RecordError::wrong(format!(
                "an outage from {from} to {to} is not possible"
            )));
        }
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        let Self { errors, lost, timed_out, .. } = *self;
        Ok(Outage {
            node: self.node,
            from_ns: ns(self.from_s),
            to_ns: ns(self.to_s),
            to_the_end: self.to_the_end,
            first_failure_ns: self.first_failure_s.map(ns),
            failures: Failures { errors, lost, timed_out },
            rate_before_per_s: self.rate_before_rps,
            recovered_ns: self.recovered_s.map(ns),
        })
    }
}
