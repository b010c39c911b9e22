//! Carrying out a survey.

mod database;
mod options;

use std::{fs, slice, thread};

use anyhow::{Context, Error, Result, anyhow};
use cli::console::diagnostics;
use cli::experiment::{with_load, with_those_of_a_run};
use cli::front::{Front, command};
use cli::job::{ClientFleet, End, Job};
use cli::run::ParsedArgs;
use lab::survey::{Chapter, DELIVERIES, Machine, PLACEMENT, SurveyPlan, SurveySpec, SurveyStep};
use lab::{Findings, Survey};
use measure::Ending;
use report::{Run, WarningKind};
use spec::LoadSpec;
use workload::{ProtocolKind, Target};

use self::database::GivenDatabase;
use self::options::{Options, SurveyJob, intent, refused};
use super::usage_error;
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::experiment::progress::planned_s;
use crate::experiment::terminal::Terminal;
use crate::machine::machine;
use crate::setting;
use crate::test_bed::TestBed;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["survey"],
    command: || with_those_of_a_run(command::<Options>(), &refused()),
    parse: |args| with_load(args, |options, load, shown| intent(options, load, shown, survey)),
};

/// Measures every chapter, prints its table, and writes the page.
///
/// # Errors
/// Returns the reason for a failure in words for a person; earlier results are kept.
fn survey(job: &SurveyJob) -> Result<End> {
    let directory = &job.directory;
    fs::create_dir_all(directory).with_context(|| format!("-o {}", directory.display()))?;
    let frame = Frame::open(&job.first.notes, &job.output)?;
    let Some(first) = job.first.plans.first() else { return Ok(End::Complete) };
    let machine = Machine::new(machine(), host::affinity::siblings);
    let mut spec = job.spec.clone();
    // How many clients a server takes is asked of it; one of our own takes as many as we like.
    let connections =
        if spec.spawned { SurveyPlan::new(&spec, &machine).connections as u32 } else { 1 };
    let mut bed = frame.reach(&job.first, first, connections)?;
    if !spec.spawned {
        spec.clients_max = clients_max(&bed, &first.target);
    }
    // Fills are not announced between tables.
    bed.settings.fills_quietly = true;
    spec.lacks.extend(lacking(&bed, &first.target));
    let plan = SurveyPlan::new(&spec, &machine);
    host::allow_open_files(plan.connections, 64)?;
    let given =
        if spec.spawned { None } else { Some(GivenDatabase::check(&bed.server, &first.target)?) };
    if let Some(given) = &given {
        diagnostics::say(given.describe(job.keep))?;
    }
    let mut surveying = SurveyRun {
        spec: &spec,
        load: &job.load,
        main: (first.target.clone(), &bed),
        several: job.first.several.as_ref(),
        chapters: plan.chapters.iter(),
        survey: Survey::new(spec.quick, plan.seconds),
        left_s: planned(&plan, &job.load)?,
        failed: false,
    };
    let ended = frame.carry_out(&mut surveying);
    let emptied = given.filter(|_| !job.keep).map_or(Ok(()), |given| empty(&given));
    if !surveying.survey.is_empty() {
        let [page, json] = [&job.output.pages.html, &job.output.json]
            .map(|path| path.as_deref().unwrap_or(directory).display());
        Terminal::of_stdout().line(&format!("Wrote {page} and {json}"))?;
    }
    emptied.and(ended)
}

