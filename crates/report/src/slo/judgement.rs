//! Whether a rate keeps a target: what a trial showed, and what several trials say together.
//!
//! Kept and missed are statements that hold 19 times in 20; between the two a rate is undecided. A trial
//! that missed the target, for which the client or the machine can account, is void, and says nothing. One
//! that kept it counts, whatever else the machine did.

use measure::Latency;
use serde::{Deserialize, Serialize};

use super::bound::{ClauseEvidence, ClauseTrial};
use super::{Bound, Clause, Measure, Slo};
use crate::deliveries::backlog;
use crate::schedule::{BEHIND_SHARE, MISSED_NS, MISSED_SHARE};
use crate::{Disturbance, Excess, Failures, Fault, Run, Summary, grouped};

/// The share of the requests that were due that may lack a reply.
const UNANSWERED_SHARE: f64 = 0.01;
/// The share of the requests that may fail, in hundredths, where the target has no bound of its own: latencies
/// are those of requests that succeed.
const FAILED_PERCENT: f64 = 1.0;

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
    /// Too many requests failed, under a target that does not bound their share.
    Failed,
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
    /// Messages were lost, doubled or out of order.
    Undelivered,
    /// Messages heaped up.
    Backlog,
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

impl Observation {
    /// What the run of a trial shows under a target.
    #[must_use]
    pub fn new(slo: &Slo, run: &Run) -> Self {
        Self::of_summary(slo, &Summary::from_run(run))
    }

    /// The same of figures that are known already.
    pub(super) fn of_summary(slo: &Slo, summary: &Summary<'_>) -> Self {
        let run = summary.run;
        let seen = |clause| ClauseEvidence::new(clause, run, summary);
        let seen: Vec<ClauseEvidence> = slo.clauses.iter().map(seen).collect();
        let misses = misses(slo, summary);
        let of_clauses =
            slo.clauses.iter().zip(&seen).filter_map(|(clause, seen)| clause.excess(seen, summary));
        let excess: Option<Vec<Excess>> =
            misses.iter().map(|miss| miss.excess).chain(of_clauses).collect();
        let disturbance = excess.and_then(|excess| Disturbance::of_miss(run, &excess));
        let misses = misses.into_iter().map(|miss| (miss.what, miss.text)).collect();
        Self { misses, seen, response: summary.response_times.clone(), disturbance }
    }

    /// The same as evidence for or against the target, whatever disturbed it.
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
        let beyond = |(clause, seen): (&Clause, &ClauseEvidence)| {
            clause.measure == Measure::Max && seen.badness() >= clause.below
        };
        !self.misses.is_empty() || slo.clauses.iter().zip(&self.seen).any(beyond)
    }
}

/// What was missed beside the clauses.
struct MissedTarget {
    what: Miss,
    text: String,
    /// By how much; `None` of what no CPU accounts for.
    excess: Option<Excess>,
}

/// What of a schedule was missed. A request that is sent late is one with a long response time, so that being
/// late by less than a bound on that misses nothing.
fn misses(slo: &Slo, summary: &Summary<'_>) -> Vec<MissedTarget> {
    let mut misses = Vec::new();
    if let Some(text) = summary.shortfall() {
        misses.push(MissedTarget { what: Miss::Incomplete, text, excess: None });
    } else if summary.requests == 0 {
        let text = "no request was answered".to_owned();
        misses.push(MissedTarget { what: Miss::Silent, text, excess: None });
    }
    misses.extend(failed(slo, summary));
    // A schedule that is kept by losing messages is not kept, whatever else ran on the machine.
    if let Some(figures) = summary.deliveries.filter(|figures| figures.deliveries.is_faulty()) {
        let text = format!("deliveries: {}", figures.received());
        misses.push(MissedTarget { what: Miss::Undelivered, text, excess: None });
    }
    let Some(schedule) = &summary.schedule else { return misses };
    let late_ns = slo.latency().map_or(0.0, |clause| clause.below).max(MISSED_NS as f64);
    let late = summary.run.measurement.total.lateness.iter().flat_map(|late| late.total.recorded());
    let late = late.filter(|(ns, _)| *ns as f64 > late_ns).map(|(_, n)| n);
    let late = late.fold(schedule.unsent, u64::saturating_add);
    let missed_share = late as f64 / schedule.due.max(1) as f64;
    if let Some((waiting, sent)) = summary.deliveries.and_then(|of| backlog(of.deliveries)) {
        let text = format!("a backlog of {waiting} of {sent} messages when the last was sent");
        let over = waiting as f64 / sent.max(1) as f64;
        let excess = Some(Excess::Share { over, below_ns: 2.0 * late_ns });
        misses.push(MissedTarget { what: Miss::Backlog, text, excess });
    }
    let missed = !schedule.kept() && missed_share > MISSED_SHARE;
    let unanswered = 1.0 - summary.answered_of_due() as f64 / schedule.due.max(1) as f64;
    let too_late = missed_share - MISSED_SHARE;
    let (what, text, over) = if missed && schedule.fault.is_some_and(Fault::is_own) {
        let text = "schedule missed: connections had room, but keystorm was late";
        (Miss::Late, text.to_owned(), too_late)
    } else if missed && schedule.late == 0 {
        let (unsent, due) = (schedule.unsent, schedule.due);
        let text = format!("schedule missed: {unsent} of {due} requests were never sent");
        (Miss::NeverSent, text, too_late)
    } else if missed {
        let text = "schedule missed: every connection was waiting for replies";
        (Miss::NoRoom, text.to_owned(), too_late)
    } else if let Some(behind_ns) = schedule.behind_ns {
        let behind = behind_ns as f64 / schedule.span_ns.max(1) as f64;
        (Miss::Behind, schedule.behind(), behind - BEHIND_SHARE)
    } else if unanswered > UNANSWERED_SHARE {
        let (answered, due) = (summary.answered_of_due(), schedule.due);
        let noun = summary.counted_noun();
        let text = format!("only {answered} of {due} {noun} were answered");
        (Miss::Unanswered, text, unanswered - UNANSWERED_SHARE)
    } else {
        return misses;
    };
    // A request missed the schedule where it was sent so late, which is half of twice that.
    let excess = Some(Excess::Share { over, below_ns: 2.0 * late_ns });
    misses.push(MissedTarget { what, text, excess });
    misses
}

