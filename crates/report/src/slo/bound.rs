//! Evidence of trials for one clause of a target: a value, the interval that holds the true one 19 times in
//! 20, and the outcome.
//!
//! The outcome follows from the interval shown: wholly below the bound is kept, wholly at or above it is
//! missed, and anything else is undecided. The interval never reaches below the quickest reply, however far
//! its spans differ. Two things widen it beyond the spread of requests. Requests that meet one hiccup are not
//! independent, nor are adjacent spans of one trial ([`Share::of_trials`]). And a single bad trial must not
//! decide on a rate, so the lower end is never above the result of the others.
//!
//! Noise makes nothing faster, so a kept target is kept. A target is missed only if it is missed even after
//! subtracting everything that noise can have caused.

use measure::Latency;
use measure::statistics::{Mean, Share};
use serde::{Deserialize, Serialize};

use super::{Clause, Measure};
use crate::verdict::{Noise, SpanResponses};
use crate::{Failures, LatencyFigures, Summary};

/// Outcome of a rate under a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The target was kept, on schedule.
    Kept,
    /// The target was missed.
    Missed,
    /// Either is possible: there are too few requests, or noise can have caused the miss.
    Undecided,
    /// The client did not do its work.
    Void,
}

/// A bound of the target, and the value compared with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The bounded measure, and its bound.
    pub clause: Clause,
    /// Measured value: nanoseconds, or a share.
    pub value: f64,
    /// Lower end of the interval that holds the true value 19 times in 20, if there is one.
    pub low: Option<f64>,
    /// Upper end of the interval; `None` for a maximum, and if too few requests determine it.
    pub high: Option<f64>,
    /// Outcome of the clause.
    pub outcome: Outcome,
    /// Share of the requests beyond it due to events in the server's journal, if these alone miss it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<f64>,
}

/// Evidence of one trial for a clause, by spans of time if these may differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClauseEvidence {
    /// Number beyond the bound, and number in all.
    Beyond(Vec<(u64, u64)>),
    /// The mean of each span.
    Means(Vec<f64>),
    /// The greatest value.
    Greatest(u64),
}

/// Evidence of one trial for a clause, with and without noise.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClauseTrial<'t> {
    pub(super) seen: &'t ClauseEvidence,
    /// Evidence without everything that noise can have caused.
    pub(super) left: &'t ClauseEvidence,
    /// Share of the responses beyond it due to events in the server's journal, if these alone miss it.
    pub(super) recorded: Option<f64>,
    /// All response times.
    pub(super) response: &'t Latency,
}

/// Ends of an interval, as far as known.
type Ends = (Option<f64>, Option<f64>);

impl ClauseEvidence {
    /// Takes the evidence for a clause from a run with these responses.
    pub(super) fn new(clause: &Clause, summary: &Summary<'_>, spans: &[SpanResponses]) -> Self {
        let run = summary.run;
        let points = &run.measurement.timeline.points;
        match clause.measure {
            Measure::Max => Self::Greatest(summary.response.max_ns),
            Measure::Quantile(_) => Self::Beyond(
                spans.iter().map(|span| (span.beyond(clause.below), span.count())).collect(),
            ),
            Measure::Mean => {
                let means: Vec<f64> = points.iter().filter_map(|point| point.mean_ns()).collect();
                Self::Means(if means.is_empty() { vec![summary.response.mean_ns] } else { means })
            }
            Measure::Late => {
                let groups = points.iter().map(|point| {
                    let ended = point.counted().saturating_sub(point.errors);
                    (ended.saturating_sub(point.in_time.unwrap_or(ended)), point.counted())
                });
                let given_up = summary.deadline.map_or(0, |deadline| deadline.given_up);
                let given_up = (given_up > 0).then_some((given_up, given_up));
                Self::Beyond(groups.chain(given_up).collect())
            }
            Measure::Goodput => {
                let timeline = &run.measurement.timeline;
                let full = timeline.full_intervals(run.measurement.elapsed_ns);
                let mut rates = vec![0.0; usize::try_from(full.end - full.start).unwrap_or(0)];
                for point in points.iter().filter(|of| full.contains(&u64::from(of.index))) {
                    let in_time = point.in_time.unwrap_or_default() as f64;
                    rates[(u64::from(point.index) - full.start) as usize] =
                        in_time * 1e9 / timeline.interval_ns as f64;
                }
                Self::Means(if rates.is_empty() {
                    vec![clause.measure.value(summary)]
                } else {
                    rates
                })
            }
            Measure::Errors => {
                let all_failed = Failures::from_measurement(&run.measurement).failed;
                let without_reply = all_failed.saturating_sub(summary.errors);
                let mut groups: Vec<(u64, u64)> =
                    points.iter().map(|point| (point.errors, point.requests)).collect();
                let all: u64 = groups.iter().map(|(_, of)| of).sum();
                if all != summary.requests {
                    groups = vec![(summary.errors, summary.requests)];
                }
                groups.extend((without_reply > 0).then_some((without_reply, without_reply)));
                Self::Beyond(groups)
            }
        }
    }

