//! Whether a rate keeps a target: what a trial showed, and what several trials say together.
//!
//! Kept and missed are statements that hold 19 times in 20; between the two a rate is undecided. A trial
//! that the client or the machine decided is void, and says nothing.

use std::cmp::Ordering;

use measure::Latency;
use serde::{Deserialize, Serialize};
use statistics::{Mean, Share};

use super::{Clause, Measure, Slo};
use crate::{Disturbance, Fault, Run, Summary};

/// The share of the requests that were due that may lack a reply.
const UNANSWERED_SHARE: f64 = 0.01;

/// What is known of a rate under a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was kept, on schedule.
    Kept,
    /// It was not.
    Missed,
    /// Both can be: more requests are needed to tell.
    Undecided,
    /// The client or the machine decided.
    Void,
}

/// What was missed beside the bounds of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Miss {
    /// The run did not end as planned.
    Incomplete,
    /// No request was answered.
    Silent,
    /// Requests were due and never sent.
    NeverSent,
    /// Requests left late: every connection was waiting for replies.
    NoRoom,
    /// Requests left late although connections had room.
    Late,
    /// Replies fell behind the schedule.
    Behind,
    /// Too few requests were answered.
    Unanswered,
}

/// A bound of the target, and the value held against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What is bounded, and by what.
    pub clause: Clause,
    /// What was measured: nanoseconds, or a share.
    pub value: f64,
    /// The lower end of the interval that holds the true value 19 times in 20, where there is one.
    pub low: Option<f64>,
    /// Its upper end; `None` where too few requests say how far it goes, and of a maximum.
    pub high: Option<f64>,
    /// Whether it is kept.
    pub outcome: Outcome,
}

/// What became of a rate, or of one trial of it, under a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What is known.
    pub outcome: Outcome,
    /// Whether it was kept.
    pub kept: bool,
    /// Why it was not, in words; empty if it was.
    pub why: String,
    /// What was missed beside the bounds.
    #[serde(default)]
    pub misses: Vec<Miss>,
    /// The bounds of the target.
    #[serde(default)]
    pub bounds: Vec<Bound>,
    /// What made it void, if something did.
    #[serde(default)]
    pub disturbance: Option<Disturbance>,
}

/// What one trial showed.
#[derive(Debug, Clone)]
pub struct Observation {
    disturbance: Option<Disturbance>,
    misses: Vec<(Miss, String)>,
    /// For each clause of the target.
    seen: Vec<ClauseEvidence>,
    response: Latency,
}

/// What one trial showed of a clause, by spans of time where these may differ.
#[derive(Debug, Clone)]
enum ClauseEvidence {
    /// How many were beyond the bound, and how many there were.
    Beyond(Vec<(u64, u64)>),
    /// The mean of each span.
    Means(Vec<f64>),
    /// The greatest.
    Greatest(u64),
}

impl Observation {
    /// What the run of a trial shows under a target.
    #[must_use]
    pub fn of(slo: &Slo, run: &Run) -> Self {
        Self::of_summary(slo, &Summary::of(run))
    }

    /// The same of figures that are known already.
    pub(super) fn of_summary(slo: &Slo, summary: &Summary<'_>) -> Self {
        let run = summary.run;
        let disturbance = slo.clauses.iter().find_map(|clause| match clause.measure {
            Measure::Quantile(quantile) => Disturbance::of_bound(run, quantile, clause.below),
            Measure::Max => Disturbance::of_bound(run, 1.0, clause.below),
            Measure::Mean | Measure::Errors => Disturbance::of(run),
        });
        Self {
            misses: misses(summary),
            seen: slo.clauses.iter().map(|clause| seen(clause, run, summary)).collect(),
            response: summary.response_times.clone(),
            disturbance,
        }
    }

    /// The same as evidence for the target, whatever disturbed it: other programs make latencies longer, and
    /// a target that is kept in spite of them is kept.
    #[must_use]
    pub fn undisturbed(&self) -> Self {
        Self { disturbance: None, ..self.clone() }
    }

    /// How many response times it has.
    pub(super) fn samples(&self) -> u64 {
        self.response.count()
    }

    /// Whether the client or the machine decided.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.disturbance.is_some()
    }

    /// Whether it missed what has no interval: the schedule, or a maximum.
    fn missed_outright(&self, slo: &Slo) -> bool {
        let beyond = |(clause, seen): (&Clause, &ClauseEvidence)| match seen {
            ClauseEvidence::Greatest(ns) => *ns as f64 >= clause.below,
            ClauseEvidence::Beyond(_) | ClauseEvidence::Means(_) => false,
        };
        !self.misses.is_empty() || slo.clauses.iter().zip(&self.seen).any(beyond)
    }
}

