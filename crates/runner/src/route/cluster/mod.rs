//! The route to a Redis Cluster: each command goes to the node that owns its key's slot.
//!
//! [`by_node`](super::by_node) queues requests for their node. [`slot_map`] knows the owner of each slot,
//! [`redirect`] handles redirects, and [`balance`] assigns connections to nodes.

mod balance;
mod job;
mod later;
mod nearest;
mod ownership;
mod recovery;
mod redirect;
mod request;
mod retained;
mod send;
mod slot_map;
mod steps;
mod topology_watch;

use engine::Engine;
use measure::NodeTally;
use wire::cluster::{KeyPlace, is_session_command};
use wire::{Protocol, Slots};
use workload::{Plan, ReadFrom};

use super::by_node::ByNodeState;
use crate::request::SettledReply;
use crate::worker::{Worker, WorkerContext};
pub use job::{ClusterJob, Refresh};
use later::DelayedRequests;
use ownership::ClusterView;
pub(crate) use request::{ClusterRequest, Mark};
use retained::RetainedBytes;
use slot_map::SlotMap;
pub(crate) use topology_watch::{StopWatch, TopologyWatch};

/// The route to a Redis Cluster.
pub(crate) struct Cluster<'r> {
    map: SlotMap,
    shared: ByNodeState<Mark>,
    watch: &'r TopologyWatch,
    /// Topology version of the map.
    version: u64,
    commands: Commands,
    /// A buffer for a key.
    key: Vec<u8>,
    /// `ASKING`, encoded.
    asking: Vec<u8>,
    tallies: Vec<NodeTally>,
    /// Number of each node that is common to all workers.
    numbers: Vec<u16>,
    /// Set if some nodes have too few connections.
    unbalanced: bool,
    /// Requests to redirect or retry, found while reading, with their node and the error.
    turned_away: Vec<(u16, ClusterRequest, String)>,
    later: DelayedRequests,
    /// Bytes kept of a source's requests, if the plan has a source.
    retained: Option<RetainedBytes>,
}

type ClusterWorker<'w, 'r, E, P> = Worker<'w, E, P, Cluster<'r>>;

/// Note about a connection.
#[derive(Debug)]
pub(crate) struct RouteState {
    /// Node of the connection.
    node: u16,
    /// Client of the connection, where each has its own connections; 0 otherwise.
    client: u32,
    /// Answers to an indivisible sequence, held until its last reply is in.
    held: Vec<SettledReply>,
    /// Redirect that answered the oldest request, until its last reply is in.
    redirect: Option<String>,
    /// Error replies to the oldest request that are no result because of the redirect.
    passed_over: u64,
}

/// Facts about the commands of the sequence.
struct Commands {
    slots: Slots,
    read_only: Vec<bool>,
    /// Set if the sequence is one request.
    whole: bool,
    /// For each command, the index of the command whose key determines the node if a request starts there.
    keyed: Vec<u32>,
    /// Set for each command that needs `ASKING` before it to reach a slot that is being imported. `ASKING`
    /// holds for one command, and from `MULTI` to `EXEC`.
    asks: Vec<bool>,
    /// Set if later steps use the connection of the first, because they wait for its effects.
    follows: bool,
}

impl Commands {
    /// Creates the rules. A sequence that sets up state for its own later commands is indivisible.
    fn new(plan: &Plan, job: &ClusterJob<'_>) -> Self {
        let keys: Vec<Option<usize>> = job
            .routings
            .iter()
            .map(|routing| match routing.key {
                KeyPlace::Arg(n) => Some(n),
                KeyPlace::Keyless | KeyPlace::Movable => None,
            })
            // The command with which senders wait has no key.
            .chain(std::iter::repeat(None))
            .take(plan.sequence.len())
            .collect();
        let names: Vec<String> = plan.sequence.iter().map(|command| command.name()).collect();
        // The sequence of a source is a list of kinds.
        let is_sourced = plan.has_source();
        let bound = !is_sourced && names.iter().any(|name| is_session_command(name));
        let mut in_transaction = false;
        let asks = names.iter().map(|name| {
            let asks = !in_transaction || is_sourced;
            in_transaction = name.eq_ignore_ascii_case("MULTI")
                || in_transaction
                    && !["EXEC", "DISCARD"].iter().any(|n| n.eq_ignore_ascii_case(name));
            asks
        });
        let keyed = (0..keys.len()).map(|first: usize| {
            (first..keys.len()).find(|at: &usize| keys[*at].is_some()).unwrap_or(first) as u32
        });
        Self {
            slots: Slots::new(plan, &keys),
            read_only: (0..plan.sequence.len())
                .map(|at| job.routings.get(at).is_some_and(|r| r.read_only && !bound))
                .collect(),
            whole: bound && plan.mix.is_none(),
            keyed: keyed.collect(),
            asks: asks.collect(),
            follows: plan.replica_wait().is_some(),
        }
    }

    /// Returns the index of the command whose key determines the node of `commands` commands from `first` on.
    #[inline]
    fn key_of(&self, first: u32, commands: u32) -> usize {
        let keyed = self.keyed[first as usize];
        if keyed < first + commands { keyed as usize } else { first as usize }
    }
}

