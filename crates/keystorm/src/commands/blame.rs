//! Carrying out the segments of `keystorm blame`, and printing who makes whom wait.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use console::diagnostics::{self, Diagnostics};
use job::{BlameJob, End};
use lab::blame::{Outcome, REPLIES_MIN, Segment, design};
use lab::{Blame, Document};
use measure::Ending;
use workload::Plan;

use crate::commands::run::{say, tell_about};
use crate::experiment::files::Files;
use crate::experiment::noise;
use crate::experiment::progress::Progress;
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::signals;
use crate::test_bed::TestBed;

/// How much longer than asked a segment may be, so that the rarest kind has a percentile.
const LONGER_MAX: f64 = 10.0;
/// An experiment that takes longer is announced, in seconds.
const LONG_S: f64 = 60.0;

/// Measures the capacity, then all segments, and prints what they say.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is printed.
pub(crate) fn blame(job: &BlameJob) -> Result<End> {
    let Some(plan) = job.job.plans.first() else { return Ok(End::Complete) };
    job.job.notes.iter().try_for_each(diagnostics::say)?;
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    noise::warn()?;
    let bed = TestBed::reach_asking(
        host::Questions::All,
        &plan.target,
        plan.protocol,
        plan.own_connections(),
        job.job.several.as_ref(),
        &interrupted,
    )?;
    tell_about(&bed.server, plan, &Diagnostics::Stderr, report::KEYSTORM)?;
    // Segments read what was filled once.
    bed.prepare(plan)?;
    let server = bed.server.facts.name().unwrap_or_else(|| "the server".to_owned());
    let blame = Blame::new(plan, job.loads.clone(), server);
    let progress = files.progress();
    let mut course = Experiment { job, plan, bed: &bed, blame, files, progress, number: 0 };
    let ended = course.all();
    course.progress.clear();
    let Experiment { mut blame, files, .. } = course;
    blame.settle();
    if matches!(ended, Ok(End::Complete)) {
        blame.set_complete();
    }
    // Also after an error: what was measured before it is not lost.
    let shown = show(job, &blame, &files);
    let end = ended?;
    shown?;
    Ok(match (end, blame.outcome()) {
        (End::Complete, Outcome::NotJudged) => End::Inconclusive,
        (end, _) => end,
    })
}

/// The experiment on its way.
struct Experiment<'c, 'r> {
    job: &'c BlameJob,
    plan: &'c Plan,
    bed: &'c TestBed<'r>,
    blame: Blame,
    files: Files,
    progress: Progress,
    /// Segments begun so far, each of which draws its own.
    number: u64,
}

impl Experiment<'_, '_> {
    fn all(&mut self) -> Result<End> {
        let (kinds, loads) = (self.blame.kinds.len(), self.job.loads.len());
        let (blocks, seed) = (self.job.blocks as usize, self.plan.load.seed);
        let of_block = |block: usize| seed.wrapping_add(block as u64);
        let closed = |block| design::closed_block(block, kinds, of_block(block));
        let open = |block| design::open_block(block, kinds, loads, of_block(block));
        let count = |segments: Vec<Segment>| segments.len() as f64;
        let whole_s = blocks as f64 * self.job.seconds * (count(closed(0)) + count(open(0)));
        if whole_s > LONG_S {
            let minutes = (whole_s / 60.0).ceil();
            diagnostics::say(format_args!("note: this takes about {minutes:.0} minutes"))?;
        }
        for block in 0..blocks {
            let after_s = whole_s - count(closed(0)) * self.job.seconds * (block + 1) as f64;
            let end = self.block(closed(block), None, (self.job.seconds, after_s))?;
            if end != End::Complete {
                return Ok(end);
            }
        }
        self.blame.settle();
        let Some(capacity) = self.blame.effects.capacity_per_s else { return Ok(End::Complete) };
        let seconds = self.seconds(capacity.value);
        for block in 0..blocks {
            let after_s = count(open(0)) * seconds * (blocks - block - 1) as f64;
            let end = self.block(open(block), Some(capacity.value), (seconds, after_s))?;
            if end != End::Complete {
                return Ok(end);
            }
        }
        Ok(End::Complete)
    }

    /// How long segments last: longer where the rarest kind has too few replies for a percentile.
    fn seconds(&self, capacity_per_s: f64) -> f64 {
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let share = least(&mut self.blame.kinds.iter().map(|kind| kind.share));
        let load = least(&mut self.job.loads.iter().copied());
        // What is drawn varies.
        let needed_s = 1.3 * REPLIES_MIN as f64 / (share * load * capacity_per_s);
        needed_s.clamp(self.job.seconds, self.job.seconds * LONGER_MAX)
    }

    /// Runs the segments of a block; those that were spoiled again at its end, at most as many as it has.
    fn block(
        &mut self,
        segments: Vec<Segment>,
        capacity_per_s: Option<f64>,
        (seconds, after_s): (f64, f64),
    ) -> Result<End> {
        let mut repeats = segments.len();
        let mut left = VecDeque::from(segments);
        while let Some(segment) = left.pop_front() {
            let load = segment.level.and_then(|level| self.job.loads.get(level));
            let rate_per_s = capacity_per_s.zip(load).map(|(capacity, load)| capacity * load);
            self.number += 1;
            let what = (seconds, self.number);
            let plan = design::plan(self.plan, segment.treatment, rate_per_s, what)?;
            let title = match load {
                Some(load) => format!("block {}, {:.0} %", segment.block + 1, load * 100.0),
                None => format!("capacity, block {}", segment.block + 1),
            };
            self.progress.begin(title, seconds, after_s + seconds * left.len() as f64);
            let run = self.bed.run(&plan, None, &mut self.progress)?;
            self.progress.end();
            let counts_void = self.job.count_disturbed;
            let is_valid = self.blame.add(segment, rate_per_s, counts_void, &run)?;
            if self.files.has_live_page() {
                self.blame.settle();
            }
            let (blame, command_line) = (&self.blame, &self.job.command_line);
            self.files.keep(|| blame.to_json(), || blame.page(command_line))?;
            match run.measurement.ending {
                Ending::Complete => {}
                Ending::Interrupted => return Ok(End::Interrupted),
                Ending::Failed(failure) => {
                    diagnostics::say(failure.at(&plan.name))?;
                    return Ok(End::Failed);
                }
            }
            if !is_valid && repeats > 0 {
                repeats -= 1;
                left.push_back(segment);
            }
        }
        Ok(End::Complete)
    }
}

fn show(job: &BlameJob, blame: &Blame, files: &Files) -> Result<()> {
    if blame.segments.is_empty() {
        return Ok(());
    }
    let text = |terminal: &Terminal| {
        terminal.verdict(&blame.verdict())?;
        if !blame.effects.levels.is_empty() {
            say("\n").map(drop)?;
            terminal.table(&blame.table())?;
            say("\n").map(drop)?;
            terminal.table(&blame.cost_table())?;
        }
        if !job.output.quiet {
            say("\n").map(drop)?;
            terminal.line(&blame.how())?;
            terminal.warnings(&blame.warnings())?;
        }
        Ok(())
    };
    let page = || blame.page(&job.command_line);
    results::show(&job.output, files, || blame.to_json(), || blame.to_csv(), page, text)
}