/// What of a schedule was missed, and that in words.
fn misses(summary: &Summary<'_>) -> Vec<(Miss, String)> {
    let mut misses = Vec::new();
    if let Some(shortfall) = summary.shortfall() {
        misses.push((Miss::Incomplete, shortfall));
    } else if summary.requests == 0 {
        misses.push((Miss::Silent, "no request was answered".to_owned()));
    }
    let Some(schedule) = &summary.schedule else { return misses };
    let missed = !schedule.kept();
    let short = (1.0 - UNANSWERED_SHARE) * schedule.due as f64;
    if missed && schedule.fault.is_some_and(Fault::is_own) {
        let text = "schedule missed: connections had room, but keystorm was late";
        misses.push((Miss::Late, text.to_owned()));
    } else if missed && schedule.late == 0 {
        let (unsent, due) = (schedule.unsent, schedule.due);
        let text = format!("schedule missed: {unsent} of {due} requests were never sent");
        misses.push((Miss::NeverSent, text));
    } else if missed {
        let text = "schedule missed: every connection was waiting for replies";
        misses.push((Miss::NoRoom, text.to_owned()));
    } else if schedule.behind_ns.is_some() {
        misses.push((Miss::Behind, schedule.behind()));
    } else if (summary.counted() as f64) < short {
        let (answered, due) = (summary.counted(), schedule.due);
        let noun = summary.counted_noun();
        misses.push((Miss::Unanswered, format!("only {answered} of {due} {noun} were answered")));
    }
    misses
}

fn seen(clause: &Clause, run: &Run, summary: &Summary<'_>) -> ClauseEvidence {
    let points = &run.measurement.timeline.points;
    let beyond = |response: &Latency| {
        let over = response.recorded().filter(|(ns, _)| *ns as f64 >= clause.below);
        (over.map(|(_, n)| n).sum::<u64>(), response.count())
    };
    match clause.measure {
        Measure::Max => ClauseEvidence::Greatest(summary.response.max_ns),
        Measure::Quantile(_) => {
            let decoded = points.iter().filter_map(|point| point.response.as_ref()?.decode().ok());
            let groups: Vec<(u64, u64)> = decoded.map(|response| beyond(&response)).collect();
            let all: u64 = groups.iter().map(|(_, of)| of).sum();
            // Of a run without all of its timeline the whole is one span.
            match all == summary.response_times.count() {
                true => ClauseEvidence::Beyond(groups),
                false => ClauseEvidence::Beyond(vec![beyond(&summary.response_times)]),
            }
        }
        Measure::Mean => {
            let means: Vec<f64> = points.iter().filter_map(|point| point.mean_ns).collect();
            ClauseEvidence::Means(if means.is_empty() {
                vec![summary.response.mean_ns]
            } else {
                means
            })
        }
        Measure::Errors => {
            let unanswered = run.measurement.total.connections.unanswered;
            let mut groups: Vec<(u64, u64)> =
                points.iter().map(|point| (point.errors, point.requests)).collect();
            let all: u64 = groups.iter().map(|(_, of)| of).sum();
            if all != summary.requests {
                groups = vec![(summary.errors, summary.requests)];
            }
            if unanswered > 0 {
                groups.push((unanswered, unanswered));
            }
            ClauseEvidence::Beyond(groups)
        }
    }
}

impl Slo {
    /// Its clauses over trials; none without a trial.
    pub(super) fn bounds(&self, trials: &[&Observation]) -> Vec<Bound> {
        let Some((first, others)) = trials.split_first() else { return Vec::new() };
        let mut response = first.response.clone();
        others.iter().for_each(|trial| response.merge(&trial.response));
        let seen = |at: usize| trials.iter().map(move |trial| &trial.seen[at]);
        let clauses = self.clauses.iter().enumerate();
        clauses.map(|(at, clause)| clause.bound(seen(at), &response)).collect()
    }

    /// What trials of one rate say together; those that are void count for nothing.
    #[must_use]
    pub fn judge(&self, trials: &[&Observation]) -> Judgement {
        let valid: Vec<&Observation> =
            trials.iter().copied().filter(|trial| !trial.is_void()).collect();
        if valid.is_empty() {
            let disturbance = trials.iter().rev().find_map(|trial| trial.disturbance.clone());
            let why = disturbance.as_ref().map_or(String::new(), |disturbance| {
                format!("{}: {}", disturbance.cause.told(), disturbance.text)
            });
            let (misses, bounds) = (Vec::new(), Vec::new());
            let outcome = Outcome::Void;
            return Judgement { outcome, kept: false, why, misses, bounds, disturbance };
        }
        let bounds = self.bounds(&valid);
        let outright = valid.iter().filter(|trial| trial.missed_outright(self)).count();
        let is = |outcome: Outcome| bounds.iter().any(|bound| bound.outcome == outcome);
        let outcome = if outright * 2 > valid.len() || is(Outcome::Missed) {
            Outcome::Missed
        } else if outright > 0 || is(Outcome::Undecided) {
            Outcome::Undecided
        } else {
            Outcome::Kept
        };
        // Of trials that missed for different reasons the last.
        let last = valid.iter().rev().find(|trial| !trial.misses.is_empty());
        let misses = last.map_or(&[][..], |trial| &trial.misses);
        let mut why: Vec<String> = misses.iter().map(|(_, text)| text.clone()).collect();
        why.extend(bounds.iter().filter(|b| b.outcome != Outcome::Kept).map(Bound::told));
        let misses = misses.iter().map(|(miss, _)| *miss).collect();
        let (kept, why) = (outcome == Outcome::Kept, why.join("; "));
        Judgement { outcome, kept, why, misses, bounds, disturbance: None }
    }
}

