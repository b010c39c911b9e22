//! Carrying out a survey.

mod families;
mod written;

use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use anyhow::{Context, Error, Result, anyhow};
use cli::experiment::job;
use console::diagnostics::{self, Diagnostics};
use job::{ClientFleet, End, Job, SurveyJob, UsageError};
use lab::survey::{Chapter, DELIVERIES, Machine, PLACEMENT, Station, SurveyPlan, SurveySpec};
use lab::{Document, Survey};
use measure::Ending;
use report::{Run, WarningKind};
use workload::{ProtocolKind, Target};

use self::written::{Holders, PlanWrites};
use super::usage_error;
use crate::commands::doctor::cpus::siblings;
use crate::commands::run::tell_about;
use crate::experiment::files::Files;
use crate::experiment::noise;
use crate::experiment::progress::{Progress, planned_s};
use crate::experiment::terminal::Terminal;
use crate::machine::machine;
use crate::setting;
use crate::signals;
use crate::test_bed::TestBed;

/// Measures every chapter, prints its table, and writes the page.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is kept.
pub(crate) fn survey(job: &SurveyJob) -> Result<End> {
    let directory = &job.directory;
    fs::create_dir_all(directory).with_context(|| format!("-o {}", directory.display()))?;
    let json = directory.join("survey.json");
    let mut files = Files::open(Some(("-o", &json)), &job.pages, job.live.as_ref())?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    noise::warn()?;
    let Some(first) = job.first.plans.first() else { return Ok(End::Complete) };
    let machine = Machine::new(machine(), siblings);
    let several = job.first.several.as_ref();
    // How many clients a server takes is asked of it; one of our own takes as many as we like.
    let mut spec = job.spec.clone();
    let mut bed = None;
    if !spec.spawned {
        let reached = TestBed::reach(&first.target, first.protocol, 1, several, &interrupted)?;
        spec.clients_max = clients_max(&reached, &first.target);
        bed = Some(reached);
    }
    let plan = SurveyPlan::new(&spec, &machine);
    host::allow_open_files(plan.connections, 64)?;
    let mut bed = match bed {
        Some(bed) => bed,
        None => TestBed::reach(
            &first.target,
            first.protocol,
            plan.connections as u32,
            several,
            &interrupted,
        )?,
    };
    // What is stored before a run is no news among tables.
    bed.tells = false;
    spec.lacks.extend(lacking(&bed, &first.target));
    let plan = SurveyPlan::new(&spec, &machine);
    tell_about(&bed.server, first, &Diagnostics::Stderr, report::KEYSTORM)?;
    let written =
        if spec.spawned { None } else { Some(written(&plan, &bed, &first.target, job.keep)?) };
    let survey = Survey::new(spec.quick, plan.seconds);
    let mut surveying = SurveyRun {
        spec: &spec,
        main: (first.target.clone(), &bed),
        interrupted: &interrupted,
        several,
        survey,
        command_line: &job.command_line,
        progress: files.progress(),
        files,
        left_s: planned(&plan)?,
        failed: false,
    };
    let ended = plan.chapters.iter().try_for_each(|chapter| surveying.chapter(chapter));
    surveying.progress.clear();
    let tidied = tidy(written.as_ref().filter(|_| !job.keep), &bed, &first.target);
    let SurveyRun { mut survey, files, failed, .. } = surveying;
    if ended.is_ok() {
        survey.set_complete();
    }
    files.finish(|| survey.to_json(), || survey.page(&job.command_line))?;
    let terminal = Terminal::of_stdout();
    terminal.warnings(&survey.warnings())?;
    let page = job.pages.html.as_deref().unwrap_or(directory);
    terminal.line(&format!("Wrote {} and {}", page.display(), json.display()))?;
    tidied?;
    match ended {
        Ok(()) if failed => Ok(End::Failed),
        Ok(()) => Ok(End::Complete),
        Err(Stop::Interrupted) => Ok(End::Interrupted),
        Err(Stop::Fault(error)) => Err(error),
    }
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

/// Says what the survey writes into a server that was given, and finds what of it is there already.
fn written(
    plan: &SurveyPlan,
    bed: &TestBed<'_>,
    target: &Target,
    keep: bool,
) -> Result<PlanWrites> {
    let lines = plan.chapters.iter().flat_map(|chapter| {
        let lines = chapter.stations.iter().flat_map(|station| station.lines_after(0));
        chapter.fill.iter().cloned().chain(lines)
    });
    let jobs: Result<Vec<Job>, UsageError> =
        lines.map(|line| job("keystorm survey", line)).collect();
    let jobs = jobs.map_err(usage_error)?;
    // Messages remove their keys themselves.
    let plans = jobs.iter().flat_map(|job| &job.plans).filter(|plan| plan.delivery.is_none());
    let mut written = PlanWrites::by(plans);
    let looked = holders(bed, target).and_then(|mut holders| written.look(&mut holders));
    looked.context("looking for keys that are there already")?;
    let place = match target.db {
        _ if bed.server.cluster.is_some() => format!("the cluster of {}", bed.server.address),
        0 => bed.server.address.to_string(),
        db => format!("database {db} of {}", bed.server.address),
    };
    diagnostics::say(report::escape(written.describe(&place, keep)))?;
    if let Some(overwritten) = written.overwritten() {
        diagnostics::say(format_args!("warning: {}", report::escape(overwritten)))?;
    }
    Ok(written)
}

/// Whom to ask for keys.
fn holders(bed: &TestBed<'_>, target: &Target) -> Result<Holders> {
    Ok(match bed.server.master_clients(target)? {
        Some(clients) => Holders::Masters(clients),
        None => Holders::One(Box::new(bed.server.client(target)?)),
    })
}

/// Removes what the survey wrote.
fn tidy(written: Option<&PlanWrites>, bed: &TestBed<'_>, target: &Target) -> Result<()> {
    let Some(written) = written else { return Ok(()) };
    let removed = holders(bed, target).and_then(|mut holders| written.remove(&mut holders));
    let removed = removed.context("removing the keys of the survey; they may still be there")?;
    let keys = report::grouped(removed as f64);
    diagnostics::say(format_args!("Removed {keys} keys again."))?;
    Ok(())
}

/// `maxclients` of a server, if it tells.
fn clients_max(bed: &TestBed<'_>, target: &Target) -> Option<u64> {
    let mut client = bed.server.client(target).ok()?;
    setting::value(&mut client, "maxclients").ok()??.parse().ok()
}

/// Kinds of delivery of which a server lacks a command, if it tells which it has.
fn lacking(bed: &TestBed<'_>, target: &Target) -> Vec<(&'static str, String)> {
    if bed.server.protocol().is_memcache() {
        return Vec::new();
    }
    let Ok(mut client) = bed.server.client(target) else { return Vec::new() };
    let mut missing = |name: &str| match client.ask(&[b"COMMAND", b"INFO", name.as_bytes()]) {
        Ok(wire::resp::Value::Array(found)) => found == [wire::resp::Value::Null],
        _ => false,
    };
    let lacks = DELIVERIES.iter().filter_map(|(kind, commands)| {
        let name = commands.iter().find(|name| missing(name))?;
        Some((*kind, format!("this server has no {}", name.to_uppercase())))
    });
    lacks.collect()
}

/// Planned seconds of all runs; those that go on at the same time count once.
fn planned(plan: &SurveyPlan) -> Result<f64> {
    let mut all_s = 0.0;
    for station in plan.chapters.iter().flat_map(|chapter| &chapter.stations) {
        for (at, line) in station.lines_after(0).into_iter().enumerate() {
            let job = job("keystorm survey", line).map_err(usage_error)?;
            let this_s: f64 = job.plans.iter().map(planned_s).sum();
            all_s += if at == 0 { this_s } else { 0.0 };
        }
    }
    Ok(all_s)
}

/// A survey as it goes.
struct SurveyRun<'s> {
    spec: &'s SurveySpec,
    /// The server of most chapters.
    main: (Target, &'s TestBed<'s>),
    interrupted: &'s AtomicBool,
    several: Option<&'s ClientFleet>,
    survey: Survey,
    /// The command line, to be shown.
    command_line: &'s str,
    files: Files,
    progress: Progress,
    left_s: f64,
    failed: bool,
}

