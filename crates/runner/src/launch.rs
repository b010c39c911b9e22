//! Execution of a plan: starts the workers and returns one measurement.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::thread::{self, Scope};
use std::time::{Instant, SystemTime};

use engine::KernelStamps;
use measure::{ByConnection, Measurement, Tally};
use workload::Plan;

use crate::collect::{Collector, Message, Observer};
use crate::concrete;
use crate::delivery::{ReceiversWatch, Roles};
use crate::destination::{Destination, FollowGuard};
use crate::engines::{self, Choice};
use crate::gate::Gate;
use crate::job::{RunJob, ServerSet};
use crate::ledger::Ledger;
use crate::measurement::{measurement, tally_shape};
use crate::memory::{empty_log, seconds_by_connection};
use crate::opening::Origins;
use crate::pinning::pin;
use crate::recorder::Recorder;
use crate::route::cluster::{ClusterJob, StopWatch, TopologyWatch};
use crate::source::blocks::WorkerSource;
use crate::source::feed::Feed;
use crate::worker::WorkerContext;
use crate::{Fatal, LiveRate};

/// Intervals that a worker may be ahead of the collector.
const AHEAD_MAX: usize = 4;

/// Connections beyond `-c` for nodes that join a cluster while load runs.
const NODES_TO_COME: u32 = 64;

/// Connections per client for nodes that join, where each of `-c` clients has a connection to every node.
const NODES_TO_COME_PER_CLIENT: u32 = 4;

