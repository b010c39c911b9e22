//! Judgement of a rate by a target, from one trial or several together.
//!
//! Kept and missed are statements that hold 19 times in 20; between the two a rate is undecided. Noise makes
//! nothing faster: a target kept despite noise is kept. A target missed even without everything that noise
//! can have caused is missed. Between the two it is undecided, too, and certain facts are reported all the
//! same. A trial is void only if the client itself did not do its work.

use measure::Latency;
use serde::{Deserialize, Serialize};

use super::bound::{ClauseEvidence, ClauseTrial, Outcome};
use super::certain::certainties;
use super::{Bound, Measure, Slo};
use crate::deliveries::backlog;
use crate::schedule::{BEHIND_SHARE, MISSED_NS, MISSED_SHARE};
use crate::verdict::{Noise, response_spans};
use crate::{Disturbance, Failures, Fault, Run, Summary, grouped};

/// Share of the due requests that may lack a reply.
const UNANSWERED_SHARE: f64 = 0.01;
/// Percentage of requests that may fail if the target has no bound on errors, since latencies only cover
/// successful requests.
const FAILED_PERCENT: f64 = 1.0;

/// Minimum possible response time over a socket.
const QUICKEST_NS: u64 = 1_000;

/// Number of trials of which a single counting one does not decide a miss for all.
const ALONE_OF: usize = 3;

/// Miss other than of the target's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Miss {
    /// The run did not end as planned.
    Incomplete,
    /// No request was answered.
    Silent,
    /// Too many requests failed, under a target without a bound on errors.
    Failed,
    /// Requests were due and never sent.
    NeverSent,
    /// Requests left late because every connection was waiting for replies.
    NoRoom,
    /// Requests left late although connections had room.
    Late,
    /// Replies fell behind the schedule.
    Behind,
    /// Too few requests were answered.
    Unanswered,
    /// Messages were lost, doubled or out of order.
    Undelivered,
    /// Messages were sent faster than they were delivered.
    Backlog,
    /// Most filled keys were not found.
    Unfound,
}

/// Judgement of a rate, or of one trial of it, under a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Outcome.
    pub outcome: Outcome,
    /// Set if the target was kept.
    pub kept: bool,
    /// Reason why the target was not kept, in words; empty if it was.
    pub why: String,
    /// Misses other than of the bounds.
    #[serde(default)]
    pub misses: Vec<Miss>,
    /// The bounds of the target.
    #[serde(default)]
    pub bounds: Vec<Bound>,
    /// Disturbance that made the trial void, or noise that leaves it undecided.
    #[serde(default)]
    pub disturbance: Option<Disturbance>,
    /// Facts that are certain although noise left the outcome undecided, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certain: Vec<String>,
}

/// Evidence of one trial.
#[derive(Debug, Clone)]
pub struct Observation {
    /// Reason why the client did not do its work, if that made the trial miss.
    void: Option<Disturbance>,
    /// Largest noise.
    noise: Option<Disturbance>,
    /// Set if noise can have caused every miss of the trial.
    is_by_noise: bool,
    misses: Vec<MissedTarget>,
    /// Evidence for each clause of the target.
    seen: Vec<ClauseEvidence>,
    /// Evidence for each clause without everything that noise can have caused.
    left: Vec<ClauseEvidence>,
    /// Share beyond each clause due to events in the server's journal, if these alone miss it.
    recorded: Vec<Option<f64>>,
    response: Latency,
}

impl Observation {
    /// Takes the evidence of a trial from its run.
    pub fn new(slo: &Slo, run: &Run) -> Self {
        Self::of_summary(slo, &Summary::from_run(run))
    }

