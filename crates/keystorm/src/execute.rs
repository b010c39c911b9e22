//! Carrying out a job: each of its plans in turn, its results printed as soon as they are there.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow};
use measure::Ending;
use report::{Format, Run, Summary};
use workload::Plan;

use crate::front::{Action, Job};
use crate::live::Live;
use crate::server::Server;
use crate::signals;

/// Files open beside the connections: standard streams, pollers, timers, libraries.
const OTHER_FILES: u64 = 32;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Interrupted,
    Failed,
}

/// Prints text that was asked for.
pub(crate) fn say(text: &str) -> Result<End> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))?;
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
    let interrupted = signals::interrupted().context("asking to be told of Ctrl-C")?;
    let connections = first.own_connections();
    host::allow_open_files(u64::from(connections), OTHER_FILES)?;
    let server = Server::reach(&first.target, connections)?;
    tell_about(&server, first);
    match job.action {
        Action::Idle => idle(first, &server, &interrupted),
        Action::Run { repeat } => run_all(job, &server, &interrupted, repeat),
    }
}

/// Says on standard error what a person should know before the figures come.
fn tell_about(server: &Server, plan: &Plan) {
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
        && let Some(shortage) = host::port_shortage(address, connections)
    {
        eprintln!("WARNING: {shortage}");
    }
}

fn run_all(job: &Job, server: &Server, interrupted: &AtomicBool, repeat: bool) -> Result<End> {
    let mut format = job.output.format();
    let mut out = io::stdout();
    written(format.begin(&mut out))?;
    loop {
        for (index, plan) in (1..).zip(&job.plans) {
            let live = job.output.live;
            let live = Live::new(plan, index, job.plans.len() as u32, live);
            match run_one(job, plan, server, interrupted, format.as_mut(), live)? {
                End::Complete => {}
                end => return Ok(end),
            }
        }
        written(format.finish(job.suite, &mut out).and_then(|()| out.flush()))?;
        if !repeat {
            return Ok(End::Complete);
        }
    }
}

fn run_one(
    job: &Job,
    plan: &Plan,
    server: &Server,
    interrupted: &AtomicBool,
    format: &mut dyn Format,
    mut live: Live<'_>,
) -> Result<End> {
    server.prepare(&plan.target, &plan.setup)?;
    let load = runner::Job {
        plan,
        address: &server.address,
        tls: server.tls.as_ref(),
        local_ports: host::local_ports(),
        start_at: job.start_at,
        interrupted,
    };
    let measurement = runner::run(&load, &mut live)
        .with_context(|| format!("starting the test {}", plan.name))?;
    live.clear();
    let verdict = report::Verdict::unknown("this version does not look");
    let server = server.facts.clone();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let run = Run { plan: plan.clone(), measurement, server, version, verdict, warnings: vec![] };
    let summary = Summary::of(&run);
    let mut out = io::stdout();
    if summary.requests > summary.errors || run.measurement.ending == Ending::Complete {
        written(format.each(&summary, &mut out).and_then(|()| out.flush()))?;
    }
    if job.output.format == "csv" && summary.errors > 0 {
        // The layout has no column for them.
        let kinds = summary.error_counts().by_kind().iter().map(|(kind, n)| format!("{kind} {n}"));
        let kinds = report::escape(kinds.collect::<Vec<_>>().join(", "));
        eprintln!("{}: {} errors ({kinds})", summary.title, summary.errors);
    }
    if let Some(shortfall) = summary.shortfall() {
        eprintln!("{}: {shortfall}", summary.title);
    }
    Ok(match run.measurement.ending {
        Ending::Complete => End::Complete,
        Ending::Interrupted => End::Interrupted,
        Ending::Failed(_) => End::Failed,
    })
}

/// Holds idle connections until Ctrl-C.
fn idle(plan: &Plan, server: &Server, interrupted: &AtomicBool) -> Result<End> {
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

fn written(outcome: io::Result<()>) -> Result<()> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => {
            anyhow!("standard output was closed; what was left to do is not done")
        }
        _ => anyhow!("writing to standard output: {error}; what was left to do is not done"),
    })
}
