//! The frame of an experiment: what each needs before, between and after its runs.
//!
//! Notes, files, Ctrl-C, what the machine adds, the server, how long it takes, the progress, keeping what there is on
//! the way, showing it at any end, and the exit code are here. What is run and what it says is the experiment's.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use console::diagnostics::{self, Diagnostics};
use job::{End, ExperimentOutput, Job};
use lab::{Document as _, Findings};
use page::Block;

use super::files::Files;
use super::noise;
use super::progress::Progress;
use super::results;
use super::terminal::Terminal;
use crate::commands::run::{say, tell_about};
use crate::signals;
use crate::test_bed::TestBed;

/// An experiment that takes longer is announced, in seconds.
const LONG_S: f64 = 60.0;

/// An experiment, as far as it has come.
pub(crate) trait Experiment {
    /// Seconds that it is to take.
    fn planned_s(&self) -> f64;

    /// Carries out the next step, and says whether it was the last.
    ///
    /// # Errors
    /// What kept it from being carried out, in words for a person.
    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step>;

    /// Returns what is found so far.
    fn findings(&mut self) -> &mut impl Findings;
}

/// Continuation after a step.
pub(crate) enum Step {
    /// The next.
    Next,
    /// Nothing: that is how it ends.
    Last(End),
}

/// Destinations of results, and progress of the experiment.
pub(crate) struct Frame<'f> {
    output: &'f ExperimentOutput,
    command_line: &'f str,
    pub(crate) files: Files,
    pub(crate) progress: Progress,
}

impl<'f> Frame<'f> {
    /// Prints the notes, makes sure that the files can be written, and measures what this machine adds. Also gives the
    /// word to stop.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn open(
        job: &Job,
        output: &'f ExperimentOutput,
        command_line: &'f str,
    ) -> Result<(Self, Arc<AtomicBool>)> {
        job.notes.iter().try_for_each(diagnostics::say)?;
        let mut files = Files::new(output)?;
        let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
        noise::warn()?;
        let progress = files.progress();
        Ok((Self { output, command_line, files, progress }, interrupted))
    }

    /// Carries out an experiment. What there is at its end is shown, whatever the end.
    ///
    /// # Errors
    /// What kept it from being carried out, in words for a person.
    pub(crate) fn carry_out(mut self, mut experiment: impl Experiment) -> Result<End> {
        let planned_s = experiment.planned_s();
        if planned_s > LONG_S {
            let minutes = (planned_s / 60.0).ceil();
            diagnostics::say(format_args!("note: this takes about {minutes:.0} minutes"))?;
        }
        let command_line = self.command_line;
        let ended = loop {
            match experiment.step(&mut self) {
                Ok(Step::Next) => {
                    let found = &*experiment.findings();
                    self.files.keep(|| found.to_json(), || found.page(command_line))?;
                }
                Ok(Step::Last(end)) => break Ok(end),
                Err(error) => break Err(error),
            }
        };
        self.progress.clear();
        let found = experiment.findings();
        if matches!(ended, Ok(End::Complete)) {
            found.set_complete();
        }
        let shown = if found.is_empty() { Ok(()) } else { self.show(found) };
        let end = ended?;
        shown?;
        Ok(if end == End::Complete && !found.is_conclusive() { End::Inconclusive } else { end })
    }

    fn show(&self, found: &impl Findings) -> Result<()> {
        let text = |terminal: &Terminal| {
            for (at, block) in found.shown(self.output.quiet).iter().enumerate() {
                if at > 0 && !matches!(block, Block::Note(..) | Block::Chart(_)) {
                    say("\n").map(drop)?;
                }
                terminal.block(block)?;
            }
            Ok(())
        };
        let page = || found.page(self.command_line);
        results::show(self.output, &self.files, || found.to_json(), || found.to_csv(), page, text)
    }
}

/// Reaches or starts the server of a job's first plan, with room for so many `connections`, and tells about it.
///
/// # Errors
/// As [`TestBed::reach`].
pub(crate) fn reach<'i>(
    job: &Job,
    connections: u32,
    interrupted: &'i AtomicBool,
) -> Result<TestBed<'i>> {
    let plan = job.plans.first().context("there is nothing to run")?;
    let (target, several) = (&plan.target, job.several.as_ref());
    let mut bed = TestBed::reach(target, plan.protocol, connections, several, interrupted)?;
    bed.sample = job.output.sample;
    tell_about(&bed.server, plan, &Diagnostics::Stderr, report::KEYSTORM)?;
    Ok(bed)
}
