//! From a plan to running workers and back to one measurement.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

#[cfg(target_os = "linux")]
use engine::Uring;
use engine::{Address, Engine, Epoll, Tls, TlsContext, run_delay_ns, thread_cpu};
use measure::{ByConnection, Ending, Measurement, NodeTally, TallyShape, Usual, WorkerUse};
use wire::memcache::{Binary, Text};
use wire::resp::Resp;
use workload::{Pace, Plan, ProtocolKind, Stop};

use crate::collect::{Collector, Message, Observer};
use crate::destination::{Destination, Resolver};
use crate::engines::{self, Choice};
use crate::gate::{Gate, Opens};
use crate::opening::Origins;
use crate::pinning::pin;
use crate::recorder::Recorder;
use crate::route::cluster::{ClusterJob, StopWatch, TopologyWatch};
use crate::route::ring::RingJob;
use crate::route::{Cluster, Direct, Ring, Route};
use crate::worker::{Worker, WorkerContext};
use crate::{Barrier, Fatal, LiveRate};

/// Intervals that a worker may be ahead of the collector.
const AHEAD_MAX: usize = 4;

/// Nodes that may join a cluster while load runs and get a connection beyond `-c`.
const NODES_TO_COME: u32 = 64;

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
    match job.plan.protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => run_over::<Resp>(job, observer),
        ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => run_over::<Text>(job, observer),
        ProtocolKind::MemcacheBinary => run_over::<Binary>(job, observer),
    }
}

fn run_over<P: wire::Protocol>(
    job: &Job<'_>,
    observer: &mut dyn Observer,
) -> io::Result<Measurement> {
    let origin = Instant::now();
    let (choice, note) = engines::choose(job.plan.engine)?;
    let mut measurement = match choice {
        #[cfg(target_os = "linux")]
        Choice::Uring => {
            let make = |connections| Uring::new(origin, connections);
            run_in::<Uring, P>(job, observer, origin, choice, make)
        }
        Choice::Epoll => run_in::<Epoll, P>(job, observer, origin, choice, |_| Epoll::new(origin)),
    }?;
    measurement.engine = choice.name().to_owned();
    measurement.engine_note = note;
    Ok(measurement)
}

/// In TLS, if that is spoken.
fn run_in<E: Engine, P: wire::Protocol>(
    job: &Job<'_>,
    observer: &mut dyn Observer,
    origin: Instant,
    choice: Choice,
    make_engine: impl Fn(u32) -> io::Result<E> + Sync,
) -> io::Result<Measurement> {
    match job.tls {
        None => run_with::<E, P>(job, observer, origin, choice, make_engine),
        Some(tls) => run_with::<Tls<E>, P>(job, observer, origin, choice, |connections| {
            Ok(Tls::new(make_engine(connections)?, tls.clone()))
        }),
    }
}

