//! A target for latencies: `p99<1ms`, `p50<200us & p99.9<5ms`, `errors<0.1%`; under a deadline also `late<1%`
//! and `goodput>20k`.

use naming::{DEADLINE, SLO};
use serde::{Deserialize, Serialize};
use workload::Plan;
use workload::quantity::{self, DefaultUnit};

use crate::resting;

mod bound;
mod certain;
mod judgement;
mod result;

pub use bound::{Bound, Outcome};
pub use judgement::{Judgement, Miss, Observation};
pub use result::{ClauseResult, SloResult};

/// A target: every clause must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    /// The user's text, with single spaces.
    pub text: String,
    /// Clauses of the target.
    pub clauses: Vec<Clause>,
}

/// Bound of one measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clause {
    /// Measure that is bounded.
    pub measure: Measure,
    /// The bound: nanoseconds of a latency, a share, or a rate. The measured value must stay below it; a
    /// goodput, above it.
    pub below: f64,
}

/// Measure that a clause bounds. Latencies are response times, which count from the due time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// A quantile, between 0 and 1.
    Quantile(f64),
    /// The mean.
    Mean,
    /// The greatest.
    Max,
    /// Error replies, requests that were lost or timed out, and unanswered ones, as a share of all.
    Errors,
    /// Requests answered after the deadline or given up at it, as a share of all that were due.
    Late,
    /// Requests answered within the deadline, per second.
    Goodput,
}

impl Slo {
    /// Parses a target.
    ///
    /// # Errors
    /// Returns an error with examples, in words for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        let clauses: Result<Vec<Clause>, String> =
            text.split([',', '&']).map(str::trim).filter(|c| !c.is_empty()).map(clause).collect();
        let clauses = clauses?;
        if clauses.is_empty() {
            return Err(fault(text));
        }
        let text = clauses.iter().map(Clause::to_string).collect::<Vec<_>>().join(" & ");
        Ok(Self { text, clauses })
    }

    /// Returns whether the target bounds the share of errors.
    pub fn bounds_errors(&self) -> bool {
        self.clauses.iter().any(|clause| clause.measure == Measure::Errors)
    }

    /// Returns whether the target bounds late answers, which requires a deadline.
    pub fn bounds_late(&self) -> bool {
        self.clauses.iter().any(|c| matches!(c.measure, Measure::Late | Measure::Goodput))
    }

    /// Checks that the target applies to these plans.
    ///
    /// # Errors
    /// Returns an error if it bounds late answers and a plan has no deadline.
    pub fn check_plans(&self, plans: &[Plan]) -> Result<(), String> {
        if self.bounds_late() && plans.iter().any(|plan| plan.recovery.deadline_ns.is_none()) {
            Err(format!(
                "{SLO} {}: late and goodput require a deadline, such as {DEADLINE} 50ms",
                self.text
            ))
        } else {
            Ok(())
        }
    }

    /// The latency bound to draw, with its quantile: that of the highest percentile.
    pub fn latency(&self) -> Option<&Clause> {
        let latencies = self.clauses.iter().filter(|c| c.measure.is_latency());
        latencies.max_by(|a, b| a.measure.rank().total_cmp(&b.measure.rank()))
    }

    /// Returns the number of requests with which at least ten are beyond every percentile.
    pub fn requests_min(&self) -> u64 {
        const BEYOND: f64 = resting::BEYOND_MIN as f64;
        let needed = self.clauses.iter().map(|clause| match clause.measure {
            Measure::Quantile(quantile) => resting::needed(quantile) as f64,
            Measure::Errors | Measure::Late => BEYOND / clause.below,
            Measure::Mean | Measure::Max | Measure::Goodput => BEYOND,
        });
        needed.fold(0.0, f64::max).ceil().min(1e9) as u64
    }
}

impl Measure {
    /// Returns whether the measure is a time.
    pub fn is_latency(self) -> bool {
        matches!(self, Self::Quantile(_) | Self::Mean | Self::Max)
    }

    /// Ranks the measure by its distance from the middle.
    fn rank(self) -> f64 {
        match self {
            Self::Errors | Self::Late | Self::Goodput => -1.0,
            Self::Mean => 0.0,
            Self::Quantile(quantile) => quantile,
            Self::Max => 1.0,
        }
    }

