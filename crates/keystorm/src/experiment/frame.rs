//! The frame of an experiment: its common parts before, between and after runs.
//!
//! Owns notes, files, Ctrl-C, the latency that the machine adds, the server, the expected duration, the
//! progress, saving results on the way, showing them at any end, and the exit code. Runs and their meaning
//! belong to the experiment.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Error, Result};
use cli::console::diagnostics::{self, Diagnostics};
use cli::experiment::ExperimentOptions;
use cli::job::{End, Job};
use lab::Findings;
use report::Run;
use report::page::Block;
use workload::Plan;

use super::files::Files;
use super::noise;
use super::progress::{Progress, planned_s};
use super::terminal::Terminal;
use crate::commands::run::{say, tell_about};
use crate::signals;
use crate::test_bed::TestBed;

/// Duration in seconds from which an experiment's length is announced.
const LONG_S: f64 = 60.0;

/// A running experiment.
pub(crate) trait Experiment {
    /// Planned duration in seconds.
    fn planned_s(&self) -> f64;

    /// Runs the next step, and returns whether it was the last.
    ///
    /// # Errors
    /// Returns the reason why it could not be run, in words for a person.
    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step>;

    /// Returns the findings so far.
    fn findings(&mut self) -> &mut impl Findings;
}

/// Continuation after a step.
pub(crate) enum Step {
    /// The next.
    Next,
    /// No further step; the experiment ends like this.
    Last(End),
}

/// Reason why a search, which decides itself what comes next, ends early.
pub(crate) enum EarlyEnd {
    Ended(End),
    /// Too little of its time is left for another trial.
    OutOfTime,
    Fault(Error),
}

impl<E: Into<Error>> From<E> for EarlyEnd {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// Destinations of results, progress of the experiment, and the word to stop.
pub(crate) struct Frame<'f> {
    output: &'f ExperimentOptions,
    pub(crate) files: Files,
    pub(crate) progress: Progress,
    pub(crate) interrupted: &'static AtomicBool,
}

impl<'f> Frame<'f> {
    /// Prints the notes, and ensures that the files can be written.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub(crate) fn open(
        notes: impl IntoIterator<Item = impl fmt::Display>,
        output: &'f ExperimentOptions,
    ) -> Result<Self> {
        notes.into_iter().try_for_each(diagnostics::say)?;
        let mut files = Files::new(output)?;
        let progress = files.progress();
        Ok(Self { output, files, progress, interrupted: signals::interrupted()? })
    }

    /// Measures the latency that this machine adds, reaches or starts the server of a plan, with room for
    /// `connections`, and announces it.
    ///
    /// # Errors
    /// Returns the errors of [`TestBed::reach`].
    pub(crate) fn reach(
        &self,
        job: &Job,
        plan: &Plan,
        connections: u32,
    ) -> Result<TestBed<'static>> {
        noise::warn()?;
        reach(job, plan, connections, self.interrupted)
    }

    /// Returns whether the user asked to stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Runs a plan, after which runs of `after_s` planned seconds are left.
    ///
    /// # Errors
    /// Returns the errors of [`TestBed::run`].
    pub(crate) fn run(
        &mut self,
        bed: &TestBed<'_>,
        plan: &Plan,
        title: String,
        after_s: f64,
    ) -> Result<Run> {
        self.progress.begin(title, planned_s(plan), after_s);
        let run = bed.run(plan, None, &mut self.progress);
        self.progress.end();
        run
    }

    /// Saves the findings so far, and shows them on the page.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub(crate) fn keep(&mut self, found: &impl Findings) -> Result<()> {
        self.files.keep(|| found.to_json(), || found.page(&self.output.command_line))
    }

    /// Runs an experiment. Its results are shown however it ends.
    ///
    /// # Errors
    /// Returns the reason why it could not be run, in words for a person.
    pub(crate) fn carry_out(mut self, experiment: &mut impl Experiment) -> Result<End> {
        let planned_s = experiment.planned_s();
        if planned_s > LONG_S {
            let minutes = (planned_s / 60.0).ceil();
            diagnostics::say(format_args!("note: this takes about {minutes:.0} minutes"))?;
        }
        let ended = loop {
            if self.is_interrupted() {
                break Ok(End::Interrupted);
            }
            match experiment.step(&mut self) {
                Ok(Step::Next) => self.keep(experiment.findings())?,
                Ok(Step::Last(end)) => break Ok(end),
                Err(error) => break Err(error),
            }
        };
        self.progress.clear();
        let found = experiment.findings();
        if matches!(ended, Ok(End::Complete)) {
            found.set_complete();
        }
        let shown = match (found.is_empty(), &ended) {
            (false, _) => self.show(found),
            (true, Ok(_)) => Ok(diagnostics::say("nothing was measured")?),
            (true, Err(_)) => Ok(()),
        };
        let end = ended?;
        shown?;
        Ok(if end == End::Complete && !found.is_conclusive() { End::Inconclusive } else { end })
    }

    /// Prints what was found, in the format that was asked for, and writes the files.
    fn show(&self, found: &impl Findings) -> Result<()> {
        // A closed standard output ends the program.
        let written =
            self.files.finish(|| found.to_json(), || found.page(&self.output.command_line));
        match self.output.format.as_str() {
            "json" => say(&found.to_json()?).map(drop)?,
            "csv" => say(&found.to_csv()).map(drop)?,
            _ => {
                let terminal = Terminal::of_stdout();
                for (at, block) in found.shown(self.output.quiet).iter().enumerate() {
                    if at > 0 && !matches!(block, Block::Note(..) | Block::Chart(_)) {
                        say("\n").map(drop)?;
                    }
                    terminal.block(block)?;
                }
            }
        }
        written?;
        Ok(found.remarks().into_iter().map(report::escape).try_for_each(diagnostics::say)?)
    }
}

/// Reaches or starts the server of a plan, with room for `connections`, and announces it.
///
/// # Errors
/// Returns the errors of [`TestBed::reach`].
pub(crate) fn reach<'i>(
    job: &Job,
    plan: &Plan,
    connections: u32,
    interrupted: &'i AtomicBool,
) -> Result<TestBed<'i>> {
    let (target, several) = (&plan.target, job.several.as_ref());
    let mut bed = TestBed::reach(target, plan.protocol, connections, several, interrupted)?;
    bed.settings.sample = job.output.sample;
    tell_about(&bed.server, plan, &Diagnostics::Stderr, report::KEYSTORM)?;
    Ok(bed)
}
