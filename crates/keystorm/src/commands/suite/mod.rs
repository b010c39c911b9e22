//! `keystorm suite`: runs every spec on its data, round by round; also compares two suites.

mod client;
mod cluster;
mod contents;
mod options;
mod saved;
mod session;
mod settings;
mod sources;

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cli::console::report_file;
use cli::experiment::{LOAD_OPTIONS, REFUSED, with_those_of_a_run, with_words};
use cli::front::{Front, command};
use cli::job::End;
use lab::suite::{Spec, SuiteComparison};
use lab::{Findings, Suite};
use measure::Ending;
use report::{Run, Summary, WarningKind};

use self::client::{Client, PlanRefusal};
use self::options::{Options, intent};
use self::session::{Preparation, Session};
use self::sources::Sources;
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::experiment::progress::planned_s;
use crate::experiment::terminal::Terminal;

pub(crate) use saved::{compare, saved};

/// Default duration of each spec in seconds, also for keystorm's own.
const SECONDS: f64 = 10.0;
const SECONDS_OWN: f64 = 3.0;
/// Number of connections that specs commonly open; a server that keystorm starts accepts at least this many.
const CONNECTIONS: u32 = 256;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["suite"],
    command: || with_those_of_a_run(command::<Options>(), &LOAD_OPTIONS),
    parse: |args| {
        with_words(args, &REFUSED, |options, words, load, shown| {
            intent(options, words, &load, shown, suite)
        })
    },
};

/// Measures every spec, prints the table, and writes the page.
///
/// # Errors
/// Returns an error if something cannot be measured or written; earlier results are kept.
fn suite(job: &Options) -> Result<End> {
    let sources = sources::read(job)?;
    if job.list {
        return list(&sources);
    }
    let before = job.against.as_deref().map(saved::read).transpose()?;
    let remarks = sources.remarks.iter().map(report::escape);
    let Some(first) = &job.first else { return Ok(End::Complete) };
    let Some(plan) = first.plans.first() else { return Ok(End::Complete) };
    let frame = Frame::open(first.notes.iter().cloned().chain(remarks), &job.output)?;
    if let Some(directory) = &job.memtier_json {
        fs::create_dir_all(directory)
            .with_context(|| format!("--memtier-json {}", directory.display()))?;
    }
    let bed = frame.reach(first, plan, CONNECTIONS)?;
    let suite = Suite::new(bed.server.facts.version_name(), job.repeat, &sources.specs);
    let session = Session::new(job, plan, bed, frame.interrupted);
    let keys = session.keys()?;
    if keys > 0 {
        bail!(
            "{} holds {} already, which a suite would remove; use --spawn, or name another server",
            session.bed().server.address,
            workload::quantity::counted(keys, "key")
        );
    }
    let seconds = job
        .time
        .map_or(if sources.is_own { SECONDS_OWN } else { SECONDS }, |time| time.as_secs_f64());
    let specs = &sources.specs;
    let left = VecDeque::new();
    let mut running = SuiteRun { job, seconds, specs, session, suite, before, left };
    let ended = running.check().and_then(|()| frame.carry_out(&mut running));
    running.session.tidy()?;
    ended
}

/// Prints the specs and what they test.
fn list(sources: &Sources) -> Result<End> {
    let mut table = report::page::Table::new(["spec", "groups", "commands", "priority"]);
    for spec in &sources.specs {
        let priority = spec.priority.map_or("–".to_owned(), |priority| priority.to_string());
        table.row([spec.name.clone(), spec.groups.join(","), spec.commands.join(","), priority]);
    }
    let terminal = Terminal::of_stdout();
    terminal.table(&table)?;
    sources.remarks.iter().try_for_each(|remark| terminal.line(remark))?;
    Ok(End::Complete)
}

/// The order in which data is loaded least often: specs on the same data in a row, read-only ones first.
fn order(specs: &[Spec], session: &Session<'_>) -> Vec<usize> {
    let first = |spec: &Spec| specs.iter().position(|other| other.preload == spec.preload);
    let mut order: Vec<usize> = (0..specs.len()).collect();
    let keys: Vec<_> = specs.iter().map(|spec| (first(spec), !session.only_reads(spec))).collect();
    order.sort_by_key(|at| (keys[*at], *at));
    order
}

/// A running suite: one spec per step, round by round.
struct SuiteRun<'s> {
    job: &'s Options,
    seconds: f64,
    specs: &'s [Spec],
    session: Session<'s>,
    suite: Suite,
    /// Earlier suite that it is compared with, and the name of its file.
    before: Option<(String, Suite)>,
    /// Specs that are still to be run, by number; `None` where a round begins.
    left: VecDeque<Option<usize>>,
}

