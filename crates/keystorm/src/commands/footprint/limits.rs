//! Carrying out `keystorm footprint --maxmemory`: a workload on a fresh start of the server with each limit.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use console::diagnostics::{self, Diagnostics};
use job::{End, FootprintJob, MemoryJob};
use lab::Document;
use lab::footprint::{MemoryCurve, Settling};
use measure::Ending;
use report::{Summary, WarningKind};
use workload::{Pace, Plan, PlanParts, Stop, Target};

use crate::commands::run::tell_about;
use crate::experiment::files::Files;
use crate::experiment::progress::{Progress, planned_s};
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::setting;
use crate::signals;
use crate::test_bed::TestBed;

/// Longest time that rounds go on; they take about as long.
const SETTLES_AT_MOST: Duration = Duration::from_secs(60);
const SETTLES_S: f64 = 10.0;

/// Measures at every limit, prints the table, and writes the page.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is kept.
pub(super) fn run(job: &FootprintJob, memory: &MemoryJob) -> Result<End> {
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    let mut progress = files.progress();
    let mut curve = MemoryCurve::new(String::new(), memory.policy.clone());
    let mut left_s: f64 = memory.limits.iter().flat_map(|(_, job)| &job.plans).map(planned_s).sum();
    let mut end = End::Complete;
    for (limit, of_limit) in &memory.limits {
        let Some(first) = of_limit.plans.first() else { continue };
        let connections = of_limit.plans.iter().map(|plan| plan.own_connections()).max();
        let connections = connections.unwrap_or(1);
        let mut bed =
            TestBed::reach(&first.target, first.protocol, connections, None, &interrupted)?;
        bed.tells = false;
        tell_about(&bed.server, first, &Diagnostics::Stderr, report::KEYSTORM)?;
        curve.server = named(&bed);
        left_s -= of_limit.plans.iter().map(planned_s).sum::<f64>();
        if !phases(&bed, limit, &of_limit.plans, &mut curve, &mut progress, left_s.max(0.0))? {
            end = End::Failed;
        }
        files.keep(|| curve.to_json(), || curve.page(&job.command_line))?;
        if interrupted.load(Ordering::Relaxed) {
            end = End::Interrupted;
            break;
        }
    }
    progress.clear();
    if end == End::Complete {
        curve.set_complete();
    }
    let text = |terminal: &Terminal| {
        terminal.table(&curve.table())?;
        if !job.output.quiet {
            curve.charts().iter().take(1).try_for_each(|chart| terminal.chart(chart))?;
            terminal.line("")?;
            curve.verdict().iter().try_for_each(|verdict| terminal.verdict(verdict))?;
            terminal.warnings(&curve.moving())?;
            terminal.warnings(&curve.warnings())?;
        }
        Ok(())
    };
    let page = || curve.page(&job.command_line);
    results::show(&job.output, &files, || curve.to_json(), || curve.to_csv(), page, text)?;
    Ok(end)
}

/// Carries out the phases, of which the last is measured when its hit ratio stands still. Whether none failed.
fn phases(
    bed: &TestBed<'_>,
    limit: &str,
    plans: &[Plan],
    curve: &mut MemoryCurve,
    progress: &mut Progress,
    left_s: f64,
) -> Result<bool> {
    let mut is_whole = true;
    for (number, plan) in (1..).zip(plans) {
        let mut settling = Settling::new(plan.data.keys.range.unwrap_or(1));
        if number == plans.len() {
            let what = format!("maxmemory {limit}: until the hit ratio has settled");
            progress.begin(what, SETTLES_S, left_s);
            settle(bed, plan, &mut settling, progress)?;
            progress.end();
        }
        progress.begin(format!("maxmemory {limit}: {}", plan.name), planned_s(plan), left_s);
        let mut run = bed.run(plan, None, progress)?;
        progress.end();
        if let Ending::Failed(failure) = &run.measurement.ending {
            diagnostics::say(report::escape(format!("{limit}: {}", failure.text)))?;
            is_whole = false;
        }
        if number == plans.len() {
            // Here that is what is asked for, and has a column.
            run.warnings.retain(|warning| warning.kind != WarningKind::Evicted);
            curve.add(limit, limit_bytes(bed, &plan.target)?, &settling, &run)?;
        }
    }
    Ok(is_whole)
}

/// Carries out the load as fast as it goes until its hit ratio stands still, or for so long. A load that changes no
/// keys has the ratio that it has.
fn settle(
    bed: &TestBed<'_>,
    plan: &Plan,
    settling: &mut Settling,
    progress: &mut Progress,
) -> Result<()> {
    let changes = plan.sequence.iter().any(|command| command.may_write(plan.protocol));
    if !changes || plan.is_recorded() {
        return Ok(());
    }
    bed.prepare(plan)?;
    let (begun, mut took) = (Instant::now(), Duration::ZERO);
    for number in 1.. {
        let Some(requests) = settling.next() else { break };
        if begun.elapsed() + took * 2 > SETTLES_AT_MOST {
            break;
        }
        let mut parts: PlanParts = (**plan).clone();
        parts.load.stop = Stop::Requests(requests);
        (parts.load.pace, parts.load.warmup_ns) = (Pace::Closed, 0);
        // What was filled stays as the round before left it.
        parts.data.fill = None;
        if !parts.data.verify {
            // The same keys, in another order.
            parts.load.seed = parts.load.seed.wrapping_add(number);
        }
        let round = Instant::now();
        let run = bed.run(&parts.build()?, None, progress)?;
        took = round.elapsed();
        if run.measurement.ending != Ending::Complete {
            break;
        }
        settling.add(Summary::from_run(&run).lookups);
    }
    Ok(())
}

fn named(bed: &TestBed<'_>) -> String {
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "server".to_owned());
    format!("{} {}", known(&bed.server.facts.product), known(&bed.server.facts.version))
}

/// The limit of memory that the server has, in bytes.
fn limit_bytes(bed: &TestBed<'_>, target: &Target) -> Result<u64> {
    let text = if bed.server.protocol().is_memcache() {
        let stats = bed.server.memcache_client(target)?.stats(None).map_err(|why| anyhow!(why))?;
        stats.into_iter().find(|(name, _)| name == "limit_maxbytes").map(|(_, bytes)| bytes)
    } else {
        setting::value(&mut bed.server.client(target)?, "maxmemory")?
    };
    let bytes = text.and_then(|text| text.parse().ok()).filter(|bytes| *bytes > 0);
    bytes.with_context(|| format!("{} does not say its maxmemory", bed.server.address))
}
