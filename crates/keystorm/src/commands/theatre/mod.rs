//! Carrying out `keystorm theatre`: the load, the acts during it, and the price list at the end.
//!
//! [`stage`] is the server as acts see it, [`player`] plays them one after another, [`migration`] is that of slots.

mod migration;
mod player;
mod stage;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use console::diagnostics::{self, Diagnostics};
use console::live_page::LiveWatch;
use console::metrics::ObserverPair;
use host::JournalKind;
use job::{End, TheatreJob, UsageError};
use lab::Document;
use lab::theatre::{ActRecord, Line, OWN_QUESTION, Outcome, Price, PriceList};
use measure::Ending;
use report::{Run, WarningKind};
use runner::Start;
use workload::{Plan, PlanParts, Stop};

use crate::commands::run::{say, tell_about};
use crate::experiment::files::Files;
use crate::experiment::noise;
use crate::experiment::progress::Progress;
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::signals;
use crate::test_bed::TestBed;
use player::{Player, Scene};
use stage::Stage;

/// Plays the acts and prints their prices.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is printed.
pub(crate) fn theatre(job: &TheatreJob) -> Result<End> {
    let Some(plan) = job.job.plans.first() else { return Ok(End::Complete) };
    job.job.notes.iter().try_for_each(diagnostics::say)?;
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    noise::warn()?;
    let storms = job.acts.iter().filter_map(|act| act.load.as_ref());
    let connections = storms.map(Plan::own_connections).max().unwrap_or(0);
    let mut bed = TestBed::reach_asking(
        host::Questions::All,
        &plan.target,
        plan.protocol,
        plan.own_connections().saturating_add(connections),
        job.job.several.as_ref(),
        &interrupted,
    )?;
    bed.sample = true;
    bed.journal = true;
    tell_about(&bed.server, plan, &Diagnostics::Stderr, report::KEYSTORM)?;
    ask_first(job, &bed)?;
    bed.prepare(plan)?;
    let stage = Stage::new(&bed, plan)?;
    let shown = (files.progress(), files.watch(plan, &bed.server.facts));
    let played = play(job, &bed, &stage, plan, shown);
    // Whatever happened: settings are as they were, and keys of the acts are gone.
    stage.put_back();
    let (run, scenes) = played?;
    let list = priced(job, &run, scenes)?;
    let end = match (run.measurement.ending, interrupted.load(Ordering::Relaxed)) {
        (Ending::Failed(_), _) => End::Failed,
        (_, true) => End::Interrupted,
        _ => End::Complete,
    };
    show(job, &list, &files)?;
    Ok(end)
}

/// Refuses to disturb a server that keystorm did not start, unless --yes is given.
fn ask_first(job: &TheatreJob, bed: &TestBed<'_>) -> Result<()> {
    if bed.server.is_own() || job.yes {
        return Ok(());
    }
    let names: Vec<&str> = job.acts.iter().map(|act| act.act.name.as_str()).collect();
    let text = format!(
        "theatre disturbs {}, which keystorm did not start ({}): add --yes to go ahead, --act to play some of them \
         only, or --spawn for a private server",
        bed.server.address,
        names.join(", ")
    );
    Err(anyhow!(UsageError(text)))
}

/// Warnings about effects that acts have on purpose, which are left out.
const OF_ACTS: [WarningKind; 6] = [
    WarningKind::Saved,
    WarningKind::Rewrote,
    WarningKind::Evicted,
    WarningKind::OtherClients,
    WarningKind::SettingChanged,
    WarningKind::Rejected,
];