impl Experiment for SuiteRun<'_> {
    fn planned_s(&self) -> f64 {
        self.left.iter().flatten().count() as f64 * self.seconds
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let ended = self.next(frame);
        if !matches!(ended, Ok(Step::Next)) {
            self.compare();
        }
        Ok(match (ended?, &self.suite.compared) {
            (Step::Last(End::Complete), Some(compared)) => Step::Last(saved::end(compared)),
            (step, _) => step,
        })
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.suite
    }
}

impl SuiteRun<'_> {
    /// Finds out which specs can run here, and their order.
    fn check(&mut self) -> Result<()> {
        let mut names: Vec<String> = self.specs.iter().flat_map(Spec::needs).collect();
        names.sort();
        names.dedup();
        self.session.learn(&names)?;
        let (session, job) = (&self.session, self.job);
        for (entry, spec) in self.suite.specs.iter_mut().zip(self.specs) {
            let client = || client::of_spec(spec, job, session.target(), self.seconds).map(drop);
            match session.check(spec).and_then(|()| client()) {
                Ok(()) => {}
                Err(PlanRefusal::Unsupported(why)) => entry.skipped = Some(why),
                Err(PlanRefusal::Broken(why)) => entry.failure = Some(why),
            }
        }
        let order = order(self.specs, &self.session);
        for round in 0..job.repeat {
            self.left.extend((round > 0).then_some(None));
            self.left.extend(order.iter().copied().map(Some));
        }
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let Some(next) = self.left.pop_front() else {
            self.suite.set_complete();
            let failed = self.suite.specs.iter().any(|entry| entry.failure.is_some());
            return Ok(Step::Last(if failed { End::Failed } else { End::Complete }));
        };
        let Some(at) = next else {
            self.session.forget();
            return Ok(Step::Next);
        };
        if self.suite.specs[at].skipped.is_some() || self.suite.specs[at].failure.is_some() {
            return Ok(Step::Next);
        }
        let specs = self.specs;
        let ran = self.spec(&specs[at], frame);
        if frame.is_interrupted() {
            return Ok(Step::Last(End::Interrupted));
        }
        match ran {
            Ok((prepared, client, run)) => self.put(at, &prepared, &client, &run)?,
            Err(PlanRefusal::Unsupported(why)) => self.suite.specs[at].skipped = Some(why),
            Err(PlanRefusal::Broken(why)) => self.suite.specs[at].failure = Some(why),
        }
        Ok(Step::Next)
    }

    /// Compares with the earlier suite, if there is one.
    fn compare(&mut self) {
        let Some((name, before)) = self.before.take() else { return };
        let (names, job) = ([name, "this run".to_owned()], self.job);
        let compared =
            SuiteComparison::new(names, &before, &self.suite, job.metric, job.threshold());
        self.suite.compared = Some(compared);
    }

    /// Prepares and measures a spec once.
    fn spec(
        &mut self,
        spec: &Spec,
        frame: &mut Frame<'_>,
    ) -> Result<(Preparation, Client, Run), PlanRefusal> {
        let left_s = self.planned_s();
        let session = &mut self.session;
        let prepared = session.prepare(spec, &mut frame.progress)?;
        // The server may have another address now.
        let client = client::of_spec(spec, self.job, session.target(), self.seconds)?;
        frame.progress.begin(spec.name.clone(), planned_s(&client.plan), left_s);
        let run = session.bed().run(&client.plan, None, &mut frame.progress);
        frame.progress.end();
        let mut run = run.map_err(session::broken)?.failed_if_refused();
        // The size of the values that a spec reads is for the spec to say.
        run.warnings.retain(|warning| warning.kind != WarningKind::ValueSize);
        Ok((prepared, client, run))
    }

    /// Adds the results of a spec.
    fn put(&mut self, at: usize, prepared: &Preparation, client: &Client, run: &Run) -> Result<()> {
        let entry = &mut self.suite.specs[at];
        for remark in prepared.remarks.iter().chain(&client.remarks) {
            if !entry.remarks.contains(remark) {
                entry.remarks.push(remark.clone());
            }
        }
        if let Ending::Failed(failure) = &run.measurement.ending {
            entry.failure = Some(failure.text.clone());
            return Ok(());
        }
        entry.bytes_per_key.extend(prepared.bytes_per_key);
        if let Some(directory) = &self.job.memtier_json {
            write_document(directory, &entry.name, client, run)?;
        }
        Ok(self.suite.add(at, run)?)
    }
}

/// Writes the document that memtier would write for a spec.
fn write_document(directory: &Path, name: &str, client: &Client, run: &Run) -> Result<()> {
    let text = client.tool.as_ref().and_then(|tool| tool.document(&Summary::from_run(run)));
    let Some(text) = text else { return Ok(()) };
    let path = directory.join(format!("{}.json", name.replace(['/', '\\'], "_")));
    report_file::write(&path, text).with_context(|| path.display().to_string())
}