    /// Returns the evidence without everything that noise can have caused.
    pub(super) fn without(
        &self,
        noise: &Noise<'_>,
        clause: &Clause,
        spans: &[SpanResponses],
        quickest_ns: u64,
    ) -> Self {
        // A bound that not even the quickest reply keeps cannot be missed through noise.
        if !clause.measure.is_latency() || quickest_ns as f64 >= clause.below {
            return self.clone();
        }
        match self {
            Self::Beyond(_) => Self::Beyond(noise.beyond_without(spans, clause.below)),
            Self::Means(means) => {
                let raised_ns = noise.raised_mean_ns();
                let least_ns = quickest_ns as f64;
                Self::Means(means.iter().map(|ns| (ns - raised_ns).max(least_ns)).collect())
            }
            Self::Greatest(ns) => Self::Greatest(noise.greatest_without(spans).min(*ns)),
        }
    }

    /// Share of the responses beyond a clause due to events in the server's journal, if these alone miss it;
    /// this involves no chance.
    pub(super) fn recorded(
        noise: &Noise<'_>,
        clause: &Clause,
        spans: &[SpanResponses],
    ) -> Option<f64> {
        let allowed = match clause.measure {
            Measure::Quantile(quantile) => 1.0 - quantile,
            Measure::Max => 0.0,
            Measure::Mean | Measure::Errors | Measure::Late | Measure::Goodput => return None,
        };
        let beyond: u64 = noise.recorded(spans, clause.below).into_iter().sum();
        let all: u64 = spans.iter().map(SpanResponses::count).sum();
        let share = beyond as f64 / all.max(1) as f64;
        (share > allowed).then_some(share)
    }

    /// Returns the figure that counts against the clause: a share, a mean or the greatest.
    pub(super) fn badness(&self) -> f64 {
        match self {
            Self::Beyond(groups) => Share::from_groups(groups).map_or(0.0, |share| share.share),
            Self::Means(means) => Mean::from_values(means).map_or(0.0, |mean| mean.mean),
            Self::Greatest(ns) => *ns as f64,
        }
    }

    /// Returns the joint evidence of trials; `None` without any.
    pub(super) fn together<'t>(trials: impl Iterator<Item = &'t Self>) -> Option<Self> {
        trials.cloned().reduce(|mut all, more| {
            match (&mut all, more) {
                (Self::Beyond(all), Self::Beyond(more)) => all.extend(more),
                (Self::Means(all), Self::Means(more)) => all.extend(more),
                (Self::Greatest(all), Self::Greatest(more)) => *all = (*all).min(more),
                // All evidence belongs to one clause, so the variants agree.
                _ => {}
            }
            all
        })
    }

    fn groups(&self) -> &[(u64, u64)] {
        if let Self::Beyond(groups) = self { groups } else { &[] }
    }

    fn means(&self) -> &[f64] {
        if let Self::Means(means) = self { means } else { &[] }
    }
}