    /// A bound in its unit, with all its digits.
    fn exact(self, value: f64) -> (f64, &'static str) {
        let (size, unit) = match self {
            Self::Errors | Self::Late => (0.01, "%"),
            Self::Goodput => (1.0, "/s"),
            _ => unit_of(value),
        };
        (scaled(value, size), unit)
    }

    /// A value for people, such as `1.31 ms`.
    pub fn describe(self, value: f64) -> String {
        let (number, unit) = match self {
            Self::Errors | Self::Late => (value * 100.0, "%"),
            Self::Goodput => (value, "/s"),
            _ => {
                let (size, unit) = unit_of(value);
                (value / size, unit)
            }
        };
        format!("{} {}", trimmed(number), shown(unit))
    }
}

impl Clause {
    /// Side of the bound on which the value must stay.
    fn sign(&self) -> &'static str {
        if self.measure == Measure::Goodput { ">" } else { "<" }
    }

    /// Returns whether a value keeps the clause.
    pub(super) fn keeps(&self, value: f64) -> bool {
        match self.measure {
            Measure::Goodput => value > self.below,
            _ => value < self.below,
        }
    }

    /// Returns the clause for people, such as `p99 < 2 ms`.
    pub fn name(&self) -> String {
        let (number, unit) = self.measure.exact(self.below);
        format!("{} {} {number} {}", self.measure, self.sign(), shown(unit))
    }

    /// A measured value for people, in the unit of its target: `0.97 ms` beside `2 ms`, unless that unit
    /// gives an awkward number.
    pub fn describe(&self, value: f64) -> String {
        let (size, unit) = unit_of(self.below);
        let is_awkward = !(0.001..10_000.0).contains(&(value / size));
        if !self.measure.is_latency() || is_awkward {
            return self.measure.describe(value);
        }
        format!("{} {}", trimmed(value / size), shown(unit))
    }
}

impl std::fmt::Display for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Quantile(quantile) => write!(f, "p{}", scaled(*quantile, 0.01)),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::Errors => f.write_str("errors"),
            Self::Late => f.write_str("late"),
            Self::Goodput => f.write_str("goodput"),
        }
    }
}

impl std::fmt::Display for Clause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (number, unit) = self.measure.exact(self.below);
        write!(f, "{}{}{number}{unit}", self.measure, self.sign())
    }
}

/// The unit as it is shown, which is typed without a Greek letter.
fn shown(unit: &str) -> &str {
    if unit == "us" { "µs" } else { unit }
}

/// A suitable unit for a time in nanoseconds, with its length.
fn unit_of(ns: f64) -> (f64, &'static str) {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    units.into_iter().find(|(size, _)| ns >= *size).unwrap_or((1.0, "ns"))
}

/// Returns a value in units of `size`, a power of ten, without rounding errors: 0.999 * 100 is not 99.9.
fn scaled(value: f64, size: f64) -> f64 {
    format!("{value}e{}", -size.log10().round()).parse().unwrap_or(value / size)
}

