//! `keystorm rehearse`: recorded traffic on two servers in turn, what the second changes for each command, which
//! answers differ, and how much room each leaves.
//!
//! Owns the order: answers first, while both servers hold what they held, then the blocks of runs, then head room. What
//! the runs say is [`lab::rehearsal`]'s, how blocks are taken is that of `keystorm compare`.

mod answers;
mod head_room;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use console::diagnostics::{self, Diagnostics};
use job::{End, RehearseJob};
use lab::Document;
use lab::rehearsal::{AnswerComparison, Outcome, Rehearsal};
use measure::Ending;
use report::Run;
use report::compare::{self, RunDigest};
use workload::{Plan, PlanParts, quantity};

use super::compare::blocks::{BlockResult, Blocks, Course, Load, RUNS_OF_SIDE};
use super::compare::test_beds::TestBeds;
use super::replay::RecordedLoad;
use crate::commands::run::{say, tell_about};
use crate::experiment::files::Files;
use crate::experiment::noise;
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::signals;
use crate::test_bed::TestBed;

/// Rehearses, and prints what was found; the outcome tells whether B is worse.
///
/// # Errors
/// What kept it from being done, in words for a person; what was found before is printed.
pub(crate) fn rehearse(job: &RehearseJob) -> Result<End> {
    let frames = job.jobs.each_ref().map(|job| (*job.plans[0]).clone());
    let load = RecordedLoad::read(&job.recorded, &frames[0])?;
    job.jobs[0].notes.iter().try_for_each(diagnostics::say)?;
    load.notes(&job.speed).iter().try_for_each(diagnostics::say)?;
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    noise::warn()?;
    let mut servers = Servers::reach(job, &load, frames, &interrupted)?;
    let mut rehearsal = servers.described(job, &load)?;
    let ended = servers.all(job, &load, (&mut rehearsal, &mut files), &interrupted);
    if matches!(ended, Ok(End::Complete)) {
        rehearsal.set_complete();
    }
    let shown = show(job, &rehearsal, &files);
    let end = ended?;
    shown?;
    Ok(match (end, rehearsal.outcome()) {
        (End::Complete, Outcome::Worse) => End::Regressed,
        (End::Complete, Outcome::Undecided) => End::Inconclusive,
        (end, _) => end,
    })
}

/// The two servers, and what each is sent.
struct Servers<'r> {
    frames: [PlanParts; 2],
    plans: [Plan; 2],
    beds: [TestBeds<'r>; 2],
    names: Vec<String>,
}

impl<'r> Servers<'r> {
    /// Finds or starts both, and refuses those that must not be written to.
    fn reach(
        job: &RehearseJob,
        load: &RecordedLoad,
        frames: [PlanParts; 2],
        interrupted: &'r AtomicBool,
    ) -> Result<Self> {
        let reach = |side: usize| -> Result<(Plan, TestBeds<'r>)> {
            let (plan, records) = load.plan_at(&frames[side], &job.speed, load.rounds)?;
            let mut records = Some(records);
            let beds = TestBeds::reach(std::slice::from_ref(&plan.target), |target| {
                let (protocol, connections) = (plan.protocol, plan.own_connections());
                let mut bed = TestBed::reach(target, protocol, connections, None, interrupted)?;
                (bed.sample, bed.tells) = (job.jobs[side].output.sample, false);
                bed.records = records.take().unwrap_or_default();
                load.precaution.check(&bed.server, target)?;
                tell_about(&bed.server, &plan, &Diagnostics::Stderr, report::KEYSTORM)?;
                Ok(bed)
            });
            let beds = beds.with_context(|| job.words[side].clone())?;
            Ok((plan, beds))
        };
        let ((plan_a, a), (plan_b, b)) = (reach(0)?, reach(1)?);
        Ok(Self { frames, plans: [plan_a, plan_b], beds: [a, b], names: Vec::new() })
    }

    /// The rehearsal of them, without results.
    fn described(&mut self, job: &RehearseJob, load: &RecordedLoad) -> Result<Rehearsal> {
        let mut subjects = self.beds.each_ref().map(TestBeds::subject);
        compare::name(&mut subjects, &job.names);
        self.names = subjects.iter().map(|subject| subject.name.clone()).collect();
        let recorded = self.plans[0].recorded.clone().context("a rehearsal is of a record")?;
        let commands = load.scan.commands * load.rounds;
        let own = self.beds.each_ref().map(TestBeds::is_own);
        let starts = match own {
            [true, true] => "each run on a server of its own",
            [false, false] => "the servers are not restarted",
            _ => "the server that was given is not restarted",
        };
        let how = format!(
            "{}, in which each server runs twice, there and back; {} of {} at speed {} in each run; {starts}.",
            quantity::counted(job.blocks.into(), "block"),
            quantity::counted(commands, "command"),
            recorded.source,
            recorded.speed
        );
        self.announce(job, load)?;
        Ok(Rehearsal::new((recorded, commands), subjects, how, job.allowed))
    }

