//! Carrying out a job: each of its plans in turn, its results printed as soon as they are there.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use host::HostFacts;
use measure::Ending;
use report::Run;
use workload::Plan;

use crate::front::{Action, Job};
use crate::keep::Keep;
use crate::live::Live;
use crate::print::{self, Printer};
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
    let interrupted = signals::interrupted().context("asking to be told of Ctrl-C")?;
    let connections = first.own_connections();
    host::allow_open_files(u64::from(connections), OTHER_FILES)?;
    let server = Server::reach(&first.target, connections)?;
    tell_about(&server, first);
    match job.action {
        Action::Idle => idle(first, &server, &interrupted),
        Action::Run { repeat } => run_all(job, &server, &interrupted, repeat, keep),
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
    let connections = u64::from(plan.own_connections());
    if let host::Address::Tcp(address) = server.address
        && let Some(shortage) = host::port_shortage(address, connections)
    {
        eprintln!("WARNING: {shortage}");
    }
}

fn run_all(
    job: &Job,
    server: &Server,
    interrupted: &AtomicBool,
    repeat: bool,
    mut keep: Keep,
) -> Result<End> {
    let mut printer = Printer::begin(&job.output)?;
    let ended = run_rounds(job, server, interrupted, repeat, &mut printer, &mut keep);
    // Also after an error: what was measured before it is not lost.
    let closed = printer.close();
    let end = ended?;
    closed?;
    Ok(end)
}

fn run_rounds(
    job: &Job,
    server: &Server,
    interrupted: &AtomicBool,
    repeat: bool,
    printer: &mut Printer,
    keep: &mut Keep,
) -> Result<End> {
    let machine = HostFacts::read();
    loop {
        for (at, plan) in job.plans.iter().enumerate() {
            let count = job.plans.len();
            let live = Live::new(plan, at as u32 + 1, count as u32, job.output.live);
            let mut run = run_one(job, plan, server, interrupted, live)?;
            run.host = Some(machine.clone());
            keep.put(at, &run, at + 1 == count)?;
            printer.each(&run)?;
            match run.measurement.ending {
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

fn run_one(
    job: &Job,
    plan: &Plan,
    server: &Server,
    interrupted: &AtomicBool,
    mut live: Live<'_>,
) -> Result<Run> {
    server.prepare(&plan.target, &plan.setup)?;
    let load = runner::Job {
        plan,
        address: &server.address_now(),
        resolver: server.resolver().filter(|_| plan.reconnect),
        local_ports: host::local_ports(),
        start_at: job.start_at,
        interrupted,
    };
    let measurement = runner::run(&load, &mut live)
        .with_context(|| format!("starting the test {}", plan.name))?;
    live.clear();
    Ok(Run {
        plan: plan.clone(),
        measurement,
        host: None,
        other_hosts: Vec::new(),
        server: server.facts.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        verdict: report::Verdict::unknown("this version does not look"),
        warnings: Vec::new(),
    })
}

/// Holds idle connections until Ctrl-C.
fn idle(plan: &Plan, server: &Server, interrupted: &AtomicBool) -> Result<End> {
    let count = plan.own_connections();
    let hello = "idle connections and waiting forever (Ctrl+C when done)";
    say(&format!("Creating {count} {hello}\n"))?;
    let watched = io::IsTerminal::is_terminal(&io::stdout());
    let mut shown = None;
    let held =
        runner::hold_idle(plan, &server.address, host::local_ports(), interrupted, &mut |live| {
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