impl<'r> Cluster<'r> {
    /// Returns the route of one worker of a run.
    pub(crate) fn new<P: Protocol>(
        context: &WorkerContext<'_>,
        job: &ClusterJob<'_>,
        watch: &'r TopologyWatch,
    ) -> Self {
        let plan = context.plan;
        let commands = Commands::new(plan, job);
        let options = plan.target.cluster.unwrap_or_default();
        let read_from = options.read_from;
        let reads = commands.read_only.iter().any(|read| *read) && read_from != ReadFrom::Masters;
        let writes = commands.read_only.iter().any(|read| !read) || read_from != ReadFrom::Replicas;
        let map = SlotMap::new(job.topology, options, [writes, reads]);
        let used = map.used().len();
        let connections = context.connections as usize;
        let shared = if plan.target.has_clients() {
            ByNodeState::of_clients(plan, context.connections, used, commands.whole)
        } else {
            ByNodeState::new(plan, connections, used, commands.whole, true)
        };
        let mut asking = Vec::new();
        P::encode(&[b"ASKING"], &mut asking);
        Self {
            map,
            shared,
            watch,
            version: 0,
            commands,
            key: Vec::new(),
            asking,
            tallies: Vec::new(),
            numbers: Vec::new(),
            unbalanced: false,
            turned_away: Vec::new(),
            later: DelayedRequests::default(),
            retained: plan.has_source().then(RetainedBytes::default),
        }
    }

    /// Delays a refused request for this long.
    fn postpone(&mut self, now_ns: u64, wait_ns: u64, mut request: ClusterRequest) {
        request.mark.delayed = true;
        self.shared.set_aside += u64::from(request.left);
        self.later.put(now_ns, wait_ns, request);
    }

    /// Releases a source's request that is not sent any more.
    #[inline]
    fn forget_sourced(&mut self, request: &ClusterRequest) {
        if let Some(retained) = &mut self.retained {
            retained.forget(request, &mut self.shared.forgotten);
        }
    }

    /// Returns the number of a node that is common to all workers.
    #[inline]
    fn number(&self, node: u16) -> u16 {
        self.numbers[usize::from(node)]
    }

    /// Reports the current map to the history of owners.
    fn tell_owners(&self, now_ns: u64) {
        let nodes = 0..self.map.nodes().len() as u16;
        let readers = nodes.filter(|node| self.map.answers_reads(*node));
        let known = ClusterView {
            version: self.version,
            owners: self.map.owners().map(|owner| owner.map(|owner| self.number(owner))).collect(),
            readers: readers.map(|node| self.number(node)).collect(),
            masters_used: self.map.uses_masters(),
        };
        self.watch.know(&known, now_ns);
    }

    /// Returns whether a node has to answer and was asked for anything before.
    fn is_known_to_be_asked(&self, node: u16) -> bool {
        let tally = &self.tallies[usize::from(node)];
        let used = self.map.is_used(node) || self.map.answers_reads(node);
        used && tally.requests() + tally.unanswered + tally.redirects() > 0
    }

    #[inline]
    fn tally(&mut self, node: u16) -> &mut NodeTally {
        &mut self.tallies[usize::from(node)]
    }
}

/// Adds a queue and a tally for every known node.
fn know_nodes<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    let precision = worker.context.plan.recording.precision;
    let route = &mut worker.route;
    route.shared.queues.grow(route.map.nodes().len());
    for node in route.map.nodes().iter().skip(route.tallies.len()) {
        route.tallies.push(NodeTally::new(node.name.clone(), precision));
        route.numbers.push(route.watch.number(&node.name));
    }
    let most = route.numbers.iter().max().map_or(0, |most| usize::from(*most) + 1);
    worker.recorder.know_nodes(most, worker.engine.now_ns());
}

/// Reports to the recorder which nodes are asked anything.
fn note_asked<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    let route = &worker.route;
    let mut asked = vec![false; route.numbers.len()];
    let busy = worker.connections.iter().filter(|c| c.requests.commands() > 0);
    let nodes = || 0..route.numbers.len() as u16;
    let waiting = nodes().filter(|n| route.shared.queues.is_awaited(*n));
    let resent = route.later.iter().filter_map(|request| route.map.last_owner(request.mark.slot));
    // Without a connection, no request is drawn that could wait for its node; nor, in a closed loop or behind a
    // schedule, while the other nodes have enough to do. Such a node is missed if it was used before.
    let has_more = worker.is_closed_loop() || worker.is_behind();
    let is_missed = |n: &u16| worker.is_cut_off() || has_more && route.shared.queues.is_cut(*n);
    let missed = nodes().filter(|n| is_missed(n) && route.is_known_to_be_asked(*n));
    for node in busy.map(|c| c.place.node).chain(waiting).chain(resent).chain(missed) {
        asked[usize::from(node)] = true;
    }
    let numbers = &route.numbers;
    worker
        .recorder
        .asks(|number| numbers.iter().zip(&asked).any(|(known, asked)| *known == number && *asked));
}