/// Runs the load, and beside it the acts.
fn play(
    job: &TheatreJob,
    bed: &TestBed<'_>,
    stage: &Stage<'_>,
    plan: &Plan,
    (mut progress, mut page): (Progress, Option<LiveWatch<'_>>),
) -> Result<(Run, Vec<Scene>)> {
    let player = Player { job, bed, stage };
    let mut scenes = player.prepare();
    let stop = AtomicBool::new(false);
    let length_s: f64 = (scenes.len() as f64 + 1.0) * job.rest_s;
    progress.begin("acts beside the load".to_owned(), length_s, 0.0);
    // Some servers stand still to answer about memory, which would count as the cost of an act.
    let watch = bed.server.watch(&plan.target, true).with_journal(true).without_memory(true);
    let begun = watch.begin();
    let measured = thread::scope(|scope| {
        let begin = || {
            player.play(&mut scenes, &stop);
            stop.store(true, Ordering::Relaxed);
        };
        let acting = thread::Builder::new().name("acts".to_owned()).spawn_scoped(scope, begin);
        let acting = acting.context("starting a thread")?;
        let mut shown = ObserverPair(&mut progress, page.as_mut());
        let measured = bed.load(plan, Start::Ready, None, &stop, &mut shown);
        // A load that ended by itself has nothing beside which acts could be played.
        stop.store(true, Ordering::Relaxed);
        acting.join().map_err(|_| anyhow!("the thread of the acts panicked"))?;
        measured
    });
    progress.clear();
    let mut measurement = measured?;
    let watched = watch.end(begun);
    if measurement.ending == Ending::Interrupted {
        // It was to last as long as the acts, and did.
        measurement.ending = Ending::Complete;
    }
    let mut parts: PlanParts = (**plan).clone();
    parts.load.stop = Stop::AfterNs(measurement.elapsed_ns.max(1));
    let run = bed.run_of(parts.build()?, measurement, watched);
    let mut run = run.held_against(job.slo.clone());
    run.warnings = bed.warned_of(&run);
    // What acts do is no surprise.
    run.warnings.retain(|warning| !OF_ACTS.contains(&warning.kind));
    Ok((run, scenes))
}

/// The price list of what was played.
fn priced(job: &TheatreJob, run: &Run, scenes: Vec<Scene>) -> Result<PriceList> {
    let rate = run.plan.load.pace.schedule().and_then(workload::Schedule::rate_per_s);
    let server = run.server.name().unwrap_or_else(|| "the server".to_owned());
    let mut list = PriceList::new(rate.unwrap_or_default(), job.slo.clone(), server);
    let target_ns = list.target_ns();
    let all = scenes.iter().all(|scene| !matches!(scene, Scene::Waiting));
    for (act, scene) in job.acts.iter().zip(scenes) {
        let outcome = match scene {
            Scene::Waiting => Outcome::LeftOut("the run ended before".to_owned()),
            Scene::LeftOut(why) => Outcome::LeftOut(why),
            Scene::NotSupported(why) => Outcome::NotSupported(why),
            Scene::Played(times) => {
                let played = times.since(run.measurement.started_at);
                let mut price = Price::new(&played, &run.measurement, target_ns);
                price.events = events(run, &played);
                Outcome::Price(price)
            }
        };
        list.acts.push(Line { name: act.act.name.clone(), about: act.act.about.clone(), outcome });
    }
    list.set_run(run)?;
    if all && run.measurement.ending == Ending::Complete {
        list.set_complete();
    }
    Ok(list)
}

/// Most events of one act.
const EVENTS_MAX: usize = 8;
/// Servers log events with times in whole seconds, which are off by up to half a second.
const HALF_S: f64 = 0.5;
/// Shorter events do not explain a latency.
const EVENT_MIN_US: u64 = 1_000;

/// Events that the server logged during an act, the longest first.
fn events(run: &Run, played: &ActRecord) -> Vec<String> {
    let start = run.measurement.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    // What comes later may be the next act's.
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
    found.sort_by(|a, b| b.0.cmp(&a.0));
    found.into_iter().take(EVENTS_MAX).map(|(_, text)| report::escape(text)).collect()
}

fn show(job: &TheatreJob, list: &PriceList, files: &Files) -> Result<()> {
    let text = |terminal: &Terminal| {
        terminal.table(&list.table())?;
        if !job.output.quiet {
            say("\n").map(drop)?;
            terminal.verdict(&list.verdict())?;
            terminal.warnings(&list.warnings())?;
        }
        Ok(())
    };
    let page = || list.page(&job.command_line);
    results::show(&job.output, files, || list.to_json(), || list.to_csv(), page, text)
}

/// Two saved price lists side by side, if both files are such; nothing if neither is.
///
/// # Errors
/// Only one is, or one cannot be read.
pub(crate) fn compared(paths: [&Path; 2]) -> Result<Option<End>> {
    match paths.map(is_list) {
        [false, false] => Ok(None),
        [true, true] => {
            let read = |path: &Path| {
                let name = path.display();
                let bytes = fs::read(path).with_context(|| format!("{name}"))?;
                PriceList::from_json(&bytes).map_err(|why| anyhow!("{name}: {why}"))
            };
            let [a, b] = [read(paths[0])?, read(paths[1])?];
            let names = paths.map(|path| path.display().to_string());
            let named = names.each_ref().map(String::as_str);
            Terminal::of_stdout().table(&a.compared_with(&b, named))?;
            Ok(Some(End::Complete))
        }
        [is_first, _] => {
            let other = paths[usize::from(is_first)].display();
            bail!("{other}: a price list of theatre is compared with another, and this is none")
        }
    }
}

/// Whether a file begins as a price list does.
fn is_list(path: &Path) -> bool {
    let mut head = [0; 200];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut head));
    read.is_ok_and(|n| String::from_utf8_lossy(&head[..n]).contains(lab::theatre::SCHEMA))
}

/// Seconds from `start` to `at`; negative if `at` is earlier.
fn seconds_since(start: SystemTime, at: SystemTime) -> f64 {
    match at.duration_since(start) {
        Ok(after) => after.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}
