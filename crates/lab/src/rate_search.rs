//! The results of a search: every trial, the judgement of each rate, and the curve around the result.

use report::{Cause, Finding, LimitedBy, RecordError, Run, Summary};
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::figures::Figures;
use crate::runs::Runs;
use crate::search::{Bracket, KnownRates, RateOutcome, Settings};
use report::groups::by_frequency;
use report::slo::{Judgement, Miss, Observation, Outcome, Slo};

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.search/1";
/// Points of the curve, as shares of the found rate.
pub const CURVE: [f64; 9] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1];

/// Kind of a conclusion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchOutcome {
    /// A rate is kept, and a higher one is missed.
    Found,
    /// A rate is kept, and no higher one was tried.
    AtLeast,
    /// A rate is kept, and higher ones are unknown for the most part.
    Open,
    /// The lowest rate that was tried is missed.
    LowestMissed,
    /// Every rate that was tried is undecided.
    Undecided,
    /// The client or the machine decided most trials, and no rate is kept or missed.
    Unjudged,
    /// No trial was made.
    #[default]
    NoTrial,
}

/// Conclusion of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Kind of the conclusion.
    pub answered: SearchOutcome,
    /// The highest kept rate, with as many digits as its interval justifies.
    pub rate_per_s: Option<f64>,
    /// Lower bound, 19 times in 20, of the highest rate that a server of this kind keeps.
    pub low_per_s: Option<f64>,
    /// Upper bound of that; `None` if no higher rate is missed.
    pub high_per_s: Option<f64>,
    /// The result in a few words.
    pub headline: String,
    /// Text on what happens above the rate, and on the limit.
    pub text: String,
    /// Set if the client or the schedule, rather than the server, was the limit.
    pub not_the_server: bool,
}

/// A search so far. Saved as the document `keystorm.search/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RateSearch {
    schema: String,
    /// Set if the search and the curve have been carried out as planned.
    pub(crate) complete: bool,
    /// The test's title.
    pub test: String,
    /// Objective of the search.
    pub slo: Slo,
    /// Settings of the search.
    pub settings: Settings,
    /// Bracket of the rates that were tried.
    found: Bracket,
    /// Set if the search ran out of time.
    #[serde(default)]
    pub out_of_time: bool,
    /// Conclusion of the search.
    #[serde(default)]
    pub(crate) conclusion: Conclusion,
    /// Rates with the joint judgement of their trials, including the curve's, in the order of their first
    /// trials.
    #[serde(default)]
    pub rates: Vec<Rate>,
    /// Every run in order.
    pub trials: Vec<Trial>,
    /// Every run, as `keystorm.run/1`, in the order of the trials.
    pub(crate) run: Runs,
    /// Observations of each trial, in the order of the trials.
    #[serde(skip)]
    observed: Vec<Observation>,
}

/// Purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A closed loop, to find a starting rate.
    Closed,
    /// A trial of the search itself.
    Search,
    /// A trial for the curve.
    Curve,
}

/// Run at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Purpose of the trial.
    pub phase: Phase,
    /// Requested rate; in a closed loop, the achieved one.
    pub rate_per_s: f64,
    /// Judgement of this trial alone.
    pub judgement: Judgement,
    /// The latency in the target, in nanoseconds; the 99th percentile if the target has none.
    pub bounded_ns: f64,
    /// Figures of the run.
    pub figures: Figures,
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The rate.
    pub rate_per_s: f64,
    /// Numbers of its trials.
    pub trials: Vec<usize>,
    /// Number of void trials.
    pub void: usize,
    /// Joint judgement of the other trials.
    pub judgement: Judgement,
}

/// Returns the search's answer for a judgement.
fn answer_of(judgement: &Judgement) -> RateOutcome {
    match (judgement.outcome, &judgement.disturbance) {
        (Outcome::Kept, _) => RateOutcome::Kept,
        (Outcome::Missed, _) => RateOutcome::Missed,
        (Outcome::Void, Some(found)) if !found.cause.by_others() => RateOutcome::ClientLimit,
        (Outcome::Void, _) | (Outcome::Undecided, Some(_)) => RateOutcome::Disturbed,
        (Outcome::Undecided, None) => RateOutcome::Undecided,
    }
}