impl SurveyRun<'_> {
    fn chapter(&mut self, chapter: &Chapter) -> Result<(), Stop> {
        self.survey.begin(chapter);
        let measured = self.stations(chapter);
        let terminal = Terminal::of_stdout();
        let Some(answer) = self.survey.chapters.last() else { return measured };
        let show = || -> Result<()> {
            terminal.line(&answer.title)?;
            if !answer.points.is_empty() {
                terminal.table(&answer.table())?;
            }
            answer.remarks().iter().try_for_each(|remark| terminal.line(remark))?;
            answer.left_out.iter().try_for_each(|why| terminal.line(why))?;
            terminal.line("")
        };
        self.progress.aside(show)?;
        let (survey, command_line) = (&self.survey, self.command_line);
        self.files.keep(|| survey.to_json(), || survey.page(command_line))?;
        measured
    }

    fn stations(&mut self, chapter: &Chapter) -> Result<(), Stop> {
        if let Some(line) = &chapter.fill {
            let fill = job("keystorm survey", line.clone()).map_err(usage_error)?;
            self.progress.begin(format!("filling {} keys", self.spec.keys), 1.0, self.left_s);
            for plan in &fill.plans {
                let run = self.main.1.run(plan, None, &mut self.progress)?;
                judged(&run)?;
            }
            self.progress.end();
        }
        for station in &chapter.stations {
            let lines = station.lines_after(self.survey.requests_of_last()).into_iter();
            let jobs: Result<Vec<Job>, UsageError> =
                lines.map(|line| job("keystorm survey", line)).collect();
            self.station(chapter, station, jobs.map_err(usage_error)?)?;
        }
        Ok(())
    }

    fn station(
        &mut self,
        chapter: &Chapter,
        station: &Station,
        jobs: Vec<Job>,
    ) -> Result<(), Stop> {
        let mut own: Vec<TestBed<'_>> = Vec::new();
        let targets: Vec<&Target> =
            jobs.iter().filter_map(|job| Some(&job.plans.first()?.target)).collect();
        let protocol = jobs.iter().find_map(|job| Some(job.plans.first()?.protocol));
        let protocol = protocol.unwrap_or(ProtocolKind::Resp2);
        if jobs.len() > 1 || targets.iter().any(|target| **target != self.main.0) {
            for target in targets {
                let mut bed = TestBed::reach(target, protocol, 64, self.several, self.interrupted)?;
                bed.tells = false;
                own.push(bed);
            }
        }
        let (alone, many) = (jobs.len() == 1, jobs.len());
        let plans = jobs.iter().flat_map(|job| &job.plans);
        if alone {
            for plan in plans {
                let this_s = planned_s(plan);
                self.left_s = (self.left_s - this_s).max(0.0);
                let label = [&station.label, &station.series].map(report::escape).join(" ");
                let what = format!("{}: {} {label}", chapter.title, report::escape(&plan.name));
                self.progress.begin(what, this_s, self.left_s);
                let bed = own.first().unwrap_or(self.main.1);
                let ran = bed.run(plan, None, &mut self.progress);
                self.progress.end();
                self.put(station, ran.map(|run| vec![run]))?;
            }
            return Ok(());
        }
        let this_s = plans.clone().map(planned_s).fold(0.0, f64::max);
        self.left_s = (self.left_s - this_s).max(0.0);
        self.progress.begin(format!("{}: {many} at once", chapter.title), this_s, self.left_s);
        let runs = thread::scope(|scope| {
            let started: Vec<_> = plans
                .zip(&own)
                .map(|(plan, bed)| {
                    let run = move || bed.run(plan, None, &mut runner::NoObserver);
                    thread::Builder::new().spawn_scoped(scope, run)
                })
                .collect();
            let ended = started.into_iter().map(|thread| {
                let thread = thread.context("starting a thread for a run")?;
                thread.join().map_err(|_| anyhow!("a run panicked")).and_then(|run| run)
            });
            ended.collect::<Result<Vec<Run>>>()
        });
        self.progress.end();
        self.put(station, runs)
    }

    /// Adds what a station yielded. A run that fails is a finding, unless the server is gone.
    fn put(&mut self, station: &Station, ran: Result<Vec<Run>>) -> Result<(), Stop> {
        match ran {
            Ok(mut runs) => {
                let interrupted = runs.iter().any(|r| r.measurement.ending == Ending::Interrupted);
                if interrupted || self.interrupted.load(Ordering::Relaxed) {
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
                self.survey.add(station, &runs)?;
            }
            Err(error) => {
                self.failed = true;
                self.survey.miss(station, format!("{error:#}"));
            }
        }
        Ok(())
    }
}

/// Checks that a run that is not measured went well.
fn judged(run: &Run) -> Result<(), Stop> {
    match &run.measurement.ending {
        Ending::Complete => Ok(()),
        Ending::Interrupted => Err(Stop::Interrupted),
        Ending::Failed(failure) => Err(Stop::Fault(failure.at("filling the keys").into())),
    }
}