    /// Takes the evidence of a trial from existing figures.
    pub(super) fn of_summary(slo: &Slo, summary: &Summary<'_>) -> Self {
        let spans = response_spans(summary);
        let noise = Noise::of_run(summary.run, summary.response_times.count());
        let seen = |clause| ClauseEvidence::new(clause, summary, &spans);
        let seen: Vec<ClauseEvidence> = slo.clauses.iter().map(seen).collect();
        let misses = misses(slo, summary, &noise);
        // Where a queue that noise left may never have been empty, it made the quickest reply longer, too.
        let has_queue = misses.iter().any(|miss| miss.over.is_some());
        let is_known = summary.service.count > 0 && !has_queue;
        let quickest_ns = if is_known { summary.service.min_ns } else { QUICKEST_NS };
        let left = slo.clauses.iter().zip(&seen);
        let left = left.map(|(clause, seen)| seen.without(&noise, clause, &spans, quickest_ns));
        let recorded = |clause| ClauseEvidence::recorded(&noise, clause, &spans);
        let recorded = slo.clauses.iter().map(recorded).collect();
        let left = left.collect();
        let bound_ns = slo.latency().map_or(MISSED_NS as f64, |clause| clause.below);
        let mut trial = Self {
            void: None,
            noise: noise.largest(bound_ns),
            is_by_noise: false,
            misses,
            seen,
            left,
            recorded,
            response: summary.response_times.clone(),
        };
        if trial.has_missed(slo) && !trial.has_missed_for_sure(slo) {
            let late = |miss: &MissedTarget| (miss.what == Miss::Late).then_some(miss.over)?;
            let late = trial.misses.iter().find_map(late);
            trial.void = noise.client_busy().or_else(|| noise.client_late(late?));
            trial.is_by_noise = trial.noise.is_some();
        }
        trial
    }

    /// Returns the trial as evidence, whatever disturbed it.
    pub fn undisturbed(&self) -> Self {
        let left = self.seen.clone();
        let misses = self.misses.iter().map(|miss| MissedTarget { over: None, ..miss.clone() });
        let misses = misses.collect();
        Self { void: None, noise: None, is_by_noise: false, left, misses, ..self.clone() }
    }

    /// Returns the number of its response times.
    pub(super) fn samples(&self) -> u64 {
        self.response.count()
    }

    /// Returns whether the trial is void: the client did not do its work.
    pub fn is_void(&self) -> bool {
        self.void.is_some()
    }

    /// Returns whether anything violated the target.
    fn has_missed(&self, slo: &Slo) -> bool {
        !self.misses.is_empty()
            || slo.clauses.iter().zip(&self.seen).any(|(clause, seen)| clause.is_beyond(seen))
    }

    /// Returns whether anything violated the target even without everything that noise can have caused.
    fn has_missed_for_sure(&self, slo: &Slo) -> bool {
        self.misses.iter().any(MissedTarget::is_certain)
            || self.recorded.iter().any(Option::is_some)
            || slo.clauses.iter().zip(&self.left).any(|(clause, left)| clause.is_beyond(left))
    }

    /// Returns whether the trial missed a target without an interval, which is the schedule or a maximum;
    /// with `without_noise`, only if noise cannot have caused it.
    fn missed_outright(&self, slo: &Slo, without_noise: bool) -> bool {
        let of = if without_noise { &self.left } else { &self.seen };
        self.misses.iter().any(|miss| !without_noise || miss.is_certain())
            || slo
                .clauses
                .iter()
                .zip(of)
                .any(|(clause, seen)| clause.measure == Measure::Max && clause.is_beyond(seen))
    }
}

/// Miss of something other than a clause, with its text.
#[derive(Debug, Clone)]
struct MissedTarget {
    what: Miss,
    text: String,
    /// Excess share of the requests, for misses that noise can have caused.
    over: Option<f64>,
}

impl MissedTarget {
    fn is_certain(&self) -> bool {
        self.over.is_none()
    }
}

