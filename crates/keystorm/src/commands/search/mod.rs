//! Carrying out a search.

mod options;

use std::time::{Duration, Instant};

use anyhow::Result;
use cli::experiment::{with_load, with_those_of_a_run};
use cli::front::{Front, command};
use cli::job::{End, Job};
use lab::{Findings, Phase, RateOutcome, RateSearch, Search, SearchOutcome};
use measure::Ending;

use self::options::{Options, SearchJob, intent};
use super::usage_error;
use crate::experiment::frame::{EarlyEnd, Experiment, Frame, Step};
use crate::experiment::progress::planned_s;
use crate::test_bed::TestBed;

/// Estimated number of trials of a search, for the time left.
const TRIALS_EXPECTED: u32 = 22;
/// Maximum number of times that a point of the curve is measured.
const CURVE_TRIES_MAX: u32 = 3;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["search"],
    command: || with_those_of_a_run(command::<Options>(), &[]),
    parse: |args| with_load(args, |options, load, shown| intent(options, load, shown, search)),
};

/// Searches, measures the curve and prints both.
///
/// # Errors
/// Returns the reason for a failure in words for a person; earlier results are printed.
fn search(job: &SearchJob) -> Result<End> {
    let probe = job.trial(job.settings.start_per_s).map_err(usage_error)?;
    let Some(plan) = probe.plans.first() else { return Ok(End::Complete) };
    let frame = Frame::open(&probe.notes, &job.options.output)?;
    let mut bed = frame.reach(&probe, plan, plan.own_connections())?;
    bed.settings.journal = true;
    let record = RateSearch::new(plan.name.clone(), job.options.slo.clone(), job.settings.clone());
    frame.carry_out(&mut SearchRun { job, bed: &bed, record, expected: TRIALS_EXPECTED })
}

/// A search as it goes: one step, in which it decides itself what comes next.
struct SearchRun<'j> {
    job: &'j SearchJob,
    bed: &'j TestBed<'j>,
    record: RateSearch,
    /// Expected number of further trials.
    expected: u32,
}

impl Experiment for SearchRun<'_> {
    fn planned_s(&self) -> f64 {
        (f64::from(TRIALS_EXPECTED) * self.job.seconds()).min(self.job.settings.budget_s)
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        match self.all(frame) {
            Ok(()) => {}
            Err(EarlyEnd::OutOfTime) => return Ok(Step::Last(End::Interrupted)),
            Err(EarlyEnd::Ended(end)) => return Ok(Step::Last(end)),
            Err(EarlyEnd::Fault(error)) => return Err(error),
        }
        self.record.set_complete();
        Ok(Step::Last(match self.record.conclusion().answered {
            SearchOutcome::LowestMissed | SearchOutcome::NoTrial => End::Failed,
            SearchOutcome::Undecided | SearchOutcome::Unjudged | SearchOutcome::Open => {
                End::Inconclusive
            }
            SearchOutcome::Found | SearchOutcome::AtLeast => End::Complete,
        }))
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.record
    }
}

impl SearchRun<'_> {
    fn all(&mut self, frame: &mut Frame<'_>) -> Result<(), EarlyEnd> {
        let mut settings = self.job.settings.clone();
        if self.job.options.start.is_none() {
            let closed = self.job.closed_loop().map_err(usage_error)?;
            self.run(
                Phase::Closed,
                &closed,
                "closed loop, to find the first rate".to_owned(),
                frame,
            )?;
            let reached = self.record.trials.last().map_or(0.0, |trial| trial.rate_per_s);
            // A rate that surely is within reach, as a round number.
            let start = format!("{:.1e}", reached / 2.0).parse().unwrap_or(0.0);
            settings.start_per_s = if start > 0.0 { start } else { settings.start_per_s };
            self.record.settings = settings.clone();
        }
        let budget = Duration::from_secs_f64(settings.budget_s);
        let began = Instant::now();
        let mut search = Search::new(settings);
        let found = search.run(|rate| {
            let left = budget.saturating_sub(began.elapsed());
            self.trial(Phase::Search, rate, left, frame)
        });
        if matches!(found, Err(EarlyEnd::OutOfTime)) {
            self.record.out_of_time = true;
        }
        self.record.conclude(search.bracket.given_up);
        match found {
            Ok(_) | Err(EarlyEnd::OutOfTime) => {}
            Err(stop) => return Err(stop),
        }
        if !self.job.options.no_curve {
            let rates = self.record.curve_rates();
            for (at, rate) in rates.iter().enumerate() {
                self.expected = (rates.len() - at) as u32;
                // A point that is not clear is measured again, and in the end marked.
                for _ in 0..CURVE_TRIES_MAX {
                    let answer = self.trial(Phase::Curve, *rate, Duration::MAX, frame)?;
                    if matches!(answer, RateOutcome::Kept | RateOutcome::Missed) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs a trial at a rate and returns the knowledge after it. A trial that takes longer than the time
    /// left is not begun, unless it is the first.
    fn trial(
        &mut self,
        phase: Phase,
        rate: f64,
        left: Duration,
        frame: &mut Frame<'_>,
    ) -> Result<RateOutcome, EarlyEnd> {
        let job = self.job.trial(rate).map_err(usage_error)?;
        let first = self.record.trials_of(phase).next().is_none();
        let takes_s = job.plans.first().map_or(0.0, planned_s);
        if !first && takes_s > left.as_secs_f64() {
            return Err(EarlyEnd::OutOfTime);
        }
        let number = self.record.trials_of(phase).count() + 1;
        let rate = report::grouped(rate);
        let what = match phase {
            Phase::Curve => format!("curve, trial {number}: {rate}/s"),
            _ => format!("trial {number}: {rate}/s"),
        };
        self.run(phase, &job, what, frame)
    }

    fn run(
        &mut self,
        phase: Phase,
        job: &Job,
        title: String,
        frame: &mut Frame<'_>,
    ) -> Result<RateOutcome, EarlyEnd> {
        let Some(plan) = job.plans.first() else { return Ok(RateOutcome::Undecided) };
        self.expected = self.expected.saturating_sub(1).max(1);
        let run = frame.run(self.bed, plan, title, planned_s(plan) * f64::from(self.expected))?;
        match &run.measurement.ending {
            Ending::Interrupted => return Err(EarlyEnd::Ended(End::Interrupted)),
            // An error of the server ends a trial, and says nothing about a rate.
            Ending::Failed(failure) => {
                self.record.add(phase, &run)?;
                return Err(EarlyEnd::Fault(failure.at(&plan.name).into()));
            }
            Ending::Complete => {}
        }
        let answer = self.record.add(phase, &run)?;
        frame.keep(&self.record)?;
        Ok(answer)
    }
}