/// Returns the search's answer after a trial, from the trial alone and from the joint judgement.
pub(crate) fn answer(alone: &Judgement, known: &Judgement) -> RateOutcome {
    answer_of(if alone.outcome == Outcome::Void { alone } else { known })
}

impl Rate {
    /// Returns the answer for the rate, if a miss takes `misses_min` trials. One bad moment cannot make requests fail.
    fn answer(&self, misses_min: usize) -> RateOutcome {
        let misses_min = if self.judgement.misses.contains(&Miss::Failed) { 1 } else { misses_min };
        match answer_of(&self.judgement) {
            RateOutcome::Missed if self.trials.len() - self.void < misses_min => {
                RateOutcome::Undecided
            }
            answer => answer,
        }
    }
}

impl RateSearch {
    /// Creates an empty search.
    pub fn new(test: String, slo: Slo, settings: Settings) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            test,
            slo,
            settings,
            found: Bracket::default(),
            out_of_time: false,
            conclusion: Conclusion::default(),
            rates: Vec::new(),
            trials: Vec::new(),
            run: Runs::default(),
            observed: Vec::new(),
        }
    }

    /// Adds a run, judges it, and returns the answer for its rate.
    ///
    /// # Errors
    /// Returns an error if a count is too large to be written.
    pub fn add(&mut self, phase: Phase, run: &Run) -> Result<RateOutcome, RecordError> {
        self.run.put(run)?;
        let summary = Summary::from_run(run);
        let bounded = self.slo.latency();
        let observation = Observation::new(&self.slo, run);
        let judgement = self.slo.judge(&[&observation]);
        let rate_per_s = summary.target_rps().unwrap_or(summary.counted_rps());
        self.trials.push(Trial {
            phase,
            rate_per_s,
            judgement: judgement.clone(),
            bounded_ns: bounded
                .map_or(summary.response.p99_ns as f64, |clause| clause.measure.value(&summary)),
            figures: Figures::from_run(run),
        });
        self.observed.push(observation);
        if phase == Phase::Closed {
            return Ok(answer(&judgement, &judgement));
        }
        let answer = answer(&judgement, self.known(rate_per_s));
        self.found = self.bracket();
        Ok(answer)
    }

    /// Returns the bracket from all rates.
    fn bracket(&self) -> Bracket {
        let mut known = KnownRates::default();
        let misses_min = self.misses_min();
        self.rates.iter().for_each(|rate| known.learn(rate.rate_per_s, rate.answer(misses_min)));
        let found = known.bracket();
        Bracket { given_up: self.found.given_up && found.passes_per_s.is_none(), ..found }
    }

    /// Returns the number of trials for a confirmed miss.
    fn misses_min(&self) -> usize {
        if self.settings.repeats > 1 { 2 } else { 1 }
    }

    /// Returns whether a rate has enough counting trials for a confirmed miss.
    pub(crate) fn is_confirmed(&self, rate_per_s: f64) -> bool {
        let count = self.rate_of(rate_per_s).map_or(0, |rate| rate.trials.len() - rate.void);
        count >= self.misses_min()
    }

    /// Adds the last trial to those of its rate, and returns their joint judgement.
    fn known(&mut self, rate_per_s: f64) -> &Judgement {
        let at = self.rates.iter().position(|rate| same(rate.rate_per_s, rate_per_s));
        let at = at.unwrap_or_else(|| {
            let judgement = self.slo.judge(&[]);
            self.rates.push(Rate { rate_per_s, trials: Vec::new(), void: 0, judgement });
            self.rates.len() - 1
        });
        let rate = &mut self.rates[at];
        rate.trials.push(self.observed.len() - 1);
        let observed: Vec<&Observation> =
            rate.trials.iter().map(|number| &self.observed[*number]).collect();
        rate.void = observed.iter().filter(|trial| trial.is_void()).count();
        rate.judgement = self.slo.judge(&observed);
        &rate.judgement
    }

    /// Notes that the search has ended, and whether it was given up.
    pub fn conclude(&mut self, given_up: bool) {
        self.found.given_up = given_up;
        self.found = self.bracket();
        self.conclusion = self.concluded();
    }

    /// Returns the bracket of the rates that were tried.
    pub fn found(&self) -> &Bracket {
        &self.found
    }

    /// Returns the conclusion in words.
    pub fn conclusion(&self) -> &Conclusion {
        &self.conclusion
    }

    /// Returns whether nothing is left to do.
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Rates of the curve, none above the highest allowed one.
    pub fn curve_rates(&self) -> Vec<f64> {
        let Some(knee) = self.found.passes_per_s else { return Vec::new() };
        let rates = CURVE.iter().map(|share| share * knee);
        rates.filter(|rate| *rate <= self.settings.most_per_s).collect()
    }

    /// The trials of a phase.
    pub fn trials_of(&self, phase: Phase) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |trial| trial.phase == phase)
    }

    /// Returns the record of a rate that was tried.
    pub fn rate_of(&self, rate_per_s: f64) -> Option<&Rate> {
        self.rates.iter().find(|rate| same(rate.rate_per_s, rate_per_s))
    }

    /// The missed rate just above the result, and its last counting trial, which shows the obstacle.
    pub fn obstacle(&self) -> Option<(&Rate, &Trial)> {
        let above = self.found.fails_per_s?;
        let rate = self.rate_of(above)?;
        let trials = rate.trials.iter().rev().filter_map(|number| self.trials.get(*number));
        let mut valid = trials.filter(|trial| trial.judgement.outcome != Outcome::Void);
        let last = valid.clone().next()?;
        let missed = valid.find(|trial| trial.judgement.outcome == Outcome::Missed);
        Some((rate, missed.unwrap_or(last)))
    }

    /// Counts the trials of the search, and those that noise or the client decided, with the most frequent
    /// cause.
    pub fn void(&self) -> (usize, usize, Option<Cause>) {
        let trials = || self.trials_of(Phase::Search);
        let disturbances = trials().filter_map(|trial| trial.judgement.disturbance.as_ref());
        let causes: Vec<Cause> = disturbances.map(|found| found.cause).collect();
        let most = by_frequency(causes.iter().copied()).first().map(|(cause, _)| *cause);
        (trials().count(), causes.len(), most)
    }

    /// Names the limit of a trial if it was not the server's CPU.
    pub(crate) fn other_limit(Trial { judgement, figures, .. }: &Trial) -> Option<&'static str> {
        let scheduled = [Miss::NoRoom, Miss::NeverSent];
        match figures.limited_by {
            LimitedBy::Client => Some("The client was the limit, not the server"),
            LimitedBy::Network => Some("The network was the limit, not the server"),
            LimitedBy::Concurrency => {
                Some("Too few requests in flight were the limit, not the server")
            }
            LimitedBy::Backlog => Some("Receivers that fell behind were the limit"),
            LimitedBy::Errors => Some("Errors were the limit"),
            LimitedBy::Outage => Some("An outage was the limit"),
            LimitedBy::Contention => Some("CPU contention was the limit, not the server"),
            LimitedBy::Schedule if judgement.misses.iter().any(|miss| scheduled.contains(miss)) => {
                Some("The schedule was the limit, not the server's CPU")
            }
            LimitedBy::Schedule | LimitedBy::Server | LimitedBy::Unknown => None,
        }
    }

    /// Describes a schedule that was kept, without the advice of its verdict, since that is a higher rate,
    /// which has just failed.
    pub(crate) fn done(Trial { judgement, figures, .. }: &Trial) -> Option<&str> {
        (figures.finding == Some(Finding::ScheduleKept) && judgement.misses.is_empty())
            .then_some(&figures.statement)
    }
}

impl Document for RateSearch {
    fn runs(&self) -> &Runs {
        &self.run
    }
}

/// Returns whether two rates are equal, given that plans round them.
pub(crate) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * a.max(b)
}

#[cfg(test)]
#[path = "rate_search_tests.rs"]
mod tests;
