//! The load of a spec: one client as any run, several behind a barrier, each with figures of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use host::WatchRecord;
use measure::Measurement;
use report::{Run, WarningKind};
use runner::{Barrier, NoObserver, Start};
use workload::Target;

use super::roles::Role;
use crate::experiment::progress::Progress;
use crate::test_bed::TestBed;

/// From when all connections of all clients stand to the start.
const LEAD: Duration = Duration::from_millis(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Carries out the load of all clients at the same time: the run of each, in their order.
///
/// # Errors
/// One of them could not be started.
pub(super) fn measure(
    bed: &TestBed<'_>,
    target: &Target,
    roles: &[Role],
    progress: &mut Progress,
) -> Result<Vec<Run>> {
    if let [role] = roles {
        let mut run = bed.run(&role.plan, None, progress)?.failed_if_refused();
        // How large the values are that a spec reads is for the spec to say.
        run.warnings.retain(|warning| warning.kind != WarningKind::ValueSize);
        return Ok(vec![run]);
    }
    for role in roles {
        bed.prepare(&role.plan)?;
    }
    let connections = roles.iter().map(|role| role.plan.own_connections()).sum();
    bed.allow_connections(connections)?;
    let barrier = common(roles.len() as u32);
    let watch = bed.server.watch(target, false);
    let begun = watch.begin();
    let measured = thread::scope(|scope| {
        let started: Vec<_> = roles
            .iter()
            .map(|role| {
                let (plan, barrier) = (&role.plan, &barrier);
                let load = move || {
                    bed.load(
                        plan,
                        Start::Released(barrier),
                        None,
                        bed.interrupted(),
                        &mut NoObserver,
                    )
                };
                thread::Builder::new().name("client".to_owned()).spawn_scoped(scope, load)
            })
            .collect();
        // One that failed before it was ready keeps nobody else waiting.
        let ended =
            |thread: &std::io::Result<thread::ScopedJoinHandle<'_, Result<Measurement>>>| {
                thread.as_ref().map_or(true, thread::ScopedJoinHandle::is_finished)
            };
        while !started.iter().all(ended) {
            if started.iter().any(ended) || bed.interrupted().load(Ordering::Relaxed) {
                barrier.release(Instant::now());
            }
            thread::sleep(LOOK_EVERY);
        }
        let joined = started.into_iter().map(|thread| {
            let thread = thread.context("starting a thread for a client")?;
            thread.join().map_err(|_| anyhow!("a client panicked")).and_then(|measured| measured)
        });
        joined.collect::<Result<Vec<Measurement>>>()
    })?;
    let watched = watch.end(begun);
    let runs = roles.iter().zip(measured).enumerate();
    Ok(runs
        .map(|(at, (role, measured))| {
            let run = bed.run_of(role.plan.clone(), measured, of_client(&watched, roles, at));
            Run { warnings: bed.filled.evicted().into_iter().collect(), ..run }.failed_if_refused()
        })
        .collect())
}

/// Returns what was watched, without the commands that the spec's other clients send: they are no strangers.
fn of_client(watched: &WatchRecord, roles: &[Role], at: usize) -> WatchRecord {
    let sends = |role: &Role, name: &str| {
        role.plan.sequence.iter().any(|command| command.name().eq_ignore_ascii_case(name))
    };
    let mut watched = watched.clone();
    for server in &mut watched.servers {
        server.by_command.retain(|command| {
            let name = command.name.split('|').next().unwrap_or_default();
            !roles.iter().enumerate().any(|(other, role)| other != at && sends(role, name))
        });
    }
    watched
}

/// A barrier that opens when so many clients are ready.
fn common(clients: u32) -> Arc<Barrier> {
    Arc::new_cyclic(|own: &Weak<Barrier>| {
        let (own, arrived) = (Weak::clone(own), AtomicU32::new(0));
        Barrier::new(move || {
            if arrived.fetch_add(1, Ordering::AcqRel) + 1 == clients
                && let Some(barrier) = own.upgrade()
            {
                barrier.release(Instant::now() + LEAD);
            }
        })
    })
}
