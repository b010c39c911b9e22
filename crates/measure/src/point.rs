//! One interval of a timeline: its figures and its histogram.

use serde::{Deserialize, Serialize};

use crate::{EncodedLatency, Latency, Tally};

/// Figures of all workers for one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Number of the interval.
    pub index: u32,
    /// Replies that arrived in it, including errors.
    pub requests: u64,
    /// Error replies among them.
    pub errors: u64,
    /// Operations that ended in it, if these have figures of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Requests answered within the deadline, if there is one; see [`Tally::in_time`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_time: Option<u64>,
    /// Replies for missing keys, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misses: Option<u64>,
    /// Median.
    #[serde(rename = "p50", with = "crate::units::ms")]
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    #[serde(rename = "p99", with = "crate::units::ms")]
    pub p99_ns: Option<u64>,
    /// Greatest.
    #[serde(rename = "max", with = "crate::units::ms")]
    pub max_ns: Option<u64>,
    /// By how much the request that was sent latest was late; `None` in a closed loop, and when
    /// nothing was sent.
    #[serde(
        rename = "late_max",
        with = "crate::units::ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub late_max_ns: Option<u64>,
    /// The greatest lateness in which a connection had room, so that the client itself was late.
    #[serde(
        rename = "own_late_max",
        with = "crate::units::ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub own_late_max_ns: Option<u64>,
    /// All response times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<EncodedLatency>,
}

impl Point {
    /// Creates the point of interval `index` from its tally.
    pub fn from_tally(index: u32, tally: &Tally) -> Self {
        let late = tally.lateness.as_ref();
        Self {
            late_max_ns: late.and_then(|l| l.total.max_ns()),
            own_late_max_ns: late.and_then(|l| l.own.max_ns()),
            operations: (!tally.operations.is_empty()).then(|| tally.operations_ended()),
            in_time: tally.in_time(),
            misses: sum(tally.commands.iter().map(|of| Some(of.miss).filter(|miss| *miss > 0))),
            ..Self::with(index, tally.requests(), tally.errors.total(), &tally.response())
        }
    }

    /// Creates the point of these replies and response times.
    pub fn with(index: u32, requests: u64, errors: u64, response: &Latency) -> Self {
        let something = response.count() > 0;
        // A count beyond what can be encoded, 2^63, takes longer than an interval.
        let encoded = something.then(|| EncodedLatency::from_latency(response).ok()).flatten();
        Self {
            index,
            requests,
            errors,
            operations: None,
            in_time: None,
            misses: None,
            p50_ns: response.quantile_ns(0.5),
            p99_ns: response.quantile_ns(0.99),
            max_ns: response.max_ns(),
            late_max_ns: None,
            own_late_max_ns: None,
            response: encoded,
        }
    }

    /// The mean response time in nanoseconds; `None` if nothing arrived.
    pub fn mean_ns(&self) -> Option<f64> {
        let exact = self.response.as_ref()?.exact;
        (exact.count > 0).then(|| exact.sum_ns as f64 / exact.count as f64)
    }

    /// Returns the number that rates count: operations if these have figures of their own, otherwise
    /// requests.
    pub fn counted(&self) -> u64 {
        self.operations.unwrap_or(self.requests)
    }

    /// Adds a point of the same interval.
    pub(crate) fn merge(&mut self, other: &Self) {
        let requests = self.requests.saturating_add(other.requests);
        let errors = self.errors.saturating_add(other.errors);
        let decoded = |point: &Self| point.response.as_ref()?.decode().ok();
        let merged = match (decoded(self), decoded(other)) {
            (Some(mut ours), Some(theirs)) => {
                ours.merge(&theirs);
                ours
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Latency::new(1),
        };
        *self = Self {
            late_max_ns: self.late_max_ns.max(other.late_max_ns),
            own_late_max_ns: self.own_late_max_ns.max(other.own_late_max_ns),
            operations: sum([self.operations, other.operations]),
            in_time: sum([self.in_time, other.in_time]),
            misses: sum([self.misses, other.misses]),
            ..Self::with(self.index, requests, errors, &merged)
        };
    }
}

/// Sum of the counts that are present, if any are.
pub(crate) fn sum(counts: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    counts.into_iter().flatten().reduce(u64::saturating_add)
}
