//! Due times of requests.
//!
//! Owns the schedule of an open loop as data: rates over time, and the distribution of arrivals around them.
//! [`curve`] has the arithmetic of rates, [`pacer`] one worker's walk along the schedule, [`text`] the
//! written form of rates. No reply, stall or pipeline moves a schedule; the engine reads the clock.

mod curve;
mod pacer;
pub mod text;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use curve::Curve;
pub use pacer::{Lane, Pacer};

/// Decides when the next request leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Closed loop: the reply to the previous request makes one due.
    Closed,
    /// Open loop: a schedule makes requests due.
    Open(Schedule),
}

impl Pace {
    /// Creates an open loop at one rate, in requests per second.
    pub fn constant(rate_per_s: f64) -> Self {
        Self::Open(Schedule::constant(rate_per_s))
    }

    /// The schedule at `times` the rate.
    pub fn times(&self, factor: f64) -> Self {
        let Self::Open(schedule) = self else { return self.clone() };
        let mut schedule = schedule.clone();
        for stage in &mut schedule.stages {
            stage.from_per_s *= factor;
            stage.to_per_s *= factor;
        }
        Self::Open(schedule)
    }

    /// The schedule, if there is one.
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
    /// Stages in order, at least one; the final rate of the last one holds until the run ends.
    pub stages: Vec<Stage>,
    /// Spread of requests around these rates.
    pub arrivals: Arrivals,
}

/// A rate that is constant, or changes steadily.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Initial rate in requests per second, 0 or above.
    pub from_per_s: f64,
    /// Final rate in requests per second, 0 or above.
    pub to_per_s: f64,
    /// Length in nanoseconds; `None`, only for the last stage, until the run ends.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lasts_ns: Option<u64>,
    /// Set for no limit: requests leave as soon as there is room, as in a closed loop, and the rates are 0.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub unlimited: bool,
}

impl Stage {
    /// Returns a stage of one rate, in requests per second, for `lasts_ns` nanoseconds.
    pub fn steady(rate_per_s: f64, lasts_ns: Option<u64>) -> Self {
        Self::ramp(rate_per_s, rate_per_s, lasts_ns)
    }

    /// Returns a stage whose rate changes evenly from one value to another, in requests per second, over `lasts_ns`
    /// nanoseconds.
    pub fn ramp(from_per_s: f64, to_per_s: f64, lasts_ns: Option<u64>) -> Self {
        Self { from_per_s, to_per_s, lasts_ns, unlimited: false }
    }

    /// The rate at this time after its start.
    fn rate_after(&self, ns: u64) -> f64 {
        match self.lasts_ns {
            Some(lasts_ns) if lasts_ns > 0 => {
                let share = ns as f64 / lasts_ns as f64;
                self.from_per_s + (self.to_per_s - self.from_per_s) * share
            }
            _ => self.from_per_s,
        }
    }
}

/// Spread of requests around a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// Like independent users: a Poisson process, with exponential distances.
    Poisson,
    /// Bursts of this many, at least 1, whose first requests are at equal distances.
    Bursts(u32),
}

impl Schedule {
    /// Returns a schedule of one rate, in requests per second, at equal distances.
    pub fn constant(rate_per_s: f64) -> Self {
        Self { stages: vec![Stage::steady(rate_per_s, None)], arrivals: Arrivals::Constant }
    }

    /// The one rate in requests per second, or `None` if it changes.
    pub fn rate_per_s(&self) -> Option<f64> {
        let rate = self.stages.first()?.from_per_s;
        self.stages.iter().all(|s| s.from_per_s == rate && s.to_per_s == rate).then_some(rate)
    }

    /// The highest rate in requests per second.
    pub fn peak_per_s(&self) -> f64 {
        self.stages.iter().map(|s| s.from_per_s.max(s.to_per_s)).fold(0.0, f64::max)
    }

    /// The final rate in requests per second.
    pub fn last_per_s(&self) -> f64 {
        self.stages.last().map_or(0.0, |s| s.to_per_s)
    }

    /// The rate at a time since the start, in requests per second.
    pub fn rate_at(&self, ns: u64) -> f64 {
        let mut from_ns = 0u64;
        for stage in &self.stages {
            let after_ns = ns - from_ns;
            if stage.lasts_ns.is_none_or(|lasts_ns| after_ns < lasts_ns) {
                return stage.rate_after(after_ns);
            }
            from_ns += stage.lasts_ns.unwrap_or_default();
        }
        self.last_per_s()
    }

    /// Returns whether it has a rate at all times.
    pub fn is_limited(&self) -> bool {
        self.unlimited().next().is_none()
    }