/// What is missed where too many requests failed, whose share the target does not bound.
fn failed(slo: &Slo, summary: &Summary<'_>) -> Option<MissedTarget> {
    let total = &summary.run.measurement.total;
    // What lacks a reply at the end is a matter of the schedule.
    let given_up = total.connections.lost.saturating_add(total.connections.timed_out);
    let failed = total.errors.total().saturating_add(given_up);
    let asked = total.requests().saturating_add(given_up);
    let percent = Failures { asked, failed }.percent();
    if slo.bounds_errors() || percent <= FAILED_PERCENT {
        return None;
    }
    let (failed, asked) = (grouped(failed as f64), grouped(asked as f64));
    let text = format!("{failed} of {asked} requests failed");
    Some(MissedTarget { what: Miss::Failed, text, excess: None })
}

impl Clause {
    /// By how much a trial was beyond it, `None` if it was not; within, `None` of what no CPU accounts for.
    fn excess(&self, seen: &ClauseEvidence, summary: &Summary<'_>) -> Option<Option<Excess>> {
        let over = match self.measure {
            Measure::Quantile(quantile) => seen.badness() - (1.0 - quantile),
            Measure::Errors | Measure::Mean | Measure::Max => seen.badness() - self.below,
        };
        // What holds up requests leaves some as they are: a bound that not even the quickest reply keeps is out of
        // reach with or without it.
        let is_latency = self.measure != Measure::Errors;
        let quickest_ns = summary.service.min_ns as f64;
        if over > 0.0 && is_latency && summary.service.count > 0 && quickest_ns >= self.below {
            return Some(None);
        }
        (over > 0.0).then_some(match self.measure {
            Measure::Quantile(_) => Some(Excess::Share { over, below_ns: self.below }),
            Measure::Mean => Some(Excess::Mean(over)),
            Measure::Max => Some(Excess::Max(over)),
            Measure::Errors => None,
        })
    }
}

impl Slo {
    /// Its clauses over trials; none without a trial.
    pub(super) fn bounds(&self, trials: &[&Observation]) -> Vec<Bound> {
        if trials.is_empty() {
            return Vec::new();
        }
        let bound = |(at, clause): (usize, &Clause)| {
            let of: Vec<ClauseTrial<'_>> =
                trials.iter().map(|trial| (&trial.seen[at], &trial.response)).collect();
            clause.bound(&of)
        };
        self.clauses.iter().enumerate().map(bound).collect()
    }

    /// What trials of one rate say together; those that are void count for nothing.
    #[must_use]
    pub fn judge(&self, trials: &[&Observation]) -> Judgement {
        let valid: Vec<&Observation> =
            trials.iter().copied().filter(|trial| !trial.is_void()).collect();
        if valid.is_empty() {
            let disturbance = trials.iter().rev().find_map(|trial| trial.disturbance.clone());
            let why = disturbance.as_ref().map_or(String::new(), |disturbance| {
                format!("{}: {}", disturbance.cause.describe(), disturbance.text)
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
        let is_measured = valid.iter().any(|trial| trial.samples() > 0);
        let unkept = bounds.iter().filter(|bound| bound.outcome != Outcome::Kept);
        // Without a single success there is no latency to describe.
        let described = unkept.filter(|b| is_measured || b.clause.measure == Measure::Errors);
        why.extend(described.map(Bound::describe));
        let misses = misses.iter().map(|(miss, _)| *miss).collect();
        let (kept, why) = (outcome == Outcome::Kept, why.join("; "));
        Judgement { outcome, kept, why, misses, bounds, disturbance: None }
    }
}