/// A number with up to three decimals, without trailing zeros; two digits if it is smaller.
fn trimmed(value: f64) -> String {
    let small = value > 0.0 && value < 0.000_5;
    let decimals = if small { 1 - value.log10().floor() as i32 } else { 3 };
    let text = format!("{value:.*}", decimals.unsigned_abs() as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn fault(text: &str) -> String {
    format!(
        "{text:?} is not a target; expected p50, p95, p99, p99.9, mean or max below a time in \
         us, ms or s, errors below a share, and with --deadline late below a share or goodput above a rate, \
         such as p99<1ms, 'p99.9<5ms & errors<0.1%' or 'late<1% & goodput>20k'"
    )
}

fn clause(text: &str) -> Result<Clause, String> {
    let fault = || fault(text);
    let at = text.find(['<', '>']).ok_or_else(fault)?;
    let (name, bound) = text.split_at(at);
    let (sign, bound) = bound.split_at(1);
    let bound = bound.strip_prefix('=').unwrap_or(bound).trim().to_lowercase();
    let measure = match name.trim().to_lowercase().as_str() {
        "max" => Measure::Max,
        "mean" | "avg" => Measure::Mean,
        "errors" => Measure::Errors,
        "late" => Measure::Late,
        "goodput" => Measure::Goodput,
        name => {
            let percent: f64 =
                name.strip_prefix('p').and_then(|p| p.parse().ok()).ok_or_else(fault)?;
            if !(percent > 0.0 && percent < 100.0) {
                return Err(fault());
            }
            Measure::Quantile(scaled(percent, 100.0))
        }
    };
    let below = match measure {
        Measure::Goodput => {
            let rate = bound.strip_suffix("/s").unwrap_or(&bound);
            quantity::count(rate).map_err(|_| fault())? as f64
        }
        Measure::Errors | Measure::Late => {
            let (digits, size) = bound.strip_suffix('%').map_or((&bound[..], 1.0), |d| (d, 100.0));
            scaled(digits.trim().parse().map_err(|_| fault())?, size)
        }
        _ => quantity::time(&bound, DefaultUnit::Refused).map_err(|_| fault())?.as_nanos() as f64,
    };
    let clause = Clause { measure, below };
    let is_possible = below.is_finite() && below > 0.0 && clause.sign() == sign;
    if is_possible { Ok(clause) } else { Err(fault()) }
}

#[cfg(test)]
pub(crate) mod fake_time_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_shown() {
        for (typed, shown) in [
            ("p99<1ms", "p99<1ms"),
            ("P99.9 <= 500us", "p99.9<500us"),
            ("p50<200µs & max<1.5s", "p50<200us & max<1.5s"),
            ("mean<1ms,p95<2ms", "mean<1ms & p95<2ms"),
            ("avg<1ms&&errors<0.1%", "mean<1ms & errors<0.1%"),
            ("errors<0.01", "errors<1%"),
            ("p99.9999<1s", "p99.9999<1s"),
            ("errors<0.0001%", "errors<0.0001%"),
            ("p99.99999<1.2345678ms", "p99.99999<1.234568ms"),
            ("late<0.5% & goodput>20k", "late<0.5% & goodput>20000/s"),
            ("goodput>=19500/s", "goodput>19500/s"),
        ] {
            let target = Slo::parse(typed).unwrap();
            assert_eq!(target.text, shown, "{typed}");
            assert_eq!(Slo::parse(&target.text).unwrap(), target, "{typed}: it is read again");
        }
        assert_eq!(Slo::parse("errors<0.0001%").unwrap().clauses[0].name(), "errors < 0.0001 %");
        let clause = &Slo::parse("p99.9<5ms").unwrap().clauses[0];
        assert_eq!((clause.measure, clause.below), (Measure::Quantile(0.999), 5e6));
    }

    #[test]
    fn a_value_is_in_the_unit_of_its_target() {
        let clause = |text: &str| Slo::parse(text).unwrap().clauses.remove(0);
        for (target, value, text) in [
            ("p99<2ms", 970_239.0, "0.97 ms"),
            ("p99<2ms", 12.5e9, "12.5 s"),
            ("p99<500us", 1.25e6, "1250 µs"),
            ("max<1s", 400.0, "400 ns"),
            ("errors<1%", 0.0123, "1.23 %"),
            ("errors<0.0001%", 0.000_002_04, "0.0002 %"),
        ] {
            assert_eq!(clause(target).describe(value), text, "{target}");
        }
    }

    #[test]
    fn what_is_no_target_says_what_is() {
        for bad in ["", "p99", "p99>1ms", "p99<1", "p100<1ms", "p0<1ms", "x<1ms", "p99<-1ms", "&"] {
            assert!(Slo::parse(bad).unwrap_err().contains("such as p99<1ms"), "{bad}");
        }
    }

    #[test]
    fn a_percentile_needs_requests_beyond_it() {
        let needs = |text: &str| Slo::parse(text).unwrap().requests_min();
        assert_eq!((needs("p99<1ms"), needs("p50<1ms"), needs("max<1s")), (1000, 20, 10));
        assert_eq!(needs("p50<1ms & errors<0.1%"), 10_000);
    }

    #[test]
    fn the_bound_to_draw_is_the_farthest_out() {
        let slo = Slo::parse("p50<1ms & p99<2ms & errors<1%").unwrap();
        assert_eq!(slo.latency().unwrap().below, 2e6);
        assert!(Slo::parse("errors<1%").unwrap().latency().is_none());
    }
}
