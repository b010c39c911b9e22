//! `keystorm footprint --maxmemory`: runs a workload on a new start of the server with each limit.

use std::slice;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use cli::console::diagnostics;
use cli::job::End;
use lab::Findings;
use lab::footprint::{MemoryCurve, Settling};
use measure::Ending;
use report::{Summary, WarningKind};
use workload::{Plan, Target};

use super::options::{MemoryLimit, Options};
use crate::experiment::frame::{Experiment, Frame, Step, reach};
use crate::experiment::progress::{Progress, planned_s};
use crate::setting;
use crate::test_bed::TestBed;

/// Longest time until the hit ratio is considered steady; rounds take about as long.
const SETTLES_AT_MOST: Duration = Duration::from_secs(60);
const SETTLES_S: f64 = 10.0;

/// Measures at every limit, prints the table, and writes the page.
///
/// # Errors
/// Returns an error if something cannot be measured or written; earlier results are kept.
pub(super) fn carry_out(memory: &Options) -> Result<End> {
    let notes = memory.limits.first().map_or(&[][..], |limit| &limit.job.notes);
    let frame = Frame::open(notes, &memory.output)?;
    let curve = MemoryCurve::new(String::new(), memory.policy.clone());
    let plans = memory.limits.iter().flat_map(|limit| &limit.job.plans);
    let left_s = plans.map(planned_s).sum::<f64>() + SETTLES_S * memory.limits.len() as f64;
    let limits = memory.limits.iter();
    frame.carry_out(&mut Limits { limits, curve, left_s, has_failed: false })
}

/// Limits of memory, a step each.
struct Limits<'j> {
    limits: slice::Iter<'j, MemoryLimit>,
    curve: MemoryCurve,
    /// Planned seconds that are left.
    left_s: f64,
    has_failed: bool,
}

impl Experiment for Limits<'_> {
    fn planned_s(&self) -> f64 {
        self.left_s
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let Some(limit) = self.limits.next() else {
            return Ok(Step::Last(if self.has_failed { End::Failed } else { End::Complete }));
        };
        let job = &limit.job;
        let Some(first) = job.plans.first() else { return Ok(Step::Next) };
        let connections = job.plans.iter().map(|plan| plan.own_connections()).max();
        let mut bed = reach(job, first, connections.unwrap_or(1), frame.interrupted)?;
        bed.settings.fills_quietly = true;
        self.curve.server = bed.server.facts.version_name();
        self.phases(&mut bed, limit, frame)?;
        Ok(Step::Next)
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.curve
    }
}

impl Limits<'_> {
    /// Runs the phases, the last of which is measured when its hit ratio is steady.
    fn phases(
        &mut self,
        bed: &mut TestBed<'_>,
        of: &MemoryLimit,
        frame: &mut Frame<'_>,
    ) -> Result<()> {
        let (limit, plans) = (&of.limit, &of.job.plans);
        for (number, plan) in (1..).zip(plans) {
            let mut settling = Settling::new(plan.data.keys.range.unwrap_or(1));
            if number == plans.len() {
                let title = format!("maxmemory {limit}: until the hit ratio has settled");
                self.left_s = (self.left_s - SETTLES_S).max(0.0);
                frame.progress.begin(title, SETTLES_S, self.left_s);
                run_until_steady(bed, of, plan, &mut settling, &mut frame.progress)?;
                frame.progress.end();
            }
            self.left_s = (self.left_s - planned_s(plan)).max(0.0);
            let title = format!("maxmemory {limit}: {}", plan.name);
            let mut run = frame.run(bed, plan, title, self.left_s)?.failed_if_refused();
            if let Ending::Failed(failure) = &run.measurement.ending {
                diagnostics::say(report::escape(format!("{limit}: {}", failure.text)))?;
                self.has_failed = true;
            }
            if number == plans.len() {
                // Here that is what is asked for, and has a column.
                run.warnings.retain(|warning| warning.kind != WarningKind::Evicted);
                self.curve.add(limit, limit_bytes(bed, &plan.target)?, &settling, &run)?;
            }
        }
        Ok(())
    }
}

/// Runs the load at full speed until its hit ratio is steady, or the time is over. The hit ratio of a load
/// that changes no keys is steady from the start.
fn run_until_steady(
    bed: &mut TestBed<'_>,
    limit: &MemoryLimit,
    plan: &Plan,
    settling: &mut Settling,
    progress: &mut Progress,
) -> Result<()> {
    let changes = plan.sequence.iter().any(|command| command.may_write(plan.protocol));
    if !changes {
        return Ok(());
    }
    bed.prepare(plan)?;
    let (begun, mut took) = (Instant::now(), Duration::ZERO);
    for number in 1.. {
        let Some(requests) = settling.next() else { break };
        if begun.elapsed() + took * 2 > SETTLES_AT_MOST {
            break;
        }
        let job = limit.closed_loop(requests, number)?;
        let Some(plan) = job.plans.last() else { break };
        let round = Instant::now();
        // The filled keys stay as the previous round left them.
        bed.settings.keeps_data = true;
        let run = bed.run(plan, None, progress);
        bed.settings.keeps_data = false;
        let run = run?;
        took = round.elapsed();
        if run.measurement.ending != Ending::Complete {
            break;
        }
        settling.add(Summary::from_run(&run).lookups);
    }
    Ok(())
}

/// The server's limit of memory, in bytes.
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