impl Clause {
    /// Returns whether the clause is surely missed, even without everything that noise can have caused.
    fn is_missed_without_noise(&self, trials: &[ClauseTrial<'_>]) -> bool {
        let left: Vec<ClauseTrial<'_>> =
            trials.iter().map(|trial| ClauseTrial { seen: trial.left, ..*trial }).collect();
        let allowed = self.allowed();
        match self.measure {
            Measure::Quantile(_) | Measure::Errors | Measure::Late => {
                let others = share_of(&without_worst(&left)).is_none_or(|of| of.share >= allowed);
                share_of(&left).is_some_and(|of| of.share >= allowed + of.margin(allowed)) && others
            }
            Measure::Mean => {
                let (value, (low, _)) = mean_of(&left);
                low.unwrap_or(value) >= self.below
            }
            Measure::Goodput => {
                let (value, (_, high)) = rate_of(&left);
                !self.keeps(high.unwrap_or(value))
            }
            Measure::Max => {
                left.iter().filter(|trial| self.is_beyond(trial.seen)).count() * 2 > left.len()
            }
        }
    }

    /// Returns the largest figure that the clause allows.
    fn allowed(&self) -> f64 {
        match self.measure {
            Measure::Quantile(quantile) => 1.0 - quantile,
            _ => self.below,
        }
    }

    /// Returns whether the evidence of a trial, or its rest, violates the clause.
    pub(super) fn is_beyond(&self, seen: &ClauseEvidence) -> bool {
        match self.measure {
            Measure::Quantile(_) | Measure::Errors | Measure::Late => {
                seen.badness() > self.allowed()
            }
            Measure::Goodput => !self.keeps(seen.badness()),
            Measure::Mean | Measure::Max => seen.badness() >= self.below,
        }
    }

    /// Value over all trials, and its outcome.
    pub(super) fn bound(&self, trials: &[ClauseTrial<'_>]) -> Bound {
        let (value, (low, high)) = match self.measure {
            Measure::Quantile(quantile) => quantile_of(trials, quantile),
            Measure::Errors | Measure::Late => self.errors(trials),
            Measure::Mean => mean_of(trials),
            Measure::Goodput => rate_of(trials),
            Measure::Max => (worst_of(trials), (None, None)),
        };
        let beyond = trials.iter().filter(|trial| self.is_beyond(trial.seen)).count();
        let is_rate = self.measure == Measure::Goodput;
        let (worst, best) = if is_rate { (low, high) } else { (high, low) };
        let outcome = match self.measure {
            Measure::Max if beyond == 0 => Outcome::Kept,
            Measure::Max if beyond * 2 > trials.len() => Outcome::Missed,
            Measure::Max => Outcome::Undecided,
            // A single span has only a mean.
            Measure::Mean | Measure::Goodput if low.is_none() && self.keeps(value) => Outcome::Kept,
            Measure::Mean | Measure::Goodput if low.is_none() => Outcome::Missed,
            _ if worst.is_some_and(|end| self.keeps(end)) => Outcome::Kept,
            _ if best.is_some_and(|end| !self.keeps(end)) => Outcome::Missed,
            _ => Outcome::Undecided,
        };
        let untouched = || trials.iter().all(|trial| trial.seen == trial.left);
        let recorded: Vec<f64> = trials.iter().filter_map(|trial| trial.recorded).collect();
        let is_recorded = recorded.len() * 2 > trials.len();
        let recorded = recorded.first().copied().filter(|_| is_recorded);
        let outcome = match outcome {
            _ if is_recorded => Outcome::Missed,
            Outcome::Missed if !untouched() && !self.is_missed_without_noise(trials) => {
                Outcome::Undecided
            }
            known => known,
        };
        Bound { clause: self.clone(), value, low, high, outcome, recorded }
    }

    /// Share of errors, with a margin as for a share as large as the bound.
    fn errors(&self, trials: &[ClauseTrial<'_>]) -> (f64, Ends) {
        let all = share_of(trials);
        let value = all.map_or(0.0, |share| share.share);
        let margin = all.map_or(1.0, |share| share.margin(self.below));
        let others = share_of(&without_worst(trials)).map(|share| share.share);
        let low = others.unwrap_or(value).min(value - margin).max(0.0);
        (value, (Some(low), Some((value + margin).min(1.0))))
    }
}

/// Trials without the one that speaks most against the clause; empty if it is the only one.
fn without_worst<'t>(trials: &[ClauseTrial<'t>]) -> Vec<ClauseTrial<'t>> {
    let worst = (0..trials.len())
        .max_by(|a, b| trials[*a].seen.badness().total_cmp(&trials[*b].seen.badness()));
    let others = trials.iter().enumerate().filter(|(at, _)| Some(*at) != worst);
    others.map(|(_, trial)| *trial).collect()
}

