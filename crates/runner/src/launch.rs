//! From a plan to running workers and back to one measurement.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use engine::{Address, TlsContext};
use measure::{ByConnection, Measurement, TallyShape};
use workload::Plan;

use crate::collect::{Collector, Observer};
use crate::concrete;
use crate::destination::{Destination, EndOfFollowing, Resolver};
use crate::engines::{self, Choice};
use crate::gate::{Gate, Opens};
use crate::measurement::{measurement, tally_shape};
use crate::memory::{empty_log, seconds_by_connection};
use crate::opening::Origins;
use crate::pinning::pin;
use crate::recorder::Recorder;
use crate::route::cluster::{ClusterJob, StopWatch, TopologyWatch};
use crate::route::ring::RingJob;
use crate::worker::WorkerContext;
use crate::{Barrier, Fatal, LiveRate};

/// Intervals that a worker may be ahead of the collector.
const AHEAD_MAX: usize = 4;

/// Nodes that may join a cluster while load runs and get a connection beyond `-c`.
const NODES_TO_COME: u32 = 64;

/// The same where each of `-c` clients has a connection to every node.
const NODES_TO_COME_PER_CLIENT: u32 = 4;

/// What to run and against what.
#[derive(Clone)]
pub struct Job<'r> {
    /// The plan.
    pub plan: &'r Plan,
    /// Its target, resolved.
    pub address: &'r Address,
    /// Who knows where it is when that changes.
    pub resolver: Option<&'r dyn Resolver>,
    /// TLS on every connection, if it is spoken there: made from the plan's options.
    pub tls: Option<&'r TlsContext>,
    /// The ports that this machine connects from, where that is known.
    pub local_ports: Option<RangeInclusive<u16>>,
    /// When to start.
    pub start: Start<'r>,
    /// The servers, where they are several.
    pub several: Option<Several<'r>>,
    /// Its rate, where that may change on the way.
    pub rate: Option<&'r LiveRate>,
    /// Set by somebody who wants the run to end early.
    pub interrupted: &'r AtomicBool,
}

