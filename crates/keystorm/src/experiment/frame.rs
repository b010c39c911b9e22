//! The frame of an experiment: what each needs before, between and after its runs.
//!
//! Notes, files, Ctrl-C, what the machine adds, the server, how long it takes, the progress, keeping what there is on
//! the way, showing it at any end, and the exit code are here. What is run and what it says is the experiment's.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use console::diagnostics::{self, Diagnostics};
use job::{End, ExperimentOutput, Job};
use lab::Findings;
use page::Block;
use report::Run;
use workload::Plan;

use super::files::Files;
use super::noise;
use super::progress::{Progress, planned_s};
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

/// Destinations of results, progress of the experiment, and the word to stop.
pub(crate) struct Frame<'f> {
    output: &'f ExperimentOutput,
    command_line: &'f str,
    pub(crate) files: Files,
    pub(crate) progress: Progress,
    pub(crate) interrupted: &'static AtomicBool,
}

impl<'f> Frame<'f> {
    /// Prints the notes, and makes sure that the files can be written.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn open(
        notes: impl IntoIterator<Item = impl fmt::Display>,
        output: &'f ExperimentOutput,
        command_line: &'f str,
    ) -> Result<Self> {
        notes.into_iter().try_for_each(diagnostics::say)?;
        let mut files = Files::new(output)?;
        let progress = files.progress();
        Ok(Self { output, command_line, files, progress, interrupted: signals::interrupted()? })
    }

    /// Measures what this machine adds to latencies, reaches or starts the server of a plan, with room for so many
    /// `connections`, and tells about it.
    ///
    /// # Errors
    /// As [`TestBed::reach`].
    pub(crate) fn reach(
        &self,
        job: &Job,
        plan: &Plan,
        connections: u32,
    ) -> Result<TestBed<'static>> {
        noise::warn()?;
        reach(job, plan, connections, self.interrupted)
    }

    /// Returns whether somebody asked for the end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Carries out a run, after which runs of `after_s` planned seconds are left.
    ///
    /// # Errors
    /// As [`TestBed::run`].
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

    /// Keeps what is found so far, and shows it to who looks at the page.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn keep(&mut self, found: &impl Findings) -> Result<()> {
        self.files.keep(|| found.to_json(), || found.page(self.command_line))
    }

    /// Carries out an experiment. What there is at its end is shown, whatever the end.
    ///
    /// # Errors
    /// What kept it from being carried out, in words for a person.
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
        let (json, csv) = (|| found.to_json(), || found.to_csv());
        results::show(self.output, &self.files, json, csv, page, text)?;
        Ok(found.remarks().into_iter().map(report::escape).try_for_each(diagnostics::say)?)
    }
}

/// Reaches or starts the server of a plan, with room for so many `connections`, and tells about it.
///
/// # Errors
/// As [`TestBed::reach`].
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
