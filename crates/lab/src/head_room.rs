//! How much more of recorded traffic a server takes while it keeps a target: what the trials of a search over the speed
//! say.

use report::Run;
use report::slo::{Observation, Slo};
use serde::Serialize;

use crate::rate_search::answer;
use crate::search::{Answer, Bracket, Settings};

/// The speeds that are tried: a tenth of the recorded traffic, and ten thousand times as much.
const LEAST: f64 = 0.1;
const MOST: f64 = 10_000.0;

/// Trials of one server, by speed.
#[derive(Debug)]
pub struct SpeedTrials<'s> {
    slo: &'s Slo,
    observed: Vec<(f64, Observation)>,
}

impl<'s> SpeedTrials<'s> {
    /// No trials yet.
    #[must_use]
    pub fn new(slo: &'s Slo) -> Self {
        Self { slo, observed: Vec::new() }
    }

    /// How a search over the speed goes.
    #[must_use]
    pub fn settings(budget_s: f64) -> Settings {
        Settings {
            start_per_s: 1.0,
            within: 0.05,
            repeats: 3,
            least_per_s: LEAST,
            most_per_s: MOST,
            budget_s,
        }
    }

    /// Adds a run at a speed, and says what is known of that speed then.
    pub fn add(&mut self, speed: f64, run: &Run) -> Answer {
        let observation = Observation::new(self.slo, run);
        let alone = self.slo.judge(&[&observation]);
        self.observed.push((speed, observation));
        let same = self.observed.iter().filter(|(known, _)| (known / speed - 1.0).abs() < 1e-9);
        let all: Vec<&Observation> = same.map(|(_, observation)| observation).collect();
        answer(&alone, self.slo.judge(&all).outcome)
    }
}

/// What was found of both servers.
#[derive(Debug, Clone, Serialize)]
pub struct HeadRoom {
    /// The target, as it was typed.
    pub target: String,
    /// The speeds of A and B.
    pub sides: [SpeedRange; 2],
}

/// Between which speeds a server begins to miss a target: how many times the recorded traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SpeedRange {
    /// The highest speed that is kept.
    pub kept: Option<f64>,
    /// The lowest above it that is missed.
    pub missed: Option<f64>,
    /// Whether the machine or the client decided, or time ran out, before one was missed.
    pub is_open: bool,
}

impl SpeedRange {
    /// What a search has found; `is_cut` if it ended before it was done.
    #[must_use]
    pub fn from_bracket(bracket: &Bracket, is_cut: bool) -> Self {
        let (kept, missed) = (bracket.passes_per_s, bracket.fails_per_s);
        let is_open = is_cut || missed.is_none() && kept.is_none_or(|kept| kept < MOST);
        Self { kept, missed, is_open }
    }

    /// In words: `up to 2.3 times this traffic`.
    #[must_use]
    pub fn describe(&self) -> String {
        match (self.kept, self.missed) {
            (Some(kept), Some(_)) if !self.is_open => format!("up to {} this traffic", times(kept)),
            (Some(kept), _) => format!("up to {} this traffic at least", times(kept)),
            (None, Some(missed)) => {
                format!("at no speed that was tried, down to {}", times(missed))
            }
            (None, None) => "at a speed that cannot be told on this machine".to_owned(),
        }
    }
}

impl HeadRoom {
    /// Whether B surely keeps the target with less traffic, by more than is allowed.
    #[must_use]
    pub fn is_less_on_b(&self, allowed: f64) -> bool {
        let [a, b] = &self.sides;
        let most_of_b = b.missed.filter(|_| !b.is_open);
        a.kept.zip(most_of_b).is_some_and(|(a, b)| b * (1.0 + allowed) < a)
    }
}

/// A factor in words.
fn times(factor: f64) -> String {
    match factor {
        factor if factor < 10.0 => format!("{factor:.2} times"),
        factor => format!("{factor:.0} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(kept: Option<f64>, missed: Option<f64>) -> SpeedRange {
        let bracket = Bracket { passes_per_s: kept, fails_per_s: missed, ..Bracket::default() };
        SpeedRange::from_bracket(&bracket, false)
    }

    #[test]
    fn what_was_found_is_a_sentence() {
        for (range, text) in [
            (range(Some(2.34), Some(2.4)), "up to 2.34 times this traffic"),
            (range(Some(MOST), None), "up to 10000 times this traffic at least"),
            (range(Some(24.0), None), "up to 24 times this traffic at least"),
            (range(None, Some(0.1)), "at no speed that was tried, down to 0.10 times"),
            (range(None, None), "at a speed that cannot be told on this machine"),
        ] {
            assert_eq!(range.describe(), text);
        }
    }

    #[test]
    fn less_room_counts_where_it_is_surely_less() {
        let room = |a, b| HeadRoom { target: "p99<5ms".to_owned(), sides: [a, b] };
        let a = range(Some(2.8), Some(2.9));
        assert!(room(a, range(Some(2.3), Some(2.4))).is_less_on_b(0.1));
        assert!(!room(a, range(Some(2.3), Some(2.4))).is_less_on_b(0.2));
        assert!(!room(a, range(Some(2.7), Some(2.8))).is_less_on_b(0.1));
        assert!(!room(a, range(Some(1.0), None)).is_less_on_b(0.1), "nobody knows where B ends");
        assert!(!room(range(None, None), a).is_less_on_b(0.1));
    }
}
