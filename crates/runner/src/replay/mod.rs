//! Whole runs on fake time: one worker, the scripted engine, and a server with known delays. Tests that would
//! take minutes on a real clock, with results that depend on the machine, take an instant here and are exact.

mod clients;
mod cluster;
mod compare;
mod deadline;
mod endings;
mod faults;
mod inserts;
mod live_rate;
mod new_connections;
mod operations;
mod order;
mod outages;
mod pool;
mod renewals;
mod retries;
mod ring;
mod schedules;
mod search;
mod seeds;
pub(crate) mod server;
mod shards;
mod slow_collector;
mod sourced;
mod stopped;
mod time;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::time::SystemTime;

use engine::{Address, Script, ScriptedEngine};
use measure::{Measurement, Tenure};
use wire::cluster::Topology;
use wire::resp::Resp;
use workload::{CommandSpec, Concurrency, Data, KeyDist, KeySpace, Load, PlanParts, Stop};

use crate::LiveRate;
use crate::collect::{Collector, Message, NoObserver};
use crate::concrete::work;
use crate::destination::Destination;
use crate::gate::{Gate, GateOpening};
use crate::measurement::{measurement, tally_shape};
use crate::memory::empty_log;
use crate::messages::AckLog;
use crate::opening::Origins;
use crate::recorder::Recorder;
use crate::route::cluster::{ClusterJob, TopologyWatch};
use crate::route::{Cluster, DirectRoute, NewConnections};
use crate::worker::{Worker, WorkerContext};
use server::{Log, Server, TimedCollector};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

/// Parts of a plan of `SET`s to change.
pub(crate) fn parts(connections: u32, depth: u32, stop: Stop) -> PlanParts {
    let concurrency = Concurrency { connections, pipeline_depth: depth, ..Concurrency::default() };
    PlanParts {
        name: "SET".into(),
        sequence: vec![CommandSpec::parse(["SET", "key:__rand_int__", "v"])],
        load: Load { concurrency, stop, ..Load::default() },
        data: Data { keys: KeySpace::new(Some(1000), KeyDist::UNIFORM), ..Data::default() },
        ..PlanParts::default()
    }
}

/// Runs the plan against the server; returns the measurement and the server's log.
pub(crate) fn replay(parts: PlanParts, server: Server) -> (Measurement, Log) {
    replay_on(parts, server, None)
}

/// Replays a run against a server that plays every node of a cluster, if there is one.
pub(crate) fn replay_on(
    parts: PlanParts,
    server: Server,
    cluster: Option<&Topology>,
) -> (Measurement, Log) {
    let Some(topology) = cluster else {
        return replay_by(parts, server, |engine, context, recorder| {
            if context.plan.load.concurrency.per_request.is_some() {
                let route = NewConnections::new(&context, &[]);
                return work(Worker::<_, Resp, _>::new(engine, context, recorder, route));
            }
            let route = DirectRoute::new(&context, &[]);
            work(Worker::<_, Resp, _>::new(engine, context, recorder, route))
        });
    };
    let watch = TopologyWatch::new(topology);
    let (log, shared) = (Rc::new(RefCell::new(Log::default())), RunHandles::from_server(&server));
    let script = server.logging_to(Rc::clone(&log));
    let measured = replay_cluster(parts, script, &shared, (&watch, topology));
    (measured, log.take())
}

/// Runs the plan against a script that plays the nodes of a cluster.
fn replay_cluster<S: Script>(
    parts: PlanParts,
    script: S,
    shared: &RunHandles,
    (watch, topology): (&TopologyWatch, &Topology),
) -> Measurement {
    let run = |engine: ScriptedEngine<S>, context: WorkerContext<'_>, recorder| {
        let known = |spec: &CommandSpec| wire::cluster::known(&spec.name(), None).unwrap();
        let routings: Vec<_> = context.plan.sequence.iter().map(known).collect();
        let job = ClusterJob { topology, routings: &routings, refresh: &|_| None };
        let route = Cluster::new::<Resp>(&context, &job, watch);
        work(Worker::<_, Resp, _>::new(engine, context, recorder, route))
    };
    replay_script(parts, script, shared, run, || watch.tenures())
}

