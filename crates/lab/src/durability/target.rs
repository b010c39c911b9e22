//! Targets of a gate: `lost<1,rpo<100ms,rto<5s`.

use std::fmt;

use serde::{Deserialize, Serialize};
use workload::quantity::{self, DefaultUnit};

use super::Crash;

/// An upper bound for every crash.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Target {
    figure: Figure,
    /// Bound, exclusive: writes, or seconds.
    below: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Figure {
    Lost,
    Rpo,
    Rto,
}

impl Target {
    /// Reads a list of targets.
    ///
    /// # Errors
    /// Returns the part that is no target.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        text.split(',').map(Self::parse_one).collect()
    }

    fn parse_one(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no target; write lost<1, rpo<100ms or rto<5s");
        let (name, bound) = text.trim().split_once('<').ok_or_else(wrong)?;
        let (figure, below) = match name.trim() {
            "lost" => (Figure::Lost, bound.trim().parse().ok()),
            "rpo" => (Figure::Rpo, seconds(bound)),
            "rto" => (Figure::Rto, seconds(bound)),
            _ => return Err(wrong()),
        };
        let below = below.filter(|below: &f64| below.is_finite() && *below > 0.0);
        below.map(|below| Self { figure, below }).ok_or_else(wrong)
    }

    /// Returns the worst figure if it is not below the bound, in words.
    pub fn missed(&self, crashes: &[Crash]) -> Option<String> {
        let figures = crashes.iter().map(|crash| match self.figure {
            Figure::Lost => crash.lost as f64,
            Figure::Rpo => crash.rpo_s.unwrap_or(0.0),
            Figure::Rto => crash.rto_s.unwrap_or(f64::INFINITY),
        });
        let worst = figures.reduce(f64::max).filter(|worst| *worst >= self.below)?;
        Some(match self.figure {
            Figure::Lost => {
                format!("{} acknowledged writes lost by one crash ({self})", report::grouped(worst))
            }
            Figure::Rpo => format!("the oldest lost write was {worst:.3} s old ({self})"),
            Figure::Rto if worst.is_infinite() => {
                format!("no write succeeded after a crash ({self})")
            }
            Figure::Rto => format!("no write succeeded for {worst:.3} s ({self})"),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figure {
            Figure::Lost => write!(f, "lost<{}", self.below),
            Figure::Rpo => write!(f, "rpo<{}s", self.below),
            Figure::Rto => write!(f, "rto<{}s", self.below),
        }
    }
}

fn seconds(text: &str) -> Option<f64> {
    Some(quantity::time(text.trim(), DefaultUnit::Seconds).ok()?.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_missed_by_the_worst_crash() {
        let targets = Target::parse("lost<2, rpo<100ms,rto<1.5s").unwrap();
        let fine = Crash { lost: 1, rpo_s: Some(0.05), rto_s: Some(1.0), ..Crash::default() };
        let missed = |crash: Crash| -> Vec<String> {
            targets.iter().filter_map(|target| target.missed(&[fine, crash])).collect()
        };
        assert!(missed(fine).is_empty());
        assert_eq!(
            missed(Crash { lost: 2000, ..fine }),
            ["2,000 acknowledged writes lost by one crash (lost<2)"]
        );
        assert_eq!(
            missed(Crash { rpo_s: Some(0.1), ..fine }),
            ["the oldest lost write was 0.100 s old (rpo<0.1s)"]
        );
        assert_eq!(
            missed(Crash { rto_s: None, ..fine }),
            ["no write succeeded after a crash (rto<1.5s)"]
        );
        for wrong in ["", "lost", "lost<0", "rpo<x", "p99<5ms", "lost<1,"] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