/// Runs a plan to its end and calls `observer` for each interval.
///
/// If the server ends the run, by an error or by closing, the measurement until then is returned, and
/// [`Measurement::ending`] has the reason.
///
/// # Errors
/// Returns an error if the machine has no threads or file descriptors left.
pub fn run(job: &RunJob<'_>, observer: &mut dyn Observer) -> io::Result<Measurement> {
    if let Some(what) = job.plan.lacking() {
        let lacking = format!("the plan was loaded from a file, which does not hold {what}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, lacking));
    }
    if job.plan.has_source() != job.source.is_some() {
        return Err(invalid("a plan without requests of its own is run with their source"));
    }
    // Nothing but a front end checks what was loaded.
    let checked = wire::check(job.plan);
    checked.map_err(|why| invalid(why.to_string()))?;
    let shared = job.plan.own_messages().map_err(|why| invalid(why.to_string()))?;
    let own = shared.as_ref().map(|plan| RunJob { plan, ..job.clone() });
    let job = own.as_ref().unwrap_or(job);
    // Before connections are opened, and as long as they are.
    let _stamps = job.plan.recording.kernel_stamps.then(KernelStamps::begin);
    let (origin, wall) = (Instant::now(), SystemTime::now());
    let (choice, note) = engines::choose(job.plan.engine)?;
    job.rate.iter().for_each(|rate| rate.counts_from(origin));
    let ledger = job.plan.recording.ledger.then(|| Ledger::new(job.plan));
    let mut measurement = carry_out(job, observer, origin, wall, choice, ledger.as_ref())?;
    measurement.lanes = ledger.map(|ledger| ledger.lanes()).unwrap_or_default();
    measurement.engine = choice.name().to_owned();
    measurement.engine_note = note;
    Ok(measurement)
}

/// Returns the error for an invalid plan.
fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn carry_out(
    job: &RunJob<'_>,
    observer: &mut dyn Observer,
    origin: Instant,
    wall: SystemTime,
    choice: Choice,
    ledger: Option<&Ledger>,
) -> io::Result<Measurement> {
    let work = &*concrete::worker(job.plan.protocol, choice, job.tls, origin);
    let plan = &*job.plan.of_senders().map_err(invalid)?;
    let connections = Connections::new(job);
    let workers = connections.workers;
    let (full, messages) = mpsc::sync_channel(AHEAD_MAX * usize::from(workers));
    let (empties, recorders) = recorders(plan, &connections, &full);
    let mut sending = Collector::new(tally_shape(plan), empties, choice.name());
    let gate =
        Gate::new(workers + plan.receiver_threads(), job.start.opens(origin), job.interrupted);
    let (destination, watch) = job.whereabouts();
    let senders = connections.senders(plan);
    let roles = Roles::new(job, &destination, watch.as_ref(), senders, &gate, choice.name());
    let receive = &*concrete::receiver(choice, job.tls, origin);
    let (budget, inserts) = (plan.budget(), plan.inserts().map(Arc::new));
    let warmup = budget.for_warmup();
    let origins = Origins::new(plan, connections.total, job.local_ports.clone());
    let receiving = thread::scope(|scope| -> io::Result<Option<Collector>> {
        // However this ends: the scope waits for every thread that began.
        let _ends = (watch.as_ref().map(StopWatch), FollowGuard(&destination));
        follow(scope, job, &destination, watch.as_ref())?;
        let mut sources = read_ahead(scope, job, &connections, &gate)?;
        for (worker, recorder) in (0..).zip(recorders) {
            let own = connections.range(worker);
            let context = WorkerContext {
                plan,
                destination: &destination,
                gate: &gate,
                worker,
                workers,
                connections: own.len() as u32,
                connections_max: connections.most_of(worker),
                first_connection: own.start,
                first_sender: connections.first_sender(plan, worker),
                origins: &origins,
                stream: budget.stream(own.clone()),
                warmup: warmup.stream(own),
                inserts: inserts.clone(),
                rate: job.rate,
                password: job.password,
                messages: roles.as_ref().map(|roles| (roles.run, plan.message_numbers())),
                acknowledgements: Roles::ack_log(roles.as_ref(), ledger),
                sent_times: roles.as_ref().and_then(Roles::sent_times),
                source: sources.next(),
                may_spin: cpus() > usize::from(workers),
            };
            let servers = (job.several, watch.as_ref());
            start_worker(scope, context, full.clone(), move |context| {
                work(context, recorder, servers)
            })?;
        }
        drop(full);
        let Some(roles) = &roles else {
            sending.collect(&messages, observer);
            return Ok(None);
        };
        let (mut received, reports) = roles.start(scope, job.plan, &origins, receive)?;
        roles.collect(scope, &mut sending, messages)?;
        received.collect(&reports, &mut ReceiversWatch { roles, observer });
        Ok(Some(received))
    })?;
    Ok(measured(job, sending, roles.zip(receiving), &gate, wall, watch.as_ref()))
}

/// Combines the measurements of senders and receivers.
fn measured(
    job: &RunJob<'_>,
    sending: Collector,
    receiving: Option<(Roles<'_>, Collector)>,
    gate: &Gate<'_>,
    origin: SystemTime,
    watch: Option<&TopologyWatch>,
) -> Measurement {
    let changed = job.rate.map(LiveRate::plan);
    let carried_out = changed.as_ref().unwrap_or(job.plan);
    let tenures = watch.map(TopologyWatch::tenures).unwrap_or_default();
    let measured = |collector| measurement(carried_out, collector, gate, origin, &tenures);
    let mut measurement = match receiving {
        Some((roles, mut receiving)) => {
            receiving.span_senders(&sending);
            roles.together(measured(sending), measured(receiving))
        }
        None => measured(sending),
    };
    if let Some(watch) = watch {
        number_outages(&mut measurement, watch);
    }
    measurement
}

/// The connections of a run, and how workers share them.
struct Connections {
    workers: u16,
    total: u32,
    /// Connections of each client: for a cluster client, one to every node and some for nodes to come.
    per_client: u32,
    /// Connections of a worker beyond its share: one to each of several servers, and in a cluster some for
    /// nodes to come.
    room: u32,
}

impl Connections {
    fn new(job: &RunJob<'_>) -> Self {
        let total = job.plan.own_connections();
        let nodes = |cluster: ClusterJob<'_>| cluster.topology.nodes.len() as u32;
        let per_client = match job.several {
            Some(ServerSet::Cluster(cluster)) if job.plan.target.has_clients() => {
                nodes(cluster) + NODES_TO_COME_PER_CLIENT
            }
            _ => 1,
        };
        let room = match job.several {
            None | Some(ServerSet::Pool(_)) => 0,
            Some(ServerSet::Cluster(cluster)) => nodes(cluster) + NODES_TO_COME,
            Some(ServerSet::Ring(ring)) => ring.servers.len() as u32,
        };
        // A worker without a connection would have nothing to do.
        let workers = u32::from(job.plan.load.concurrency.workers).min(total) as u16;
        Self { workers, total, per_client, room }
    }

    /// Largest number of connections that a worker may have at once.
    fn most_of(&self, worker: u16) -> u32 {
        share(self.total, worker, self.workers) * self.per_client + self.room
    }

    /// Largest number of connections that all earlier workers may have at once.
    fn senders_before(&self, worker: u16) -> u32 {
        (0..worker).map(|worker| self.most_of(worker)).sum()
    }

    /// Number of a worker's first sender, counted over the run, or over all clients where messages pass
    /// between clients.
    fn first_sender(&self, plan: &Plan, worker: u16) -> u32 {
        let all = u64::from(plan.load.concurrency.connections);
        let others = plan.exchange().map_or(0, |_| plan.load.shard.part(all).start as u32);
        others + self.senders_before(worker)
    }

    /// Number of connections that may send messages to receivers of this process.
    fn senders(&self, plan: &Plan) -> u32 {
        match plan.exchange() {
            Some(_) => plan.load.concurrency.connections,
            None => self.senders_before(self.workers),
        }
    }

    /// Returns the numbers in the run of a worker's connections.
    fn range(&self, worker: u16) -> Range<u32> {
        let own = |worker| share(self.total, worker, self.workers);
        let first = (0..worker).map(own).sum();
        first..first + own(worker)
    }
}

/// Returns the recorder of each worker, and the channels that empty tallies are sent to.
fn recorders(
    plan: &Plan,
    connections: &Connections,
    full: &SyncSender<Message>,
) -> (Vec<Sender<Tally>>, Vec<Recorder>) {
    let shape = tally_shape(plan);
    let tallies: Arc<[u32]> = plan.different_commands().of.into();
    let recorder = |worker| {
        let (empty, ready) = mpsc::channel();
        // The first full tally is exchanged for one that was made before load runs.
        let _ = empty.send(Tally::new(&shape));
        let tallies = Arc::clone(&tallies);
        let mut recorder = Recorder::new(worker, shape, tallies, full.clone(), ready);
        if plan.peer.by_connection {
            let own = connections.range(worker).len();
            let by_command = plan.operations().is_some();
            let seconds = seconds_by_connection(plan);
            let by = ByConnection::new(own, shape.commands, by_command, seconds);
            recorder.keep_connections(by);
        }
        if let Some(log) = empty_log(plan, connections.workers) {
            recorder.keep_log(log);
        }
        (empty, recorder)
    };
    (0..connections.workers).map(recorder).unzip()
}

/// Starts the threads that find out where the servers are while load runs, if any are needed.
fn follow<'scope>(
    scope: &'scope Scope<'scope, '_>,
    job: &RunJob<'scope>,
    destination: &'scope Destination,
    watch: Option<&'scope TopologyWatch>,
) -> io::Result<()> {
    if let Some(resolver) = job.resolver {
        thread::Builder::new()
            .name("resolver".to_owned())
            .spawn_scoped(scope, || destination.follow(resolver))?;
    }
    if let (Some(cluster), Some(watch)) = (job.cluster(), watch) {
        thread::Builder::new()
            .name("cluster-watch".to_owned())
            .spawn_scoped(scope, move || watch.run(cluster.refresh))?;
    }
    Ok(())
}

/// Starts the thread that reads a source ahead of the workers, and returns the share of each worker; empty
/// for a plan without a source.
fn read_ahead<'scope>(
    scope: &'scope Scope<'scope, '_>,
    job: &RunJob<'scope>,
    connections: &Connections,
    gate: &'scope Gate<'scope>,
) -> io::Result<std::vec::IntoIter<WorkerSource>> {
    let Some(source) = job.source else { return Ok(Vec::new().into_iter()) };
    let workers = (0..connections.workers).map(|worker| connections.range(worker));
    let (feed, sources) = Feed::new(source, workers).map_err(invalid)?;
    thread::Builder::new().name("source-reader".to_owned()).spawn_scoped(scope, move || {
        if let Err(why) = feed.run() {
            gate.fail(Fatal::new(why));
        }
    })?;
    Ok(sources.into_iter())
}

