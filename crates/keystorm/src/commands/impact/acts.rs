//! A steady load, the acts during it, and their cost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, anyhow};
use cli::console::diagnostics;
use cli::console::metrics::ObserverPair;
use cli::job::{End, Job, UsageError};
use host::JournalKind;
use lab::impact::{ActRecord, OWN_QUESTION, Outcome, Price};
use lab::{Findings, Impact};
use measure::Ending;
use report::{Run, WarningKind};
use runner::Start;
use workload::{Plan, Stop};

use super::options::Options;
use super::player::{Player, Scene};
use super::stage::Stage;
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::test_bed::{RunSettings, TestBed};

/// Plays the acts beside the load.
pub(super) fn carry_out(job: &Options, load: &Job) -> Result<End> {
    let Some(plan) = load.plans.first() else { return Ok(End::Complete) };
    let frame = Frame::open(&load.notes, &job.output)?;
    let storms = job.staged.iter().filter_map(|act| act.load.as_ref());
    let connections = storms.map(Plan::own_connections).max().unwrap_or(0);
    let connections = plan.own_connections().saturating_add(connections);
    let mut bed = frame.reach(load, plan, connections)?;
    bed.settings = RunSettings { sample: true, journal: true, ..RunSettings::default() };
    ask_first(job, &bed)?;
    let server = bed.server.facts.name().unwrap_or_else(|| "the server".to_owned());
    let mut list = Impact::new(server);
    list.slo.clone_from(&job.slo);
    frame.carry_out(&mut Acts { job, plan, bed: &bed, list })
}

/// Refuses to disturb a server that keystorm did not start, unless --yes is given.
fn ask_first(job: &Options, bed: &TestBed<'_>) -> Result<()> {
    if bed.server.is_own() || job.yes {
        return Ok(());
    }
    let names: Vec<&str> = job.staged.iter().map(|act| act.act.name.as_str()).collect();
    let text = format!(
        "impact disturbs {}, which keystorm did not start ({}): add --yes to go ahead, --of to play some of them only, \
         or --spawn for a private server",
        bed.server.address,
        names.join(", ")
    );
    Err(anyhow!(UsageError(text)))
}

/// Warnings about intended effects of acts, which are left out.
const INTENDED_EFFECTS: [WarningKind; 6] = [
    WarningKind::Saved,
    WarningKind::Rewrote,
    WarningKind::Evicted,
    WarningKind::OtherClients,
    WarningKind::SettingChanged,
    WarningKind::Rejected,
];

/// All acts in one run, which is the only step.
struct Acts<'a, 'r> {
    job: &'a Options,
    plan: &'a Plan,
    bed: &'a TestBed<'r>,
    list: Impact,
}

impl Experiment for Acts<'_, '_> {
    fn planned_s(&self) -> f64 {
        (self.job.staged.len() as f64 + 1.0) * self.job.rest().as_secs_f64()
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let stage = Stage::new(self.bed, self.plan)?;
        let played = self.bed.prepare(self.plan).and_then(|()| self.play(&stage, frame));
        // Whatever happened: settings are as they were, and keys of the acts are gone.
        stage.put_back();
        let (run, scenes) = played?;
        let all = scenes.iter().all(|scene| !matches!(scene, Scene::Waiting));
        self.price(&run, scenes)?;
        Ok(Step::Last(match &run.measurement.ending {
            Ending::Failed(failure) => {
                diagnostics::say(report::escape(failure.at(&run.plan.name).to_string()))?;
                End::Failed
            }
            _ if frame.is_interrupted() => End::Interrupted,
            // It ended by itself.
            _ if !all => End::Failed,
            _ => End::Complete,
        }))
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.list
    }
}