/// Handles on a script and a run for the test.
#[derive(Default)]
struct RunHandles {
    interrupted: Arc<AtomicBool>,
    rate: Option<Arc<LiveRate>>,
    collects: Option<Rc<RefCell<TimedCollector>>>,
}

impl RunHandles {
    fn from_server(server: &Server) -> Self {
        Self {
            interrupted: Arc::clone(&server.interrupted),
            rate: server.rate.clone(),
            collects: server.collects.clone(),
        }
    }
}

/// Runs the plan by the route that `run` makes a worker for.
fn replay_by(
    parts: PlanParts,
    server: Server,
    run: impl FnOnce(ScriptedEngine<Server>, WorkerContext<'_>, Recorder) -> Vec<Message>,
) -> (Measurement, Log) {
    let (log, shared) = (Rc::new(RefCell::new(Log::default())), RunHandles::from_server(&server));
    let script = server.logging_to(Rc::clone(&log));
    let measured = replay_script(parts, script, &shared, run, Vec::new);
    (measured, log.take())
}

/// Runs the plan against a script. The tenures of servers are read at the end.
fn replay_script<S: Script>(
    parts: PlanParts,
    script: S,
    shared: &RunHandles,
    run: impl FnOnce(ScriptedEngine<S>, WorkerContext<'_>, Recorder) -> Vec<Message>,
    tenures: impl FnOnce() -> Vec<Tenure>,
) -> Measurement {
    let plan = parts.build().unwrap();
    let RunHandles { interrupted, rate, collects } = shared;
    let engine = ScriptedEngine::new(script);
    let shape = tally_shape(&plan);
    // Messages are taken only after the worker has ended, and room for many costs more than a run. A slow
    // collector has room for a few, and takes them when the server says so.
    let room = match (plan.load.stop, collects.is_some()) {
        (_, true) => 4,
        (Stop::Requests(n), false) => (n.saturating_mul(8) as usize + 1_000).min(100_000),
        (Stop::AfterNs(ns), false) => ((ns / MS) as usize + 1_000).min(100_000),
    };
    let (full, taken) = mpsc::sync_channel(room);
    let (late, messages) = mpsc::channel();
    let taken = Rc::new(taken);
    if let Some(collects) = &collects {
        collects.borrow_mut().between = Some((Rc::clone(&taken), late.clone()));
    }
    let (empty, ready) = mpsc::channel();
    let mut collector = Collector::new(shape, vec![empty], "scripted");
    let gate = Gate::new(1, GateOpening::AtOnce, interrupted);
    let budget = plan.budget();
    let warmup = budget.for_warmup();
    let destination = Destination::new(&Address::Unix("/nowhere".into()), false);
    let context = WorkerContext {
        password: None,
        plan: &plan,
        destination: &destination,
        gate: &gate,
        worker: 0,
        workers: 1,
        connections: plan.own_connections(),
        connections_max: plan.own_connections() * 8 + 8,
        first_connection: 0,
        first_sender: 0,
        origins: &Origins::new(&plan, plan.load.concurrency.connections, None),
        stream: budget.stream(0..plan.own_connections()),
        warmup: warmup.stream(0..plan.own_connections()),
        inserts: plan.inserts().map(Arc::new),
        rate: rate.as_deref(),
        messages: None,
        acknowledgements: AckLog::default(),
        sent_times: None,
        source: None,
        // Its time passes only in sleep.
        may_spin: false,
    };
    let mut recorder = Recorder::new(0, shape, plan.different_commands().of.into(), full, ready);
    if let Some(log) = empty_log(&plan, 1) {
        recorder.keep_log(log);
    }
    let last_words = run(engine, context, recorder);
    for message in taken.try_iter().chain(last_words) {
        late.send(message).unwrap();
    }
    if let Some(collects) = collects {
        collects.borrow_mut().between = None;
    }
    drop(late);
    collector.collect(&messages, &mut NoObserver);
    let kept = rate.as_ref().map_or(plan.clone(), |rate| rate.plan());
    measurement(&kept, collector, &gate, SystemTime::UNIX_EPOCH, &tenures())
}