fn share_of(trials: &[ClauseTrial<'_>]) -> Option<Share> {
    Share::of_trials(&trials.iter().map(|trial| trial.seen.groups()).collect::<Vec<_>>())
}

fn mean_over(trials: &[ClauseTrial<'_>]) -> Option<Mean> {
    let means = trials.iter().flat_map(|trial| trial.seen.means()).copied();
    Mean::from_values(&means.collect::<Vec<_>>())
}

fn worst_of(trials: &[ClauseTrial<'_>]) -> f64 {
    trials.iter().map(|trial| trial.seen.badness()).fold(0.0, f64::max)
}

fn quantile_of(trials: &[ClauseTrial<'_>], quantile: f64) -> (f64, Ends) {
    let bound = 1.0 - quantile;
    let margin = share_of(trials).map_or(1.0, |share| share.margin(bound));
    let at = |trials: &[ClauseTrial<'_>], q: f64| {
        let mut response = trials.first()?.response.clone();
        trials[1..].iter().for_each(|more| response.merge(more.response));
        let known = (0.0..1.0).contains(&q).then(|| response.quantile_ns(q)).flatten();
        known.map(|ns| ns as f64)
    };
    let others = at(&without_worst(trials), quantile);
    let low = at(trials, quantile - margin).map(|low| low.min(others.unwrap_or(low)));
    (at(trials, quantile).unwrap_or_default(), (low, at(trials, quantile + margin)))
}

fn mean_of(trials: &[ClauseTrial<'_>]) -> (f64, Ends) {
    let all = mean_over(trials);
    let others = mean_over(&without_worst(trials)).map(|mean| mean.mean);
    let interval = all.and_then(|mean| mean.interval);
    let quickest = trials.iter().filter_map(|trial| trial.response.min_ns()).min();
    let low = interval.map(|interval| others.unwrap_or(interval.low).min(interval.low));
    let value = all.map_or(0.0, |mean| mean.mean);
    let low = low.map(|low| low.max(quickest.unwrap_or_default() as f64).min(value));
    (value, (low, interval.map(|interval| interval.high)))
}

/// Mean rate over all spans; of several trials, the upper end is never below the mean of the best one.
fn rate_of(trials: &[ClauseTrial<'_>]) -> (f64, Ends) {
    let all = mean_over(trials);
    let best = trials.iter().filter_map(|trial| mean_over(&[*trial]));
    let best = best.map(|mean| mean.mean).fold(0.0, f64::max);
    let interval = all.and_then(|mean| mean.interval);
    let high = interval.map(|interval| match trials.len() {
        1 => interval.high,
        _ => interval.high.max(best),
    });
    (all.map_or(0.0, |mean| mean.mean), (interval.map(|of| of.low.max(0.0)), high))
}

impl Bound {
    /// Describes the value with its interval.
    pub(super) fn describe(&self) -> String {
        let Self { clause, value, low, high, recorded, .. } = self;
        let describe = |value: f64| clause.describe(value);
        let interval = match (low, high) {
            (Some(low), Some(high)) if low < high => {
                format!(" (95 % interval {} to {})", describe(*low), describe(*high))
            }
            (Some(low), None) if clause.measure != Measure::Max => {
                format!(" (95 % interval from {})", describe(*low))
            }
            _ => String::new(),
        };
        let recorded = match recorded {
            Some(share) => format!(
                ", and events that the server recorded made {} of the requests take {} or longer",
                Measure::Errors.describe(*share),
                describe(clause.below)
            ),
            None => String::new(),
        };
        format!("{} {}{interval}{recorded}", clause.measure, describe(*value))
    }
}

impl Measure {
    /// Returns the value of the measure in a run.
    pub fn value(self, summary: &Summary<'_>) -> f64 {
        let LatencyFigures { mean_ns, max_ns, .. } = summary.response;
        match self {
            Self::Mean => mean_ns,
            Self::Max => max_ns as f64,
            Self::Quantile(quantile) => {
                summary.response_times.quantile_ns(quantile).unwrap_or_default() as f64
            }
            Self::Errors => Failures::from_measurement(&summary.run.measurement).percent() / 100.0,
            Self::Late => summary.deadline.map_or(0.0, |deadline| deadline.late_share),
            Self::Goodput => summary.deadline.map_or(0.0, |deadline| deadline.goodput_rps),
        }
    }
}

#[cfg(test)]
#[path = "bound_tests.rs"]
mod tests;
