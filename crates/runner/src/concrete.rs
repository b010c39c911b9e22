//! The worker type for a plan, out of those that are compiled: one for each protocol, engine and route. One
//! type serves all engines where a dynamic call costs next to nothing: under TLS, with a connection for each
//! request, on a ring of servers, and for memcached's binary protocol.
//!
//! The only file that names concrete types; a new type joins its match. Code here is compiled once for each
//! combination, so code that depends on none of the three lives elsewhere.

use std::io;
use std::time::Instant;

#[cfg(target_os = "linux")]
use engine::Uring;
use engine::{Engine, Epoll, Tls, TlsContext};
use measure::WorkerUse;
use wire::Protocol;
use wire::memcache::{Binary, Text};
use wire::resp::Resp;
use workload::ProtocolKind;

use crate::Fatal;
use crate::collect::Message;
use crate::delivery::{Receive, Receivers};
use crate::engines::Choice;
use crate::job::ServerSet;
use crate::recorder::Recorder;
use crate::route::cluster::TopologyWatch;
use crate::route::{Cluster, DirectRoute, NewConnections, RingRoute, RouteHooks};
use crate::thread_clocks::ThreadClocks;
use crate::worker::{Worker, WorkerContext};

/// The servers of a run with several, and the watch of a cluster's topology.
pub(crate) type Servers<'w> = (Option<ServerSet<'w>>, Option<&'w TopologyWatch>);

/// Runs one worker on the calling thread; returns its final messages to the collector.
pub(crate) type Work<'r> =
    dyn for<'w> Fn(WorkerContext<'w>, Recorder, Servers<'w>) -> Vec<Message> + Sync + 'r;

/// Creates the receivers for this engine. Their clock begins at `origin`.
pub(crate) fn receiver<'r>(
    choice: Choice,
    tls: Option<&'r TlsContext>,
    origin: Instant,
) -> Box<Receive<'r>> {
    match (tls, choice) {
        #[cfg(target_os = "linux")]
        (None, Choice::Uring) => receive_on(move |room| Uring::new(origin, room)),
        _ => receive_on(move |room| any_engine(choice, tls, origin, room)),
    }
}

fn receive_on<'r, E: Engine>(make: impl Fn(u32) -> io::Result<E> + Sync + 'r) -> Box<Receive<'r>> {
    Box::new(move |context, recorder| match make(context.connections()) {
        Ok(engine) => Receivers::new(engine, context, recorder).receive_all(),
        Err(error) => context.idle(recorder, format!("starting an I/O engine: {error}")),
    })
}

/// Creates the worker for this protocol and engine. Its clock begins at `origin`.
pub(crate) fn worker<'r>(
    protocol: ProtocolKind,
    choice: Choice,
    tls: Option<&'r TlsContext>,
    origin: Instant,
) -> Box<Work<'r>> {
    match protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => over::<Resp>(choice, tls, origin),
        ProtocolKind::MemcacheText | ProtocolKind::MemcacheMeta => {
            over::<Text>(choice, tls, origin)
        }
        ProtocolKind::MemcacheBinary => on_any_engine::<Binary>(choice, tls, origin),
    }
}

fn over<'r, P: Protocol>(
    choice: Choice,
    tls: Option<&'r TlsContext>,
    origin: Instant,
) -> Box<Work<'r>> {
    match (tls, choice) {
        (Some(_), _) => on_any_engine::<P>(choice, tls, origin),
        #[cfg(target_os = "linux")]
        (None, Choice::Uring) => on_engine::<Uring, P>(move |room| Uring::new(origin, room)),
        (None, Choice::Epoll) => on_engine::<Epoll, P>(move |_| Epoll::new(origin)),
    }
}

/// Returns one worker type for all engines, for rare protocols and where encryption or new connections cost
/// far more than dynamic calls.
fn on_any_engine<'r, P: Protocol>(
    choice: Choice,
    tls: Option<&'r TlsContext>,
    origin: Instant,
) -> Box<Work<'r>> {
    on_engine::<Box<dyn Engine>, P>(move |room| any_engine(choice, tls, origin, room))
}

/// Returns the engine, with room for `room` connections.
pub(crate) fn any_engine(
    choice: Choice,
    tls: Option<&TlsContext>,
    origin: Instant,
    room: u32,
) -> io::Result<Box<dyn Engine>> {
    let engine: Box<dyn Engine> = match choice {
        #[cfg(target_os = "linux")]
        Choice::Uring => Box::new(Uring::new(origin, room)?),
        Choice::Epoll => Box::new(Epoll::new(origin)?),
    };
    Ok(match tls {
        Some(tls) => Box::new(Tls::new(engine, tls.clone())),
        None => engine,
    })
}

/// Creates a worker on one engine. `make` gets the number of connections that the engine must have room for.
fn on_engine<'r, E: Engine + 'static, P: Protocol>(
    make: impl Fn(u32) -> io::Result<E> + Sync + 'r,
) -> Box<Work<'r>> {
    Box::new(move |context, recorder, servers| match make(context.connections_max) {
        Ok(engine) => by_route::<E, P>(engine, context, recorder, servers),
        Err(error) => idle(&context, recorder, format!("starting an I/O engine: {error}")),
    })
}

/// Runs one worker with the route that its servers need.
fn by_route<'w, E: Engine + 'static, P: Protocol>(
    engine: E,
    context: WorkerContext<'w>,
    recorder: Recorder,
    (several, watch): Servers<'w>,
) -> Vec<Message> {
    match (several, watch) {
        (Some(ServerSet::Cluster(cluster)), Some(watch)) if P::CLUSTERS => {
            let route = Cluster::new::<P>(&context, &cluster, watch);
            work(Worker::<E, P, _>::new(engine, context, recorder, route))
        }
        (Some(ServerSet::Ring(ring)), _) if P::RINGS => {
            let route = RingRoute::new::<P>(&context, ring);
            work(Worker::<_, P, _>::new(engine.boxed(), context, recorder, route))
        }
        (None | Some(ServerSet::Pool(_)), _) => {
            let pool = match several {
                Some(ServerSet::Pool(addresses)) => addresses,
                _ => &[],
            };
            if context.plan.load.concurrency.per_request.is_some() {
                let route = NewConnections::new(&context, pool);
                return work(Worker::<_, P, _>::new(engine.boxed(), context, recorder, route));
            }
            let route = DirectRoute::new(&context, pool);
            work(Worker::<E, P, _>::new(engine, context, recorder, route))
        }
        (Some(_), _) => {
            let why = "the plan has several servers, of a kind that its protocol has not";
            idle(&context, recorder, why.to_owned())
        }
    }
}

/// Final messages of a worker that never began.
fn idle(context: &WorkerContext<'_>, recorder: Recorder, why: String) -> Vec<Message> {
    context.gate.fail(Fatal::new(why));
    recorder.finish(Vec::new(), WorkerUse::default())
}

/// Runs one worker from start to end and returns its final messages.
pub(crate) fn work<E: Engine, P: Protocol, R: RouteHooks>(
    mut worker: Worker<'_, E, P, R>,
) -> Vec<Message> {
    let gate = worker.context.gate;
    let mut spent = WorkerUse::default();
    match worker.open() {
        Ok(true) => {
            let clocks = ThreadClocks::read();
            if let Err(fatal) = worker.load() {
                worker.broken_off();
                gate.fail(fatal);
            }
            spent = clocks.used_since(worker.spun_ns());
        }
        Ok(false) => {}
        Err(fatal) => gate.fail(fatal),
    }
    let (recorder, nodes) = worker.finish();
    recorder.finish(nodes, spent)
}
