//! Carrying out a grid.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use console::diagnostics::{self, Diagnostics};
use job::{End, SweepJob};
use lab::{Document, Sweep};
use measure::Ending;
use workload::{Plan, Target};

use crate::commands::run::{OF_ONE_START, say, tell_about};
use crate::experiment::files::Files;
use crate::experiment::noise;
use crate::experiment::progress::{Progress, planned_s};
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::signals;
use crate::test_bed::TestBed;

/// A grid is given up when so many runs in a row fail: the server is gone.
const FAILURES_MAX: u32 = 3;

/// Measures every point and prints the table.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is printed.
pub(crate) fn sweep(job: &SweepJob) -> Result<End> {
    let plans = || job.points.iter().flat_map(|(_, job)| &job.plans);
    let Some(widest) = plans().max_by_key(|plan| plan.own_connections()) else {
        return Ok(End::Complete);
    };
    let mut notes: Vec<&String> = job.points.iter().flat_map(|(_, job)| &job.notes).collect();
    notes.dedup();
    notes.iter().try_for_each(diagnostics::say)?;
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    noise::warn()?;
    let mut bed = TestBed::reach_asking(
        host::Questions::All,
        &widest.target,
        widest.protocol,
        widest.own_connections(),
        job.points.first().and_then(|(_, job)| job.several.as_ref()),
        &interrupted,
    )?;
    bed.journal = true;
    bed.sample = job.points.iter().any(|(_, job)| job.output.sample);
    tell_about(&bed.server, widest, &Diagnostics::Stderr, report::KEYSTORM)?;
    if job.repeat > 1 && !bed.server.is_own() {
        diagnostics::say(OF_ONE_START)?;
    }
    let mut sweep = Sweep::new(job.axes.clone());
    sweep.slo = job.points.first().and_then(|(_, job)| job.slo.clone());
    let ended = measure(job, &widest.target, &mut bed, &mut sweep, &mut files);
    if matches!(ended, Ok(End::Complete)) {
        sweep.set_complete();
    }
    // Also after an error: what was measured before it is not lost.
    let shown = show(job, &sweep, &files);
    let end = ended?;
    shown?;
    Ok(end)
}

/// After a run that failed: a server takes a while to notice that its clients are gone, and would
/// turn the next away.
const RECOVERY: Duration = Duration::from_secs(1);

/// Carries out every run, round by round; each round has a start of the server of its own, if that is
/// ours to start.
fn measure(
    job: &SweepJob,
    target: &Target,
    bed: &mut TestBed<'_>,
    sweep: &mut Sweep,
    files: &mut Files,
) -> Result<End> {
    let mut progress = files.progress();
    let ended = rounds(job, target, bed, sweep, files, &mut progress);
    progress.clear();
    ended
}

fn rounds(
    job: &SweepJob,
    target: &Target,
    bed: &mut TestBed<'_>,
    sweep: &mut Sweep,
    files: &mut Files,
    progress: &mut Progress,
) -> Result<End> {
    let round_s: f64 = job.points.iter().flat_map(|(_, job)| &job.plans).map(planned_s).sum();
    let mut left_s = round_s * f64::from(job.repeat);
    let (mut in_a_row, mut failed) = (0, false);
    for round in 0..job.repeat {
        if round > 0 {
            bed.restart(target)?;
        }
        for (number, (settings, point)) in (1..).zip(&job.points) {
            for plan in &point.plans {
                let this_s = planned_s(plan);
                left_s -= this_s;
                let what = place(job, round, number) + &title(job, settings, plan);
                progress.begin(what, this_s, left_s.max(0.0));
                let run = bed.run(plan, None, progress)?.held_against(point.slo.clone());
                progress.end();
                sweep.add(settings, &run)?;
                files.keep(|| sweep.to_json(), || sweep.page(&job.command_line))?;
                match run.measurement.ending {
                    Ending::Complete => in_a_row = 0,
                    Ending::Interrupted => return Ok(End::Interrupted),
                    Ending::Failed(_) => (in_a_row, failed) = (in_a_row + 1, true),
                }
                if in_a_row == FAILURES_MAX {
                    return Ok(End::Failed);
                }
                if in_a_row > 0 {
                    thread::sleep(RECOVERY);
                }
            }
        }
    }
    Ok(if failed { End::Failed } else { End::Complete })
}

/// Says how far the sweep is: which point of how many, and in which round, where there are several.
fn place(job: &SweepJob, round: u32, point: usize) -> String {
    let round = match job.repeat {
        1 => String::new(),
        rounds => format!("round {} of {rounds}, ", round + 1),
    };
    format!("{round}point {point} of {}: ", job.points.len())
}

/// Says what a run is, in a few words.
fn title(job: &SweepJob, settings: &[String], plan: &Plan) -> String {
    let settings = job.axes.iter().zip(settings).map(|(axis, v)| format!("{} {v} ", axis.option));
    report::escape(settings.collect::<String>() + &plan.name)
}

fn show(job: &SweepJob, sweep: &Sweep, files: &Files) -> Result<()> {
    if sweep.is_empty() {
        return Ok(());
    }
    let text = |terminal: &Terminal| {
        terminal.table(&sweep.table())?;
        if !job.output.quiet {
            if !sweep.axes.is_empty() {
                sweep.charts().iter().take(1).try_for_each(|chart| terminal.chart(chart))?;
            }
            for best in sweep.best() {
                say("\n").map(drop)?;
                terminal.verdict(&best)?;
            }
            terminal.warnings(&sweep.warnings())?;
        }
        Ok(())
    };
    let page = || sweep.page(&job.command_line);
    results::show(&job.output, files, || sweep.to_json(), || sweep.to_csv(), page, text)?;
    for row in &sweep.points {
        for shortfall in row.figures.iter().filter_map(|run| run.shortfall.as_ref()) {
            diagnostics::say(format_args!("{}: {shortfall}", report::escape(&row.test)))?;
        }
    }
    Ok(())
}