/// Several servers.
#[derive(Debug, Clone, Copy)]
pub enum Several<'r> {
    /// The nodes of a Redis Cluster, and what is known of it.
    Cluster(ClusterJob<'r>),
    /// Servers that know nothing of each other, of which each has some of the keys.
    Ring(RingJob<'r>),
    /// Servers that are interchangeable, at these addresses.
    Pool(&'r [Address]),
}

/// When load starts.
#[derive(Clone, Copy)]
pub enum Start<'r> {
    /// As soon as all connections are open.
    Ready,
    /// At an instant that was agreed on: a run that is not ready by then fails.
    At(SystemTime),
    /// When it is released.
    Released(&'r Barrier),
}

/// Carries out a plan. Blocks until it has ended; `observer` is told of each interval.
///
/// A run that the server ends, by an error or by going away, is not an error here: what was
/// measured until then comes back, and [`Measurement::ending`] says why.
///
/// # Errors
/// The machine has no threads or file descriptors left.
pub fn run(job: &Job<'_>, observer: &mut dyn Observer) -> io::Result<Measurement> {
    if let Some(what) = job.plan.lacking() {
        let lacking = format!("the plan was loaded from a file, which does not hold {what}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, lacking));
    }
    // Nothing but a front end checks what was loaded.
    let checked = wire::check(job.plan);
    checked.map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
    let origin = Instant::now();
    let (choice, note) = engines::choose(job.plan.engine)?;
    let mut measurement = carry_out(job, observer, origin, choice)?;
    measurement.engine = choice.name().to_owned();
    measurement.engine_note = note;
    Ok(measurement)
}

fn carry_out(
    job: &Job<'_>,
    observer: &mut dyn Observer,
    origin: Instant,
    choice: Choice,
) -> io::Result<Measurement> {
    let work = &*concrete::worker(job.plan.protocol, choice, job.tls, origin);
    let plan = job.plan;
    if let Some(rate) = job.rate {
        rate.counts_from(origin);
    }
    // A worker without a connection would have nothing to do.
    let connections = plan.own_connections();
    let workers = u32::from(plan.load.concurrency.workers).min(connections) as u16;
    let shape = tally_shape(plan);
    let tallies: Arc<[u32]> = plan.different_commands().of.into();
    let (full, messages) = mpsc::sync_channel(AHEAD_MAX * usize::from(workers));
    let (empties, recorders): (Vec<_>, Vec<_>) = (0..workers)
        .map(|worker| {
            let (empty, ready) = mpsc::channel();
            prepare(&empty, &shape);
            let tallies = Arc::clone(&tallies);
            let mut recorder = Recorder::new(worker, shape, tallies, full.clone(), ready);
            if plan.peer.by_connection {
                let own = share(connections, worker, workers) as usize;
                let by_command = plan.operations().is_some();
                let seconds = seconds_by_connection(plan);
                let by = ByConnection::new(own, shape.commands, by_command, seconds);
                recorder.keep_connections(by);
            }
            if let Some(log) = empty_log(plan, workers) {
                recorder.keep_log(log);
            }
            (empty, recorder)
        })
        .unzip();
    let mut collector = Collector::new(shape, empties, choice.name());
    let opens = match job.start {
        Start::Ready => Opens::AtOnce,
        Start::At(instant) => Opens::At(on_clock(instant, origin)),
        Start::Released(barrier) => Opens::Released(barrier, origin),
    };
    let gate = Gate::new(workers, opens, job.interrupted);
    let budget = plan.budget();
    let warmup = budget.for_warmup();
    let inserts = plan.inserts().map(Arc::new);
    let origins = Origins::new(&plan.target, connections, job.local_ports.clone());
    let cluster = match job.several {
        Some(Several::Cluster(cluster)) => Some(cluster),
        _ => None,
    };
    let watch = cluster.map(|cluster| TopologyWatch::new(cluster.topology));
    // A worker has a connection to each of several servers at least, and on a cluster room for nodes to
    // come.
    // Where connections are clients, each has one to every node, and some to nodes to come.
    let per_client = match job.several {
        Some(Several::Cluster(cluster)) if plan.target.has_clients() => {
            cluster.topology.nodes.len() as u32 + NODES_TO_COME_PER_CLIENT
        }
        _ => 1,
    };
    let room = match job.several {
        None | Some(Several::Pool(_)) => 0,
        Some(Several::Cluster(cluster)) => cluster.topology.nodes.len() as u32 + NODES_TO_COME,
        Some(Several::Ring(ring)) => ring.servers.len() as u32,
    };
    let destination = Destination::new(job.address, job.resolver.is_some());
    thread::scope(|scope| -> io::Result<()> {
        // However this ends: the scope waits for every thread that began.
        let _end = EndOfFollowing(&destination);
        let _stop = watch.as_ref().map(StopWatch);
        if let Some(resolver) = job.resolver {
            let follow = || destination.follow(resolver);
            thread::Builder::new().name("resolver".to_owned()).spawn_scoped(scope, follow)?;
        }
        if let (Some(cluster), Some(watch)) = (cluster, &watch) {
            let look = move || watch.run(cluster.refresh);
            thread::Builder::new().name("cluster-watch".to_owned()).spawn_scoped(scope, look)?;
        }
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let may_spin = cpus > usize::from(workers);
        for (worker, recorder) in (0..).zip(recorders) {
            let own = share(connections, worker, workers);
            let first = (0..worker).map(|before| share(connections, before, workers)).sum();
            let context = WorkerContext {
                plan,
                destination: &destination,
                gate: &gate,
                worker,
                workers,
                connections: own,
                connections_max: own * per_client + room,
                first_connection: first,
                origins: &origins,
                stream: budget.stream(first..first + own),
                warmup: warmup.stream(first..first + own),
                inserts: inserts.clone(),
                rate: job.rate,
                may_spin,
            };
            let full = full.clone();
            let servers = (job.several, watch.as_ref());
            let started = thread::Builder::new().name(format!("worker-{worker}")).spawn_scoped(
                scope,
                move || {
                    if let Err(error) = pin(&plan.load.concurrency.cpus, worker) {
                        context.gate.fail(Fatal(error));
                    }
                    let messages = work(context, recorder, servers);
                    // Nobody listens any more only if the collector is gone, and the run with it.
                    for message in messages {
                        let _ = full.send(message);
                    }
                },
            );
            if let Err(error) = started {
                gate.fail(Fatal(format!("starting a thread: {error}")));
                return Err(error);
            }
        }
        drop(full);
        collector.collect(&messages, observer);
        Ok(())
    })?;
    let kept = job.rate.map(LiveRate::plan);
    let tenures = watch.as_ref().map(TopologyWatch::tenures).unwrap_or_default();
    let kept = kept.as_ref().unwrap_or(plan);
    let mut measurement = measurement(kept, collector, &gate, origin, &tenures);
    if let Some(watch) = watch {
        let index = |name: &String| measurement.nodes.iter().position(|node| node.name == *name);
        for outage in &mut measurement.outages {
            outage.node = watch.name(outage.node).as_ref().and_then(index).unwrap_or(0) as u16;
        }
    }
    Ok(measurement)
}

/// An instant of the wall clock on the clock of the engines, which began at `origin`; below 0 of one
/// before that.
fn on_clock(instant: SystemTime, origin: Instant) -> i64 {
    let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    let (now, now_ns) = (SystemTime::now(), ns(origin.elapsed()));
    match instant.duration_since(now) {
        Ok(ahead) => now_ns.saturating_add(ns(ahead)),
        Err(behind) => now_ns.saturating_sub(ns(behind.duration())),
    }
}

/// A tally to exchange the first full one for, made before load runs.
fn prepare(empty: &Sender<measure::Tally>, shape: &TallyShape) {
    let _ = empty.send(measure::Tally::new(shape));
}

/// Worker `worker`'s share of `total`; the shares of all sum to it and differ by one at most.
fn share(total: u32, worker: u16, workers: u16) -> u32 {
    let (worker, workers) = (u32::from(worker), u32::from(workers));
    total / workers + u32::from(worker < total % workers)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn the_shares_sum_to_the_whole() {
        for total in [1, 2, 7, 50, 1000] {
            for workers in 1..=7 {
                let sum: u32 = (0..workers).map(|w| share(total, w, workers)).sum();
                assert_eq!(sum, total);
            }
        }
    }
}