/// `make_engine` is called on the thread that uses the engine, with how many connections it gets.
fn run_with<E: Engine, P: wire::Protocol>(
    job: &Job<'_>,
    observer: &mut dyn Observer,
    origin: Instant,
    choice: Choice,
    make_engine: impl Fn(u32) -> io::Result<E> + Sync,
) -> io::Result<Measurement> {
    let plan = job.plan;
    if let Some(rate) = job.rate {
        rate.counts_from(origin);
    }
    // A worker without a connection would have nothing to do.
    let connections = plan.own_connections();
    let workers = u32::from(plan.fleet.workers).min(connections) as u16;
    let shape = tally_shape(plan);
    let tallies: Arc<[u32]> = plan.different_commands().of.into();
    let (full, messages) = mpsc::sync_channel(AHEAD_MAX * usize::from(workers));
    let (empties, recorders): (Vec<_>, Vec<_>) = (0..workers)
        .map(|worker| {
            let (empty, ready) = mpsc::channel();
            prepare(&empty, &shape);
            let tallies = Arc::clone(&tallies);
            let mut recorder = Recorder::new(worker, shape, tallies, full.clone(), ready);
            if plan.by_connection {
                let own = share(connections, worker, workers) as usize;
                let by_command = plan.operations().is_some();
                recorder.keep_connections(ByConnection::new(own, shape.commands, by_command));
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
    let room = match job.several {
        None | Some(Several::Pool(_)) => 0,
        Some(Several::Cluster(cluster)) => cluster.topology.nodes.len() as u32 + NODES_TO_COME,
        Some(Several::Ring(ring)) => ring.servers.len() as u32,
    };
    let destination = Destination::new(job.address, job.resolver.is_some());
    thread::scope(|scope| -> io::Result<()> {
        if let Some(resolver) = job.resolver {
            let follow = || destination.follow(resolver);
            thread::Builder::new().name("resolver".to_owned()).spawn_scoped(scope, follow)?;
        }
        let _stop = watch.as_ref().map(StopWatch);
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
                connections_max: own + room,
                first_connection: first,
                origins: &origins,
                stream: budget.stream(first..first + own),
                warmup: warmup.stream(first..first + own),
                inserts: inserts.clone(),
                rate: job.rate,
                may_spin,
            };
            let (full, make_engine) = (full.clone(), &make_engine);
            let (several, watch) = (job.several, watch.as_ref());
            let started = thread::Builder::new().name(format!("worker-{worker}")).spawn_scoped(
                scope,
                move || {
                    if let Err(error) = pin(&plan.fleet.cpus, worker) {
                        context.gate.fail(Fatal(error));
                    }
                    let messages = match make_engine(context.connections_max) {
                        Ok(engine) => {
                            let servers = (several, watch);
                            work_with::<E, P>(engine, context, recorder, servers)
                        }
                        Err(error) => {
                            idle(&context, recorder, format!("starting an I/O engine: {error}"))
                        }
                    };
                    // Nobody listens any more only if the collector is gone, and the run with it.
                    for message in messages {
                        let _ = full.send(message);
                    }
                },
            );
            if let Err(error) = started {
                gate.fail(Fatal(format!("starting a thread: {error}")));
                destination.end();
                return Err(error);
            }
        }
        drop(full);
        collector.collect(&messages, observer);
        destination.end();
        Ok(())
    })?;
    let kept = job.rate.map(LiveRate::plan);
    let mut measurement = measurement(kept.as_ref().unwrap_or(plan), collector, &gate, origin);
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

/// Runs one worker by the route that there is to its servers.
fn work_with<'r, E: Engine, P: wire::Protocol>(
    engine: E,
    context: WorkerContext<'r>,
    recorder: Recorder,
    (several, watch): (Option<Several<'r>>, Option<&'r TopologyWatch>),
) -> [Message; 2] {
    match (several, watch) {
        (Some(Several::Cluster(cluster)), Some(watch)) if P::CLUSTERS => {
            let route = Cluster::new::<P>(&context, &cluster, watch);
            work(Worker::<E, P, _>::new(engine, context, recorder, route))
        }
        (Some(Several::Ring(ring)), _) if P::RINGS => {
            let route = Ring::new::<P>(&context, ring);
            work(Worker::<E, P, _>::new(engine, context, recorder, route))
        }
        (None | Some(Several::Pool(_)), _) => {
            let pool = match several {
                Some(Several::Pool(addresses)) => addresses,
                _ => &[],
            };
            let route = Direct::new(&context, pool);
            work(Worker::<E, P, _>::new(engine, context, recorder, route))
        }
        (Some(_), _) => {
            let why = "the plan has several servers, of a kind that its protocol has not";
            idle(&context, recorder, why.to_owned())
        }
    }
}

/// The last words of a worker that never began.
fn idle(context: &WorkerContext<'_>, recorder: Recorder, why: String) -> [Message; 2] {
    context.gate.fail(Fatal(why));
    last_words(context.worker, (recorder, Vec::new()), WorkerUse::default())
}

fn last_words(
    worker: u16,
    (recorder, nodes): (Recorder, Vec<NodeTally>),
    spent: WorkerUse,
) -> [Message; 2] {
    let (last, finished) = recorder.finish();
    [last, Message::Done { worker, spent, finished, nodes }]
}

/// Runs one worker from end to end and returns its last words.
pub(crate) fn work<E: Engine, P: wire::Protocol, R: Route>(
    mut worker: Worker<'_, E, P, R>,
) -> [Message; 2] {
    let (gate, number) = (worker.context.gate, worker.context.worker);
    let mut spent = WorkerUse::default();
    match worker.open() {
        Ok(true) => {
            let (cpu, waited, wall) = (thread_cpu(), run_delay_ns(), Instant::now());
            if let Err(fatal) = worker.load() {
                gate.fail(fatal);
            }
            let cpu_ns = (thread_cpu() - cpu).as_nanos() as u64;
            spent.cpu_ns = cpu_ns.saturating_sub(worker.spun_ns());
            spent.wall_ns = wall.elapsed().as_nanos() as u64;
            spent.wait_ns = run_delay_ns().zip(waited).map(|(now, then)| now.saturating_sub(then));
        }
        Ok(false) => {}
        Err(fatal) => gate.fail(fatal),
    }
    last_words(number, worker.finish(), spent)
}

/// A tally to exchange the first full one for, made before load runs.
fn prepare(empty: &Sender<measure::Tally>, shape: &TallyShape) {
    let _ = empty.send(measure::Tally::new(shape));
}

/// Which histograms a tally of this plan keeps.
#[must_use]
pub fn tally_shape(plan: &Plan) -> TallyShape {
    TallyShape {
        commands: plan.different_commands().commands.len(),
        precision: plan.precision,
        scheduled: matches!(plan.pace, Pace::Open(_)),
        first_byte: plan.first_byte,
        operations: if plan.counts_operations() { plan.operation_names().count() } else { 0 },
        apart: plan.apart,
    }
}

/// Worker `worker`'s share of `total`; the shares of all sum to it and differ by one at most.
fn share(total: u32, worker: u16, workers: u16) -> u32 {
    let (worker, workers) = (u32::from(worker), u32::from(workers));
    total / workers + u32::from(worker < total % workers)
}

pub(crate) fn measurement(
    plan: &Plan,
    collector: Collector,
    gate: &Gate<'_>,
    origin: Instant,
) -> Measurement {
    let Collector { mut total, mut timeline, workers, span, successes, delayed, nodes, .. } =
        collector;
    let by_connection = collector.by_connection.into_iter().flatten().collect();
    timeline.settle();
    if let (Some(lateness), Some(planned)) = (&mut total.lateness, plan.own_requests()) {
        // The schedule goes on; what is due does not, once all requests are taken.
        lateness.due = lateness.due.min(planned);
    }
    let (from_ns, to_ns) = span.unwrap_or_default();
    let ending = match gate.failure() {
        Some(fatal) => Ending::Failed(fatal.0),
        None if gate.interrupted() => Ending::Interrupted,
        None => Ending::Complete,
    };
    let planned_ns = match plan.stop {
        Stop::AfterNs(ns) if ending == Ending::Complete => ns,
        _ => 0,
    };
    let now = SystemTime::now();
    let since_start = origin.elapsed().saturating_sub(Duration::from_nanos(from_ns));
    let elapsed_ns = (to_ns - from_ns).max(planned_ns);
    let service_ns = total.service().quantile_ns(0.5).unwrap_or_default();
    let usual = Usual { due_every_ns: plan.due_every_ns(), service_ns };
    let mut outages = successes.outages(elapsed_ns, &usual);
    // A schedule may pause, and nothing can succeed while nothing is due.
    outages.retain(|o| o.failures.total() > 0 || plan.is_due_within(o.from_ns, o.to_ns));
    Measurement {
        outages,
        delayed,
        total,
        timeline,
        started_at: now.checked_sub(since_start).unwrap_or(now),
        elapsed_ns,
        workers,
        engine: String::new(),
        engine_note: None,
        nodes,
        by_connection,
        ending,
    }
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
