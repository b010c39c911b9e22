//! When requests are due.
//!
//! Owns the schedule of an open loop as data: rates over time, and how arrivals spread around
//! them. The arithmetic of rates is in [`curve`], one worker's walk along the schedule in
//! [`pacer`]. No reply, stall or pipeline moves a schedule, and reading a clock is left to the
//! engine.

mod curve;
mod pacer;

use serde::{Deserialize, Serialize};

pub use curve::Curve;
pub use pacer::{Lane, Pacer};

/// Who decides when the next request leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Closed loop: the reply to the last one does.
    Closed,
    /// Open loop: a schedule does.
    Open(Schedule),
}

impl Pace {
    /// An open loop at one rate, in requests per second.
    #[must_use]
    pub fn constant(rate_per_s: f64) -> Self {
        Self::Open(Schedule::constant(rate_per_s))
    }

    /// The schedule, if there is one.
    #[must_use]
    pub fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::Closed => None,
            Self::Open(schedule) => Some(schedule),
        }
    }
}

/// The rates of an open loop. Requests (commands, not pipelines) of all workers together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// One after another, at least one; the last one's final rate holds for as long as the run.
    pub stages: Vec<Stage>,
    /// How requests spread around these rates.
    pub arrivals: Arrivals,
}

/// A rate that holds, or changes steadily.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Requests per second when it begins, 0 or above.
    pub from_per_s: f64,
    /// Requests per second when it ends, 0 or above.
    pub to_per_s: f64,
    /// Its length in nanoseconds; `None` for as long as the run, of the last one only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lasts_ns: Option<u64>,
}

/// How requests spread around a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// As independent users send them: a Poisson process, whose distances are exponential.
    Poisson,
}

impl Schedule {
    /// One rate, in requests per second, at equal distances.
    #[must_use]
    pub fn constant(rate_per_s: f64) -> Self {
        let stage = Stage { from_per_s: rate_per_s, to_per_s: rate_per_s, lasts_ns: None };
        Self { stages: vec![stage], arrivals: Arrivals::Constant }
    }

    /// The one rate in requests per second, or `None` if it changes.
    #[must_use]
    pub fn rate_per_s(&self) -> Option<f64> {
        let rate = self.stages.first()?.from_per_s;
        let steady = |s: &Stage| s.from_per_s == rate && s.to_per_s == rate;
        self.stages.iter().all(steady).then_some(rate)
    }

    /// The highest rate in requests per second.
    #[must_use]
    pub fn peak_per_s(&self) -> f64 {
        self.stages.iter().map(|s| s.from_per_s.max(s.to_per_s)).fold(0.0, f64::max)
    }

    /// The final rate in requests per second.
    #[must_use]
    pub fn last_per_s(&self) -> f64 {
        self.stages.last().map_or(0.0, |s| s.to_per_s)
    }

    /// The length of all stages in nanoseconds, if they end.
    #[must_use]
    pub fn length_ns(&self) -> Option<u64> {
        self.stages.iter().map(|s| s.lasts_ns).sum()
    }

    /// The mean of the rates over the first `span_ns` nanoseconds, in requests per second.
    #[must_use]
    pub fn mean_per_s(&self, span_ns: u64) -> f64 {
        let span_s = span_ns as f64 / 1e9;
        if span_s > 0.0 { self.due_by(span_ns) / span_s } else { self.last_per_s() }
    }

    /// When request `number` is due, in nanoseconds from the start; `u64::MAX` if it never is, and an
    /// expectation if arrivals are random.
    #[must_use]
    pub fn due_ns(&self, number: f64) -> u64 {
        Curve::of(self, 1.0, 0).due_ns(number, &mut 0)
    }

    /// How many requests are due within the first `span_ns` nanoseconds; an expectation if
    /// arrivals are random.
    #[must_use]
    pub fn due_by(&self, span_ns: u64) -> f64 {
        Curve::of(self, 1.0, 0).count_by(span_ns)
    }
}