    /// Says how long the blocks and the search take, where that is long.
    fn announce(&self, job: &RehearseJob, load: &RecordedLoad) -> Result<()> {
        let run_s = load.lasts_s(&job.speed);
        let blocks_s = run_s * f64::from(job.blocks) * (2 * RUNS_OF_SIDE) as f64;
        let minutes = |seconds: f64| (seconds / 60.0).ceil();
        let budget = quantity::counted(minutes(job.budget_s) as u64, "minute");
        let search = match job.slo {
            Some(_) => format!(", and the search up to {budget} for each server (--budget)"),
            None => String::new(),
        };
        if blocks_s >= 60.0 || !search.is_empty() && job.budget_s >= 60.0 {
            let blocks = quantity::counted(minutes(blocks_s) as u64, "minute");
            diagnostics::say(format_args!("note: this takes about {blocks}{search}"))?;
        }
        Ok(())
    }

    /// Answers, blocks, head room.
    fn all(
        &mut self,
        job: &RehearseJob,
        load: &RecordedLoad,
        (rehearsal, files): (&mut Rehearsal, &mut Files),
        interrupted: &AtomicBool,
    ) -> Result<End> {
        if job.answers && !self.plans[0].protocol.is_memcache() {
            let answers = answers::compare(load, &mut self.beds, &self.plans, interrupted)?;
            let differences = answers.differences();
            let lab::Answers { asked, compared, different, .. } = answers;
            rehearsal.answers = Some(AnswerComparison { asked, compared, different, differences });
            files.keep(|| rehearsal.to_json(), || rehearsal.page(&job.command_line))?;
        }
        if interrupted.load(Ordering::Relaxed) {
            return Ok(End::Interrupted);
        }
        let after_s = job.slo.as_ref().map_or(0.0, |_| 2.0 * head_room::expected_s(job));
        let end = self.blocks(job, (rehearsal, files), after_s)?;
        match (&job.slo, end) {
            (Some(slo), End::Complete) => {
                let shown = (self, files.progress());
                head_room::search(slo, job, load, shown, interrupted, &mut |room| {
                    rehearsal.head_room = Some(room.clone());
                    files.show(|| rehearsal.page(&job.command_line));
                })
            }
            (_, end) => Ok(end),
        }
    }

    /// Blocks of A B B A; so many planned seconds come after them.
    fn blocks(
        &mut self,
        job: &RehearseJob,
        (rehearsal, files): (&mut Rehearsal, &mut Files),
        after_s: f64,
    ) -> Result<End> {
        let sides = self.plans.iter().map(|plan| vec![plan.clone()]).collect();
        let loads = [Load { name: self.plans[0].name.clone(), sides }];
        let course = Course {
            blocks: job.blocks,
            looks: job.looks,
            budget: Duration::from_secs_f64(job.budget_s),
            repeats_void: job.repeats_void,
            is_fresh: true,
            live: job.jobs[0].output.live,
        };
        let progress = files.page_progress();
        rehearsal.looks = job.looks;
        let is_open = Cell::new(true);
        let mut keep = |result: BlockResult<'_>| {
            let BlockResult::Block([taken]) = result else { return Ok(()) };
            let [a, b] = further(&taken.void_runs, rehearsal.void);
            rehearsal.add_void(&taken.void, [&a, &b]);
            let [a, b] = further(&taken.runs, rehearsal.blocks);
            if !a.is_empty() {
                rehearsal.add_block([&a, &b])?;
            }
            is_open.set(rehearsal.is_open());
            files.keep(|| rehearsal.to_json(), || rehearsal.page(&job.command_line))
        };
        let blocks = Blocks::new(&mut self.beds, &self.names, &loads, course, progress);
        blocks.before(after_s).carry_out(&mut |_| is_open.get(), &mut keep)
    }
}

/// The runs of both sides that come after so many blocks.
fn further(runs: &[Vec<RunDigest>], blocks: usize) -> [Vec<&Run>; 2] {
    [0, 1].map(|side| {
        let runs = runs.get(side).map_or(&[][..], Vec::as_slice);
        runs.iter().skip(blocks * RUNS_OF_SIDE).map(RunDigest::run).collect()
    })
}

/// How a run's ending ends a rehearsal.
fn end_of(ending: &Ending) -> End {
    match ending {
        Ending::Complete => End::Complete,
        Ending::Interrupted => End::Interrupted,
        Ending::Failed(_) => End::Failed,
    }
}

/// Prints and keeps what there is.
fn show(job: &RehearseJob, rehearsal: &Rehearsal, files: &Files) -> Result<()> {
    let text = |terminal: &Terminal| {
        terminal.verdict(&rehearsal.verdict())?;
        say("\n").map(drop)?;
        terminal.table(&rehearsal.table())?;
        if let Some(answers) = rehearsal.answer_table() {
            say("\n").map(drop)?;
            terminal.table(&answers)?;
        }
        if !job.output.quiet {
            terminal.line(&rehearsal.how)?;
            terminal.warnings(&rehearsal.warnings())?;
        }
        Ok(())
    };
    let page = || rehearsal.page(&job.command_line);
    results::show(&job.output, files, || rehearsal.to_json(), || rehearsal.to_csv(), page, text)
}