impl Acts<'_, '_> {
    /// Runs the load and, beside it, the acts.
    fn play(&self, stage: &Stage<'_>, frame: &mut Frame<'_>) -> Result<(Run, Vec<Scene>)> {
        let Self { job, plan, bed, .. } = *self;
        let player = Player { job, bed, stage };
        let mut scenes = player.prepare();
        let stop = AtomicBool::new(false);
        let mut page = frame.files.watch(plan, &bed.server.facts);
        frame.progress.begin("acts beside the load".to_owned(), self.planned_s(), 0.0);
        // Some servers stand still to answer about memory, which would count as the cost of an act.
        let watch = bed.server.watch(&plan.target, true).with_journal(true).without_memory(true);
        let begun = watch.begin();
        let measured = thread::scope(|scope| {
            let acting = thread::Builder::new().name("acts".to_owned()).spawn_scoped(scope, || {
                player.play(&mut scenes, &stop);
                stop.store(true, Ordering::Relaxed);
            });
            let acting = acting.context("starting a thread")?;
            let mut shown = ObserverPair(&mut frame.progress, page.as_mut());
            let measured = bed.load(plan, Start::Ready, None, &stop, &mut shown);
            // A load that ended by itself has nothing beside which acts could be played.
            stop.store(true, Ordering::Relaxed);
            acting.join().map_err(|_| anyhow!("the thread of the acts panicked"))?;
            measured
        });
        let mut measurement = measured?;
        let watched = watch.end(begun);
        if measurement.ending == Ending::Interrupted {
            // It was to last as long as the acts, and did.
            measurement.ending = Ending::Complete;
        }
        let stop = Stop::AfterNs(measurement.elapsed_ns.max(1));
        let plan = plan.with(|parts| parts.load.stop = stop)?;
        let run = bed.run_of(plan, measurement, watched).failed_if_refused();
        let mut run = run.held_against(job.slo.clone());
        run.warnings = bed.warned_of(&run);
        // Intended effects of an act need no warning.
        run.warnings.retain(|warning| !INTENDED_EFFECTS.contains(&warning.kind));
        Ok((run, scenes))
    }

    /// Reads the prices off the run.
    fn price(&mut self, run: &Run, scenes: Vec<Scene>) -> Result<()> {
        let schedule = run.plan.load.pace.schedule();
        self.list.rate_per_s = schedule.and_then(workload::Schedule::rate_per_s);
        for (staged, scene) in self.job.staged.iter().zip(scenes) {
            let unpriced = |outcome| Price { outcome, ..Price::default() };
            let price = match scene {
                Scene::Waiting => unpriced(Outcome::LeftOut("the run ended before".to_owned())),
                Scene::LeftOut(why) => unpriced(Outcome::LeftOut(why)),
                Scene::NotSupported(why) => unpriced(Outcome::NotSupported(why)),
                Scene::Played(times) => {
                    let played = times.since(run.measurement.started_at);
                    let price = Price::of_act(&played, &run.measurement, self.list.target_ns());
                    Price { events: events(run, &played), ..price }
                }
            };
            let (operation, about) = (staged.act.name.clone(), staged.act.about.clone());
            self.list.prices.push(Price { operation, about, ..price });
        }
        Ok(self.list.add_run(run)?)
    }
}

/// Maximum number of events of one act.
const EVENTS_MAX: usize = 8;
/// Greatest error of times in a server's log, which are in whole seconds.
const HALF_S: f64 = 0.5;
/// Shortest event that can explain a latency.
const EVENT_MIN_US: u64 = 1_000;

/// Events that the server logged during an act, the longest first.
fn events(run: &Run, played: &ActRecord) -> Vec<String> {
    let start = run.measurement.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Later events may belong to the next act.
    let last_s = played.ended_s.unwrap_or(played.from_s) + HALF_S;
    let to_s = last_s.max(played.until_s - HALF_S);
    let journals = run.watched.servers.iter().filter_map(|server| server.journal.as_ref());
    let mut found: Vec<(u64, String)> = Vec::new();
    for journal in journals {
        for entry in &journal.entries {
            let Some(usec) = entry.usec.filter(|usec| *usec >= EVENT_MIN_US) else { continue };
            let at = |unix_s: f64| unix_s - journal.ahead_s - start.as_secs_f64();
            // Its times are known to a second.
            let middle_s = f64::midpoint(at(entry.from_s), at(entry.to_s));
            let is_within = (played.from_s - HALF_S..to_s).contains(&middle_s);
            if !is_within {
                continue;
            }
            let what = match entry.kind {
                JournalKind::Latency => format!("LATENCY {}", entry.what),
                JournalKind::SlowCommand => {
                    format!("SLOWLOG {}", entry.what.chars().take(24).collect::<String>())
                }
                JournalKind::Fork => "fork".to_owned(),
                _ if entry.what.is_empty() => format!("{:?}", entry.kind).to_lowercase(),
                _ => entry.what.clone(),
            };
            let is_own = entry.kind == JournalKind::SlowCommand && entry.what.starts_with("INFO");
            let by = if is_own { OWN_QUESTION } else { "" };
            let text = format!("{what} {:.1} ms{by}", usec as f64 / 1e3);
            if !found.iter().any(|(_, known)| *known == text) {
                found.push((usec, text));
            }
        }
    }
    found.sort_by_key(|act| std::cmp::Reverse(act.0));
    found.into_iter().take(EVENTS_MAX).map(|(_, text)| report::escape(text)).collect()
}
