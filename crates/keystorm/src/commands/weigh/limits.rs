//! Carrying out `keystorm weigh --maxmemory`: a workload on a fresh start of the server with each limit.

use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow};
use console::diagnostics::{self, Diagnostics};
use job::{End, MemoryJob};
use lab::Document;
use lab::weigh::MemoryCurve;
use measure::Ending;
use workload::Target;

use crate::commands::run::tell_about;
use crate::experiment::files::Files;
use crate::experiment::progress::planned_s;
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::setting;
use crate::signals;
use crate::test_bed::TestBed;

/// Measures at every limit, prints the table, and writes the page.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is kept.
pub(super) fn run(job: &MemoryJob) -> Result<End> {
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    let mut progress = files.progress();
    let mut curve = MemoryCurve::new(String::new(), job.policy.clone());
    let mut left_s: f64 = job.limits.iter().flat_map(|(_, job)| &job.plans).map(planned_s).sum();
    let mut end = End::Complete;
    for (limit, of_limit) in &job.limits {
        let Some(first) = of_limit.plans.first() else { continue };
        let connections = of_limit.plans.iter().map(|plan| plan.own_connections()).max();
        let connections = connections.unwrap_or(1);
        let mut bed =
            TestBed::reach(&first.target, first.protocol, connections, None, &interrupted)?;
        bed.tells = false;
        tell_about(&bed.server, first, &Diagnostics::Stderr, report::KEYSTORM)?;
        curve.server = named(&bed);
        let bytes = limit_bytes(&bed, &first.target)?;
        // Phases before the last one bring the cache into the state that is measured.
        for (number, plan) in (1..).zip(&of_limit.plans) {
            let this_s = planned_s(plan);
            left_s -= this_s;
            progress.begin(format!("maxmemory {limit}: {}", plan.name), this_s, left_s.max(0.0));
            let run = bed.run(plan, None, &mut progress)?;
            progress.end();
            if let Ending::Failed(failure) = &run.measurement.ending {
                diagnostics::say(report::escape(format!("{limit}: {}", failure.text)))?;
                end = End::Failed;
            }
            if number == of_limit.plans.len() {
                curve.add(limit, bytes, &run)?;
            }
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
            terminal.warnings(&curve.warnings())?;
        }
        Ok(())
    };
    let page = || curve.page(&job.command_line);
    results::show(&job.output, &files, || curve.to_json(), || curve.to_csv(), page, text)?;
    Ok(end)
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
