//! Carrying out a search.

use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail};
use console::diagnostics::{self, Diagnostics};
use job::{End, Job, SearchJob};
use lab::{Answer, Document, Phase, RateSearch, Search, SearchOutcome};
use measure::Ending;
use page::Verdict;

use super::usage_error;
use crate::commands::run::{say, tell_about};
use crate::experiment::files::Files;
use crate::experiment::noise;
use crate::experiment::progress::{Progress, planned_s};
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::signals;
use crate::test_bed::TestBed;

/// Trials that a search takes, as a guess for the time left.
const TRIALS_EXPECTED: u32 = 22;
/// Number of times at most that a point of the curve is measured.
const CURVE_TRIES_MAX: u32 = 3;

/// Searches, measures the curve and prints both.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is printed.
pub(crate) fn search(job: &SearchJob) -> Result<End> {
    let probe = job.trial(job.settings.start_per_s).map_err(usage_error)?;
    let Some(plan) = probe.plans.first() else { return Ok(End::Complete) };
    probe.notes.iter().try_for_each(diagnostics::say)?;
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    noise::warn()?;
    let mut bed = TestBed::reach_asking(
        host::Questions::All,
        &plan.target,
        plan.protocol,
        plan.own_connections(),
        probe.several.as_ref(),
        &interrupted,
    )?;
    bed.sample = probe.output.sample;
    bed.journal = true;
    tell_about(&bed.server, plan, &Diagnostics::Stderr, report::KEYSTORM)?;
    let record = RateSearch::new(plan.name.clone(), job.slo.clone(), job.settings.clone());
    let progress = files.progress();
    let mut search =
        SearchRun { job, bed: &bed, record, files, progress, expected: TRIALS_EXPECTED };
    let ended = search.all();
    search.progress.clear();
    let end = match ended {
        Ok(()) => {
            search.record.set_complete();
            Ok(End::Complete)
        }
        Err(Stop::Interrupted | Stop::OutOfTime) => Ok(End::Interrupted),
        Err(Stop::Fault(error)) => Err(error),
    };
    let shown = search.show();
    let end = end?;
    shown?;
    Ok(match (end, search.record.conclusion().answered) {
        (End::Complete, SearchOutcome::NotEven | SearchOutcome::Nothing) => End::Failed,
        (
            End::Complete,
            SearchOutcome::Undecided | SearchOutcome::NotHere | SearchOutcome::Open,
        ) => End::Inconclusive,
        (end, _) => end,
    })
}

/// Reason why a search ends early.
enum Stop {
    Interrupted,
    /// The budget of the search leaves no time for another trial.
    OutOfTime,
    Fault(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// A search as it goes.
struct SearchRun<'j> {
    job: &'j SearchJob,
    bed: &'j TestBed<'j>,
    record: RateSearch,
    files: Files,
    progress: Progress,
    /// Trials that are thought to come.
    expected: u32,
}

impl SearchRun<'_> {
    fn all(&mut self) -> Result<(), Stop> {
        let mut settings = self.job.settings.clone();
        if self.job.closed_first {
            let closed = self.job.closed_loop().map_err(usage_error)?;
            self.run(Phase::Closed, &closed, "closed loop, to find the first rate")?;
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
            self.trial(Phase::Search, rate, left)
        });
        if matches!(found, Err(Stop::OutOfTime)) {
            self.record.set_out_of_time();
        }
        self.record.settle(search.bracket.given_up);
        match found {
            Ok(_) | Err(Stop::OutOfTime) => {}
            Err(stop) => return Err(stop),
        }
        if self.job.curve {
            let rates = self.record.curve_rates();
            for (at, rate) in rates.iter().enumerate() {
                self.expected = (rates.len() - at) as u32;
                // A point that is not clear is measured again, and in the end marked.
                for _ in 0..CURVE_TRIES_MAX {
                    let answer = self.trial(Phase::Curve, *rate, Duration::MAX)?;
                    if matches!(answer, Answer::Kept | Answer::Missed) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts on a rate and says what is known of it then. A trial that takes longer than is left is not
    /// begun, unless it is the first.
    fn trial(&mut self, phase: Phase, rate: f64, left: Duration) -> Result<Answer, Stop> {
        let job = self.job.trial(rate).map_err(usage_error)?;
        let first = self.record.of(phase).next().is_none();
        let takes_s = job.plans.first().map_or(0.0, planned_s);
        if !first && takes_s > left.as_secs_f64() {
            return Err(Stop::OutOfTime);
        }
        let number = self.record.of(phase).count() + 1;
        let rate = report::grouped(rate);
        let what = match phase {
            Phase::Curve => format!("curve, trial {number}: {rate}/s"),
            _ => format!("trial {number}: {rate}/s"),
        };
        self.run(phase, &job, &what)
    }

    fn run(&mut self, phase: Phase, job: &Job, what: &str) -> Result<Answer, Stop> {
        let Some(plan) = job.plans.first() else { return Ok(Answer::Undecided) };
        let this_s = planned_s(plan);
        self.expected = self.expected.saturating_sub(1).max(1);
        self.progress.begin(what.to_owned(), this_s, this_s * f64::from(self.expected));
        let run = self.bed.run(plan, None, &mut self.progress)?;
        self.progress.end();
        match &run.measurement.ending {
            Ending::Interrupted => return Err(Stop::Interrupted),
            // An error of the server ends a trial, and says nothing about a rate.
            Ending::Failed(failure) => {
                self.record.add(phase, &run)?;
                return Err(Stop::Fault(failure.at(&plan.name).into()));
            }
            Ending::Complete => {}
        }
        let answer = self.record.add(phase, &run)?;
        let record = &self.record;
        let command_line = &self.job.command_line;
        self.files.keep(|| record.to_json(), || record.page(command_line))?;
        Ok(answer)
    }

    fn show(&self) -> Result<()> {
        let (record, job) = (&self.record, self.job);
        if record.trials.is_empty() {
            bail!("nothing was measured");
        }
        let text = |terminal: &Terminal| {
            let conclusion = record.conclusion();
            let headline = format!("{}: {}", record.test, conclusion.headline);
            let curve = record.curve_table();
            let ended = match conclusion.rate_per_s {
                Some(_) if !record.complete() => ", so far",
                _ => "",
            };
            terminal.verdict(&Verdict::new(headline + ended, conclusion.text.clone()))?;
            if !curve.rows.is_empty() {
                say("\n").map(drop)?;
                terminal.table(&curve)?;
                if !job.output.quiet {
                    terminal.chart(&record.chart())?;
                }
            }
            if !job.output.quiet {
                terminal.warnings(&record.warnings())?;
            }
            Ok(())
        };
        let page = || record.page(&job.command_line);
        results::show(&job.output, &self.files, || record.to_json(), || record.to_csv(), page, text)
    }
}