impl Clause {
    /// Whether one trial by itself lies beyond the bound, however surely.
    fn is_beyond(&self, seen: &ClauseEvidence) -> bool {
        match (seen, self.measure) {
            (ClauseEvidence::Beyond(groups), measure) => {
                let bound = match measure {
                    Measure::Quantile(q) => 1.0 - q,
                    _ => self.below,
                };
                Share::of(groups).is_some_and(|share| share.share >= bound)
            }
            (ClauseEvidence::Means(means), _) => {
                Mean::of(means).is_some_and(|mean| mean.mean >= self.below)
            }
            (ClauseEvidence::Greatest(ns), _) => *ns as f64 >= self.below,
        }
    }

    /// The value over trials that showed this, whose response times are all of `response`.
    fn bound<'s>(
        &self,
        seen: impl Iterator<Item = &'s ClauseEvidence>,
        response: &Latency,
    ) -> Bound {
        let (mut groups, mut means, mut greatest) = (Vec::new(), Vec::new(), Vec::new());
        let (mut trials, mut beyond) = (0, 0);
        for seen in seen {
            trials += 1;
            beyond += usize::from(self.is_beyond(seen));
            match seen {
                ClauseEvidence::Beyond(of) => groups.extend_from_slice(of),
                ClauseEvidence::Means(of) => means.extend_from_slice(of),
                ClauseEvidence::Greatest(ns) => greatest.push(*ns as f64),
            }
        }
        // Spans of one trial are no independent witnesses of a backlog: what a single trial shows is not
        // missed as long as most others show the contrary.
        let outcome = |ordering: Option<Ordering>| match ordering {
            Some(Ordering::Less) => Outcome::Kept,
            Some(_) if beyond * 2 > trials => Outcome::Missed,
            _ => Outcome::Undecided,
        };
        let quantile = |q: f64| response.quantile_ns(q).map(|ns| ns as f64);
        let clause = self.clone();
        match self.measure {
            Measure::Quantile(q) => {
                let bound = 1.0 - q;
                let share = Share::of(&groups);
                let margin = share.map_or(1.0, |share| share.margin(bound));
                let value = quantile(q).unwrap_or_default();
                let within = |q: f64| Some(q).filter(|q| (0.0..1.0).contains(q)).and_then(quantile);
                let (low, high) = (within((q - margin).max(0.0)), within(q + margin));
                let outcome = outcome(share.and_then(|share| share.against(bound)));
                Bound { clause, value, low, high, outcome }
            }
            Measure::Errors => {
                let share = Share::of(&groups);
                let value = share.map_or(0.0, |share| share.share);
                let margin = share.map_or(1.0, |share| share.margin(value.max(self.below)));
                let (low, high) = ((value - margin).max(0.0), (value + margin).min(1.0));
                let outcome = outcome(share.and_then(|share| share.against(self.below)));
                Bound { clause, value, low: Some(low), high: Some(high), outcome }
            }
            Measure::Mean => {
                let mean = Mean::of(&means);
                let value = mean.map_or(0.0, |mean| mean.mean);
                let interval = mean.and_then(|mean| mean.interval);
                let ordering = match interval {
                    Some(interval) if interval.high < self.below => Some(Ordering::Less),
                    Some(interval) if interval.low >= self.below => Some(Ordering::Greater),
                    Some(_) => None,
                    None => value.partial_cmp(&self.below),
                };
                let (low, high) = (interval.map(|i| i.low), interval.map(|i| i.high));
                Bound { clause, value, low, high, outcome: outcome(ordering) }
            }
            Measure::Max => {
                let value = greatest.iter().copied().fold(0.0, f64::max);
                let ordering = if beyond == 0 { Ordering::Less } else { Ordering::Greater };
                Bound { clause, value, low: None, high: None, outcome: outcome(Some(ordering)) }
            }
        }
    }
}

impl Bound {
    /// The value with its interval, in words.
    pub(super) fn told(&self) -> String {
        let Self { clause, value, low, high, .. } = self;
        let told = |value: f64| clause.measure.told(value);
        let interval = match (low, high) {
            (Some(low), Some(high)) if low < high => {
                format!(" (95 % interval {} to {})", told(*low), told(*high))
            }
            (Some(low), None) if clause.measure != Measure::Max => {
                format!(" (95 % interval from {})", told(*low))
            }
            _ => String::new(),
        };
        format!("{} {}{interval}", clause.measure, told(*value))
    }
}