    /// The spans without a limit, in nanoseconds from the start.
    pub fn unlimited(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut from_ns = 0u64;
        self.stages.iter().filter_map(move |stage| {
            let span = from_ns..stage.lasts_ns.map_or(u64::MAX, |ns| from_ns.saturating_add(ns));
            from_ns = span.end;
            stage.unlimited.then_some(span)
        })
    }

    /// The schedule up to `at_ns`, and from then on at this rate until the next stage begins; `None` means no
    /// limit.
    pub fn changed(&self, at_ns: u64, rate_per_s: Option<f64>) -> Self {
        let mut stages = Vec::with_capacity(self.stages.len() + 2);
        let changed = |lasts_ns| Stage {
            unlimited: rate_per_s.is_none(),
            ..Stage::steady(rate_per_s.unwrap_or(0.0), lasts_ns)
        };
        let (mut from_ns, mut placed) = (0u64, false);
        for stage in &self.stages {
            let until_ns = stage.lasts_ns.map(|lasts_ns| from_ns + lasts_ns);
            if placed || until_ns.is_some_and(|until_ns| until_ns <= at_ns) {
                stages.push(*stage);
            } else {
                let before_ns = at_ns - from_ns;
                if before_ns > 0 {
                    let to_per_s = stage.rate_after(before_ns);
                    stages.push(Stage { to_per_s, lasts_ns: Some(before_ns), ..*stage });
                }
                stages.push(changed(until_ns.map(|until_ns| until_ns - at_ns)));
                placed = true;
            }
            from_ns = until_ns.unwrap_or(from_ns);
        }
        if !placed {
            // The last rate has gone on until then.
            let after_ns = Some(at_ns - from_ns).filter(|ns| *ns > 0);
            stages.extend(after_ns.map(|_| Stage::steady(self.last_per_s(), after_ns)));
            stages.push(changed(None));
        }
        Self { stages, arrivals: self.arrivals }
    }

    /// The length of all stages in nanoseconds, if they end.
    pub fn length_ns(&self) -> Option<u64> {
        self.stages.iter().map(|s| s.lasts_ns).sum()
    }

    /// The mean of the rates over the first `span_ns` nanoseconds, in requests per second.
    pub fn mean_per_s(&self, span_ns: u64) -> f64 {
        let span_s = span_ns as f64 / 1e9;
        if span_s > 0.0 { self.due_by(span_ns) / span_s } else { self.last_per_s() }
    }

    /// Due time of request `number`, in nanoseconds from the start; `u64::MAX` if it is never due, and an
    /// expectation if arrivals are random.
    pub fn due_ns(&self, number: f64) -> u64 {
        Curve::new(self, 1.0, 0).due_ns(number, &mut 0)
    }

    /// Number of requests that are due within the first `span_ns` nanoseconds; an expectation if arrivals are random.
    pub fn due_by(&self, span_ns: u64) -> f64 {
        Curve::new(self, 1.0, 0).count_by(span_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn stages(schedule: &Schedule) -> Vec<(f64, f64, Option<u64>)> {
        schedule.stages.iter().map(|s| (s.from_per_s, s.to_per_s, s.lasts_ns)).collect()
    }

    #[test]
    fn a_change_holds_until_the_next_stage_begins() {
        let steady = Schedule::constant(10.0).changed(3 * S, Some(5.0));
        assert_eq!(stages(&steady), [(10.0, 10.0, Some(3 * S)), (5.0, 5.0, None)]);
        assert_eq!(steady.due_by(5 * S), 40.0);
        assert_eq!(stages(&steady.changed(3 * S, Some(7.0)))[1..], [(7.0, 7.0, None)]);
        let ramp = |from_per_s, to_per_s| Stage::ramp(from_per_s, to_per_s, Some(4 * S));
        let two = Schedule {
            stages: vec![ramp(0.0, 40.0), ramp(100.0, 20.0)],
            arrivals: Arrivals::Constant,
        };
        assert_eq!(
            stages(&two.changed(S, Some(5.0))),
            [(0.0, 10.0, Some(S)), (5.0, 5.0, Some(3 * S)), (100.0, 20.0, Some(4 * S))]
        );
        assert_eq!(stages(&two.changed(4 * S, Some(5.0)))[1..], [(5.0, 5.0, Some(4 * S))]);
        let behind = two.changed(10 * S, Some(5.0));
        assert_eq!(stages(&behind)[2..], [(20.0, 20.0, Some(2 * S)), (5.0, 5.0, None)]);
        for (at, rate) in [(0, 0.0), (S, 10.0), (4 * S, 100.0), (8 * S, 20.0), (10 * S, 5.0)] {
            assert_eq!(behind.rate_at(at), rate, "at {at}");
        }
    }
}
