//! Carrying out a job: each of its plans in turn, its results printed as soon as they are there.

use std::io;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use measure::Ending;
use report::Repeat;
use workload::{Plan, ReadFrom};

use crate::front::{Action, Job};
use crate::keep::Keep;
use crate::live::Live;
use crate::metrics::{Both, Metrics};
use crate::print::{self, Printer};
use crate::rig::Rig;
use crate::server::Server;
use crate::signals;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Interrupted,
    Failed,
    /// Complete, with a result that was to be told by the exit code.
    Regressed,
}

/// Prints text that was asked for.
pub(crate) fn say(text: &str) -> Result<End> {
    print::text(text)?;
    Ok(End::Complete)
}

/// Carries out a job.
///
/// # Errors
/// What kept it from being carried out, in words for a person.
pub(crate) fn execute(job: &Job) -> Result<End> {
    for note in &job.notes {
        eprintln!("{note}");
    }
    let Some(first) = job.plans.first() else {
        return Ok(End::Complete);
    };
    // Before anything is asked of the server: a result that cannot be kept need not be measured.
    let keep = Keep::open(&job.output)?;
    let metrics = job.output.metrics.as_ref().map(Metrics::serve).transpose()?;
    let interrupted = signals::interrupted().context("asking to be told of Ctrl-C")?;
    let mut rig = Rig::reach(&first.target, first.own_connections(), &interrupted)?;
    rig.sample = job.output.sample;
    tell_about(&rig.server, first);
    introduce_cluster(job, &rig.server)?;
    match job.action {
        Action::Idle => idle(first, &rig),
        Action::Run { repeat } => run_all(job, &rig, repeat, keep, metrics.as_ref()),
    }
}

/// Says on standard error what a person should know before the figures come.
pub(crate) fn tell_about(server: &Server, plan: &Plan) {
    if let Some(spawned) = server.spawned() {
        eprintln!("Started {}", report::escape(spawned));
    }
    if server.facts.config.is_none() {
        eprintln!("WARNING: Could not fetch server CONFIG");
    }
    if let Some(mismatch) = server.tls.as_ref().and_then(engine::TlsContext::name_mismatch) {
        eprintln!("WARNING: {}", report::escape(mismatch));
    }
    let connections = u64::from(plan.own_connections());
    if let host::Address::Tcp(address) = server.address
        && let Some(shortage) = host::port_shortage(address, connections, plan.target.sources.len())
    {
        eprintln!("WARNING: {shortage}");
    }
}

/// The nodes, as the peers list them: on standard output, where that is for people.
fn introduce_cluster(job: &Job, server: &Server) -> Result<()> {
    let Some(topology) = &server.cluster else { return Ok(()) };
    let missing = topology.slots_without_owner();
    if missing > 0 {
        eprintln!("WARNING: {missing} of the slots of the cluster have no owner");
    }
    let from_replicas = |plan: &Plan| {
        plan.target.cluster.as_ref().is_some_and(|c| c.read_from != ReadFrom::Masters)
    };
    let alone = topology.masters_without_replica();
    if alone > 0 && job.plans.first().is_some_and(from_replicas) {
        eprintln!(
            "WARNING: --rfr: {alone} of {} masters have no replica that is ready; they answer \
             reads of their slots themselves",
            topology.masters()
        );
    }
    let masters = &topology.nodes[..topology.masters()];
    let mut text = format!("Cluster has {} master nodes:\n\n", masters.len());
    for (number, node) in masters.iter().enumerate() {
        let node = report::escape(format!("{} {}", node.id, node.name()));
        text += &format!("Master {number}: {node}\n");
    }
    text.push('\n');
    if ["text", "quiet", "classic"].contains(&job.output.format) {
        say(&text)?;
    } else {
        eprint!("{text}");
    }
    Ok(())
}

fn run_all(
    job: &Job,
    rig: &Rig<'_>,
    repeat: bool,
    mut keep: Keep,
    metrics: Option<&Metrics>,
) -> Result<End> {
    let mut printer = Printer::begin(&job.output)?;
    let ended = run_rounds(job, rig, repeat, &mut printer, &mut keep, metrics);
    // Also after an error: what was measured before it is not lost.
    let closed = printer.close();
    let end = ended?;
    closed?;
    Ok(end)
}

fn run_rounds(
    job: &Job,
    rig: &Rig<'_>,
    repeat: bool,
    printer: &mut Printer,
    keep: &mut Keep,
    metrics: Option<&Metrics>,
) -> Result<End> {
    loop {
        let times = job.repeats;
        let all = job.plans.iter().flat_map(|plan| (1..=times).map(move |number| (plan, number)));
        for (at, (plan, number)) in all.enumerate() {
            let count = job.plans.len() * times as usize;
            let mut live = Live::new(plan, at as u32 + 1, count as u32, job.output.live);
            let mut watch = metrics.map(|metrics| metrics.watch(plan));
            let mut run = rig.run(plan, job.start_at, &mut Both(&mut live, watch.as_mut()))?;
            run.repeat = (times > 1).then_some(Repeat { number, of: times });
            live.clear();
            if let Some(watch) = watch {
                watch.ended(&run);
            }
            keep.put(at, &run, at + 1 == count)?;
            printer.each(&run)?;
            match run.measurement.ending {
                Ending::Complete if run.measurement.is_unheard() => return Ok(End::Failed),
                Ending::Complete => {}
                Ending::Interrupted => return Ok(End::Interrupted),
                Ending::Failed(_) => return Ok(End::Failed),
            }
        }
        printer.finish()?;
        if !repeat {
            return Ok(End::Complete);
        }
    }
}

/// Holds idle connections until Ctrl-C.
fn idle(plan: &Plan, rig: &Rig<'_>) -> Result<End> {
    let (server, interrupted) = (&rig.server, rig.interrupted());
    let count = plan.own_connections();
    let hello = "idle connections and waiting forever (Ctrl+C when done)";
    say(&format!("Creating {count} {hello}\n"))?;
    let watched = io::IsTerminal::is_terminal(&io::stdout());
    let mut shown = None;
    let (address, tls) = (&server.address, server.tls.as_ref());
    let held =
        runner::hold_idle(plan, address, tls, host::local_ports(), interrupted, &mut |live| {
            if shown != Some(live) {
                // A pipe gets a line when all are open and whenever one is lost; a terminal, each.
                let settled = live == count || shown.is_some_and(|before| live < before);
                let end = if watched { "\r" } else { "\n" };
                if watched || settled {
                    let _ = say(&format!("clients: {live}{end}"));
                }
                shown = Some(live);
            }
        });
    if watched {
        let _ = say("\n");
    }
    held.map_err(anyhow::Error::msg)?;
    let asked = interrupted.load(Ordering::Relaxed);
    Ok(if asked { End::Interrupted } else { End::Complete })
}

/// The plans of a job as JSON.
pub(crate) fn printed_plans(plans: &[Plan]) -> Result<String> {
    Ok(serde_json::to_string_pretty(plans)? + "\n")
}