/// Reason why a survey ends early.
enum Stop {
    Interrupted,
    Fault(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// Removes the keys in a given server.
fn empty(given: &GivenDatabase<'_>) -> Result<()> {
    let removed =
        given.empty().context("removing the keys of the survey; they may still be there")?;
    diagnostics::say(format_args!("Removed {} keys again.", report::grouped(removed as f64)))?;
    Ok(())
}

/// `maxclients` of a server, if it is reported.
fn clients_max(bed: &TestBed<'_>, target: &Target) -> Option<u64> {
    let mut client = bed.server.client(target).ok()?;
    setting::value(&mut client, "maxclients").ok()??.parse().ok()
}

/// Kinds of `deliver` for which a server lacks a command, if it reports its commands.
fn lacking(bed: &TestBed<'_>, target: &Target) -> Vec<(&'static str, String)> {
    if bed.server.protocol().is_memcache() {
        return Vec::new();
    }
    let Ok(mut client) = bed.server.client(target) else { return Vec::new() };
    let mut missing = |name: &str| match client.ask(&[b"COMMAND", b"INFO", name.as_bytes()]) {
        Ok(wire::resp::Value::Array(found)) => found == [wire::resp::Value::Null],
        _ => false,
    };
    let lacks = DELIVERIES.iter().filter_map(|(kind, _, commands)| {
        let name = commands.iter().find(|name| missing(name))?;
        Some((*kind, format!("this server has no {}", name.to_uppercase())))
    });
    lacks.collect()
}

/// Planned seconds of all runs; simultaneous ones count once.
fn planned(plan: &SurveyPlan, load: &ParsedArgs) -> Result<f64> {
    let mut all_s = 0.0;
    for step in plan.chapters.iter().flat_map(|chapter| &chapter.steps) {
        for (at, step) in step.loads_after(0).into_iter().enumerate() {
            let job = job(load, step)?;
            let this_s: f64 = job.plans.iter().map(planned_s).sum();
            all_s += if at == 0 { this_s } else { 0.0 };
        }
    }
    Ok(all_s)
}

/// The job of a step's load, which is a variant of the survey's.
fn job(load: &ParsedArgs, step: LoadSpec) -> Result<Job> {
    load.job(|spec| spec.clone_from(&step)).map_err(usage_error)
}

/// A survey as it goes.
struct SurveyRun<'s> {
    spec: &'s SurveySpec,
    load: &'s ParsedArgs,
    /// The server of most chapters.
    main: (Target, &'s TestBed<'s>),
    several: Option<&'s ClientFleet>,
    /// Chapters that are left, one per step.
    chapters: slice::Iter<'s, Chapter>,
    survey: Survey,
    left_s: f64,
    failed: bool,
}

impl Experiment for SurveyRun<'_> {
    fn planned_s(&self) -> f64 {
        self.left_s
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let Some(chapter) = self.chapters.next() else {
            self.survey.set_complete();
            return Ok(Step::Last(if self.failed { End::Failed } else { End::Complete }));
        };
        match self.chapter(chapter, frame) {
            Ok(()) => Ok(Step::Next),
            Err(Stop::Interrupted) => Ok(Step::Last(End::Interrupted)),
            Err(Stop::Fault(error)) => Err(error),
        }
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.survey
    }
}