/// Finds misses other than of the clauses. The lateness of a request is part of its response time, so
/// lateness below a bound on that is no miss.
fn misses(slo: &Slo, summary: &Summary<'_>, noise: &Noise<'_>) -> Vec<MissedTarget> {
    let mut misses = Vec::new();
    if let Some(text) = summary.shortfall() {
        misses.push(MissedTarget { what: Miss::Incomplete, text, over: None });
    } else if summary.requests == 0 {
        let text = "no request was answered".to_owned();
        misses.push(MissedTarget { what: Miss::Silent, text, over: None });
    }
    misses.extend(failed(slo, summary));
    // The target is one of reads that find their keys.
    let unfound = crate::unfound(summary.run);
    misses.extend(unfound.map(|text| MissedTarget { what: Miss::Unfound, text, over: None }));
    // A schedule that is kept by losing messages is not kept, whatever else ran on the machine.
    if let Some(figures) = summary.deliveries.filter(|figures| figures.deliveries.is_faulty()) {
        let text = format!("deliveries: {}", figures.received());
        misses.push(MissedTarget { what: Miss::Undelivered, text, over: None });
    }
    let Some(schedule) = &summary.schedule else { return misses };
    let by_noise = |over: f64| Some(over).filter(|over| noise.accounts_for(*over));
    let late_ns = slo.latency().map_or(0.0, |clause| clause.below).max(MISSED_NS as f64);
    let late = summary.run.measurement.total.lateness.iter().flat_map(|late| late.total.recorded());
    let late = late.filter(|(ns, _)| *ns as f64 > late_ns).map(|(_, n)| n);
    let late = late.fold(schedule.unsent, u64::saturating_add);
    let missed_share = late as f64 / schedule.due.max(1) as f64;
    if let Some((waiting, sent)) = summary.deliveries.and_then(|of| backlog(of.deliveries)) {
        let text = format!("a backlog of {waiting} of {sent} messages when the last was sent");
        let over = by_noise(waiting as f64 / sent.max(1) as f64);
        misses.push(MissedTarget { what: Miss::Backlog, text, over });
    }
    let missed = !schedule.kept() && missed_share > MISSED_SHARE;
    let answered = summary.answered_of_due().saturating_add(past_deadline(slo, summary));
    let unanswered = 1.0 - answered as f64 / schedule.due.max(1) as f64;
    let too_late = missed_share - MISSED_SHARE;
    let (what, text, over) = if missed && schedule.fault.is_some_and(Fault::is_own) {
        (Miss::Late, format!("schedule missed: {}", Fault::Client.describe()), too_late)
    } else if missed && schedule.late == 0 {
        let (unsent, due) = (schedule.unsent, schedule.due);
        let text = format!("schedule missed: {unsent} of {due} requests were never sent");
        (Miss::NeverSent, text, too_late)
    } else if missed {
        (Miss::NoRoom, format!("schedule missed: {}", Fault::NoRoom.describe()), too_late)
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
    misses.push(MissedTarget { what, text, over: by_noise(over) });
    misses
}

/// Returns the number of requests that were given up at their deadline, if the target bounds those itself.
fn past_deadline(slo: &Slo, summary: &Summary<'_>) -> u64 {
    summary.deadline.filter(|_| slo.bounds_late()).map_or(0, |deadline| deadline.given_up)
}

/// Returns the miss of too many failed requests, if the target does not bound their share.
fn failed(slo: &Slo, summary: &Summary<'_>) -> Option<MissedTarget> {
    let total = summary.run.measurement.requested();
    // Requests without a reply at the end are judged by the schedule; those given up at their deadline, by a
    // target that bounds them.
    let of_deadline = past_deadline(slo, summary);
    let timed_out = total.connections.timed_out.saturating_sub(of_deadline);
    let given_up = total.connections.lost.saturating_add(timed_out);
    let failed = total.errors.total().saturating_add(given_up);
    let asked = total.requests().saturating_add(given_up);
    let percent = Failures { asked, failed }.percent();
    if slo.bounds_errors() || percent <= FAILED_PERCENT {
        return None;
    }
    let (failed, asked) = (grouped(failed as f64), grouped(asked as f64));
    let text = format!("{failed} of {asked} requests failed");
    Some(MissedTarget { what: Miss::Failed, text, over: None })
}

impl Slo {
    /// Returns the bounds of the clauses over trials; empty without trials.
    pub(super) fn bounds(&self, trials: &[&Observation]) -> Vec<Bound> {
        if trials.is_empty() {
            return Vec::new();
        }
        let bounds = self.clauses.iter().enumerate().map(|(at, clause)| {
            let of = trials.iter().map(|trial| ClauseTrial {
                seen: &trial.seen[at],
                left: &trial.left[at],
                recorded: trial.recorded[at],
                response: &trial.response,
            });
            clause.bound(&of.collect::<Vec<_>>())
        });
        bounds.collect()
    }

    /// Weighs the bounds and the trials that missed without an interval.
    fn weigh(&self, trials: &[&Observation], bounds: &[Bound], without_noise: bool) -> Outcome {
        let outright = |without_noise| {
            trials.iter().filter(|trial| trial.missed_outright(self, without_noise)).count()
        };
        let is = |outcome: Outcome| bounds.iter().any(|bound| bound.outcome == outcome);
        if outright(without_noise) * 2 > trials.len() || is(Outcome::Missed) {
            Outcome::Missed
        } else if outright(false) > 0 || is(Outcome::Undecided) {
            Outcome::Undecided
        } else {
            Outcome::Kept
        }
    }

    /// Returns whether trials missed the target if everything measured were the server's doing.
    fn is_missed_as_measured(&self, trials: &[&Observation]) -> bool {
        let as_measured: Vec<Observation> =
            trials.iter().map(|trial| trial.undisturbed()).collect();
        let as_measured: Vec<&Observation> = as_measured.iter().collect();
        self.weigh(&as_measured, &self.bounds(&as_measured), false) == Outcome::Missed
    }

    /// Judges trials of one rate together. Void trials do not count, nor do those that noise can have made
    /// miss if there are others.
    pub fn judge(&self, trials: &[&Observation]) -> Judgement {
        let valid: Vec<&Observation> =
            trials.iter().copied().filter(|trial| !trial.is_void()).collect();
        if valid.is_empty() {
            let disturbance = trials.iter().rev().find_map(|trial| trial.void.clone());
            let why = disturbance.as_ref().map_or(String::new(), Disturbance::sentence);
            return Judgement { disturbance, ..Judgement::new(Outcome::Void, why) };
        }
        let steady: Vec<&Observation> =
            valid.iter().copied().filter(|trial| !trial.is_by_noise).collect();
        let counted = if steady.is_empty() { valid } else { steady };
        let bounds = self.bounds(&counted);
        let is_alone = counted.len() == 1 && trials.len() >= ALONE_OF;
        let outcome = match self.weigh(&counted, &bounds, true) {
            Outcome::Missed if is_alone => Outcome::Undecided,
            outcome => outcome,
        };
        // Of trials that missed for different reasons the last.
        let last = counted.iter().rev().find(|trial| !trial.misses.is_empty());
        let misses = last.map_or(&[][..], |trial| &trial.misses);
        let mut why: Vec<String> = misses.iter().map(|miss| miss.text.clone()).collect();
        let is_measured = counted.iter().any(|trial| trial.samples() > 0);
        let unkept = bounds.iter().filter(|bound| bound.outcome != Outcome::Kept);
        // Without a single success there is no latency to describe.
        let described = unkept.filter(|b| is_measured || !b.clause.measure.is_latency());
        why.extend(described.map(Bound::describe));
        let by_noise = outcome == Outcome::Undecided
            && (counted.iter().all(|trial| trial.is_by_noise)
                || self.is_missed_as_measured(&counted));
        let noise = counted.iter().rev().filter(|_| by_noise).find_map(|trial| trial.noise.clone());
        why.extend(noise.as_ref().map(Disturbance::sentence));
        let certain = match noise {
            Some(_) => certainties(&bounds, |at| counted.iter().map(move |trial| &trial.left[at])),
            None => Vec::new(),
        };
        Judgement {
            misses: misses.iter().map(|miss| miss.what).collect(),
            bounds,
            disturbance: noise,
            certain,
            ..Judgement::new(outcome, why.join("; "))
        }
    }
}

impl Judgement {
    /// Creates an outcome with its reason, and nothing else.
    fn new(outcome: Outcome, why: String) -> Self {
        let kept = outcome == Outcome::Kept;
        let (misses, bounds, certain) = (Vec::new(), Vec::new(), Vec::new());
        Self { outcome, kept, why, misses, bounds, disturbance: None, certain }
    }
}

#[cfg(test)]
#[path = "judgement_tests.rs"]
mod tests;
