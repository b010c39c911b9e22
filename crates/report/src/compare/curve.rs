//! One load at several rates: the highest rate at which each server keeps the target, or keeps up.

use super::{Comparison, Question, TargetState};
use crate::groups::by_key;
use crate::quantity::grouped;

/// Results of one load at all its rates, in ascending order.
#[derive(Debug, Clone)]
pub struct RateCurve<'d> {
    /// Name of the load.
    pub name: &'d str,
    /// A rate each.
    pub rates: Vec<&'d Question>,
    /// The target in the user's text.
    pub target: Option<&'d str>,
}

/// Highest rate that a server reached, and the next higher one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// Highest rate per second at which the target was kept, with no lower one at which it was missed;
    /// without a target, at which the server kept up.
    pub rate_rps: Option<f64>,
    /// The next higher rate, and the state of the target there; `None` if no higher one was tried.
    pub next: Option<(f64, TargetState)>,
}

/// Share of the requested rate below which a server does not keep up.
const KEPT_UP: f64 = 0.99;

impl Comparison {
    /// The loads in the order of the command line, each with all its rates.
    pub fn curves(&self) -> Vec<RateCurve<'_>> {
        let rate_of = |question: &Question| question.rate_rps.unwrap_or(f64::INFINITY);
        let questions = self.tests.iter().filter_map(|test| test.question.as_ref());
        let loads = by_key(questions.map(|question| (question.name.as_str(), question)));
        let curves = loads.into_iter().map(|(name, mut rates)| {
            rates.sort_by(|a, b| rate_of(a).total_cmp(&rate_of(b)));
            RateCurve { name, rates, target: self.target.as_deref() }
        });
        curves.collect()
    }
}

impl<'d> RateCurve<'d> {
    /// Starts a curve with a load at one rate.
    pub fn at_one_rate(question: &'d Question, target: Option<&'d str>) -> Self {
        Self { name: &question.name, rates: vec![question], target }
    }

    /// Returns whether there is more than one rate.
    pub fn has_several(&self) -> bool {
        self.rates.len() > 1
    }

    /// Returns the state of the target, or without one of the rate, at one of the rates; `side` counts
    /// servers from 0.
    pub fn state(&self, question: &Question, side: usize) -> Option<TargetState> {
        let candidate = question.candidates.get(side)?;
        if self.target.is_some() {
            return candidate.kept;
        }
        let share = candidate.pace_rps? / question.rate_rps?;
        Some(if share >= KEPT_UP { TargetState::Yes } else { TargetState::No })
    }

    /// Returns the knee of a server; `side` counts from 0.
    pub fn knee(&self, side: usize) -> Knee {
        let states = self
            .rates
            .iter()
            .filter_map(|question| Some((question.rate_rps?, self.state(question, side)?)));
        let states: Vec<(f64, TargetState)> = states.collect();
        let unmissed = states.iter().take_while(|(_, state)| *state != TargetState::No);
        let kept = unmissed.filter(|(_, state)| *state == TargetState::Yes);
        let rate_rps = kept.last().map(|(rate, _)| *rate);
        let next = states.iter().find(|(rate, _)| rate_rps.is_none_or(|kept| *rate > kept));
        Knee { rate_rps, next: next.copied() }
    }

    /// Describes in a sentence how far each server came.
    pub fn answer(&self) -> String {
        let Some(first) = self.rates.first().filter(|_| self.has_several()) else {
            return self.rates.first().map_or(String::new(), |only| only.answer(self.target));
        };
        let servers = first.candidates.iter().enumerate();
        let text: Vec<String> =
            servers.map(|(side, of)| self.describe(&of.name, self.knee(side))).collect();
        format!("{}: {}", self.name, text.join("; "))
    }

    fn describe(&self, name: &str, knee: Knee) -> String {
        let per_s = |rate: f64| format!("{}/s", grouped(rate));
        let (keeps, misses, keep) = match self.target {
            Some(target) => (format!("keeps {target}"), "misses it".to_owned(), target),
            None => ("keeps pace".to_owned(), "falls behind".to_owned(), "pace"),
        };
        match (knee.rate_rps, knee.next) {
            (Some(rate), None) => {
                format!("{name} {keeps} up to {}, the highest rate tried", per_s(rate))
            }
            (Some(rate), Some((next, state))) => {
                let (rate, next) = (per_s(rate), per_s(next));
                match state {
                    TargetState::No => {
                        format!("{name} {keeps} up to {rate} and {misses} at {next}")
                    }
                    TargetState::Undecided => {
                        format!("{name} {keeps} up to {rate}; {next} is undecided")
                    }
                    _ => format!("{name} {keeps} up to {rate}, and {next} cannot be judged here"),
                }
            }
            (None, Some((lowest, TargetState::No))) => {
                format!("{name} does not keep {keep} at {}", per_s(lowest))
            }
            (None, Some((_, TargetState::Void))) => format!("{name} cannot be judged here"),
            (None, _) => format!("{name} was not shown to keep {keep} at any of these rates"),
        }
    }

    /// Describes how much the difference matters, at the highest rate that all servers keep, or else any
    /// server.
    pub fn worth(&self) -> Vec<String> {
        if !self.has_several() {
            return self.rates.first().map_or_else(Vec::new, |only| only.worth());
        }
        let keeps =
            |question: &Question, side: usize| self.state(question, side) == Some(TargetState::Yes);
        let highest = self.rates.iter().rev();
        let chosen =
            highest.clone().find(|of| (0..of.candidates.len()).all(|at| keeps(of, at))).or_else(
                || highest.clone().find(|of| (0..of.candidates.len()).any(|at| keeps(of, at))),
            );
        let Some(question) = chosen else { return Vec::new() };
        let mut worth = question.worth();
        if let (Some(first), Some(rate)) = (worth.first_mut(), question.rate_rps) {
            *first = format!("At {} {}/s: {first}", grouped(rate), question.unit.plural());
        }
        worth
    }
}