impl SurveyRun<'_> {
    fn chapter(&mut self, chapter: &Chapter, frame: &mut Frame<'_>) -> Result<(), Stop> {
        self.survey.begin(chapter);
        let measured = self.steps(chapter, frame);
        let terminal = Terminal::of_stdout();
        let Some(answer) = self.survey.chapters.last() else { return measured };
        frame.progress.aside(|| -> Result<()> {
            terminal.line(&answer.title)?;
            if !answer.points.is_empty() {
                terminal.table(&answer.table())?;
            }
            answer.remarks().iter().try_for_each(|remark| terminal.line(remark))?;
            answer.left_out.iter().try_for_each(|why| terminal.line(why))?;
            terminal.line("")
        })?;
        measured
    }

    fn steps(&mut self, chapter: &Chapter, frame: &mut Frame<'_>) -> Result<(), Stop> {
        if let Some(fill) = &chapter.fill {
            let fill = job(self.load, fill.clone())?;
            frame.progress.begin(format!("filling {} keys", self.spec.keys), 1.0, self.left_s);
            for plan in &fill.plans {
                let run = self.main.1.run(plan, None, &mut frame.progress)?.failed_if_refused();
                judged(&run)?;
            }
            frame.progress.end();
        }
        for step in &chapter.steps {
            let loads = step.loads_after(self.survey.requests_of_last()).into_iter();
            let jobs: Vec<Job> = loads.map(|load| job(self.load, load)).collect::<Result<_>>()?;
            self.step(chapter, step, &jobs, frame)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        chapter: &Chapter,
        step: &SurveyStep,
        jobs: &[Job],
        frame: &mut Frame<'_>,
    ) -> Result<(), Stop> {
        let mut own: Vec<TestBed<'_>> = Vec::new();
        let targets: Vec<&Target> =
            jobs.iter().filter_map(|job| Some(&job.plans.first()?.target)).collect();
        let protocol = jobs.iter().find_map(|job| Some(job.plans.first()?.protocol));
        let protocol = protocol.unwrap_or(ProtocolKind::Resp2);
        if jobs.len() > 1 || targets.iter().any(|target| **target != self.main.0) {
            for target in targets {
                let mut bed =
                    TestBed::reach(target, protocol, 64, self.several, frame.interrupted)?;
                bed.settings.fills_quietly = true;
                own.push(bed);
            }
        }
        let (alone, many) = (jobs.len() == 1, jobs.len());
        let plans = jobs.iter().flat_map(|job| &job.plans);
        if alone {
            for plan in plans {
                self.left_s = (self.left_s - planned_s(plan)).max(0.0);
                let label = [&step.label, &step.series].map(report::escape).join(" ");
                let what = format!("{}: {} {label}", chapter.title, report::escape(&plan.name));
                let bed = own.first().unwrap_or(self.main.1);
                let ran = frame.run(bed, plan, what, self.left_s);
                self.put(step, ran.map(|run| vec![run.failed_if_refused()]), frame)?;
            }
            return Ok(());
        }
        let this_s = plans.clone().map(planned_s).fold(0.0, f64::max);
        self.left_s = (self.left_s - this_s).max(0.0);
        frame.progress.begin(format!("{}: {many} at once", chapter.title), this_s, self.left_s);
        let runs = thread::scope(|scope| {
            let started: Vec<_> = plans
                .zip(&own)
                .map(|(plan, bed)| {
                    thread::Builder::new().spawn_scoped(scope, move || {
                        let run = bed.run(plan, None, &mut runner::NoObserver);
                        run.map(Run::failed_if_refused)
                    })
                })
                .collect();
            let ended = started.into_iter().map(|thread| {
                let thread = thread.context("starting a thread for a run")?;
                thread.join().map_err(|_| anyhow!("a run panicked")).and_then(|run| run)
            });
            ended.collect::<Result<Vec<Run>>>()
        });
        frame.progress.end();
        self.put(step, runs, frame)
    }

    /// Adds the results of a step. A run that fails is a finding, unless the server is gone.
    fn put(
        &mut self,
        step: &SurveyStep,
        ran: Result<Vec<Run>>,
        frame: &Frame<'_>,
    ) -> Result<(), Stop> {
        match ran {
            Ok(mut runs) => {
                let interrupted = runs.iter().any(|r| r.measurement.ending == Ending::Interrupted);
                if interrupted || frame.is_interrupted() {
                    return Err(Stop::Interrupted);
                }
                self.failed |= runs.iter().any(|r| r.measurement.ending != Ending::Complete);
                for run in &mut runs {
                    // Where they run is what its table shows.
                    if self.survey.chapters.last().is_some_and(|chapter| chapter.key == PLACEMENT) {
                        run.warnings.retain(|warning| warning.kind != WarningKind::SharedCpu);
                    }
                    if let Ending::Failed(failure) = &run.measurement.ending {
                        let test = report::escape(&run.plan.name);
                        diagnostics::say(format_args!(
                            "{test}: {}",
                            report::escape(&failure.text)
                        ))?;
                    }
                }
                self.survey.add(step, &runs)?;
            }
            Err(error) => {
                self.failed = true;
                self.survey.miss(step, format!("{error:#}"));
            }
        }
        Ok(())
    }
}

/// Checks that an unmeasured run was successful.
fn judged(run: &Run) -> Result<(), Stop> {
    match &run.measurement.ending {
        Ending::Complete => Ok(()),
        Ending::Interrupted => Err(Stop::Interrupted),
        Ending::Failed(failure) => Err(Stop::Fault(failure.at("filling the keys").into())),
    }
}