fn start_worker<'scope>(
    scope: &'scope Scope<'scope, '_>,
    context: WorkerContext<'scope>,
    full: SyncSender<Message>,
    work: impl FnOnce(WorkerContext<'scope>) -> Vec<Message> + Send + 'scope,
) -> io::Result<()> {
    let gate = context.gate;
    let thread = thread::Builder::new().name(format!("worker-{}", context.worker));
    let started = thread.spawn_scoped(scope, move || {
        if let Err(error) = pin(&context.plan.load.concurrency.cpus, context.worker) {
            context.gate.fail(Fatal::new(error));
        }
        // The receiver is gone only if the collector is, and with it the run.
        work(context).into_iter().for_each(|message| drop(full.send(message)));
    });
    started
        .inspect_err(|error| gate.fail(Fatal::new(format!("starting a thread: {error}"))))
        .map(drop)
}

/// Renumbers the nodes of outages to match the measurement.
fn number_outages(measurement: &mut Measurement, watch: &TopologyWatch) {
    let index = |name: &String| measurement.nodes.iter().position(|node| node.name == *name);
    for outage in &mut measurement.outages {
        outage.node = watch.name(outage.node).as_ref().and_then(index).unwrap_or(0) as u16;
    }
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Share of worker `worker` in `total`. Shares differ by at most one and add up to the total.
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
