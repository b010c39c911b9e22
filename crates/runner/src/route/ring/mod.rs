//! The route to several servers that share out keys: each command goes to the server of its key.
//!
//! [`by_node`](super::by_node) queues requests for their server. A command with keys on several servers is
//! sent to each of them with its keys, and so is a step of several commands; [`splits`] keeps the parts
//! together. Servers do not know each other, and nothing replaces an absent one: after a moment its requests
//! are lost, as they are to clients that cannot reach it ([`absence`]).

mod absence;
mod lost;
mod send;
mod split;
mod steps;

use engine::Address;
use measure::NodeTally;
use wire::memcache::Ring as Shares;
use wire::{Keys, Protocol};
use workload::RingHash;

use super::by_node::ByNodeState;
use crate::request::Request;
use crate::worker::{Worker, WorkerContext};
use absence::Absence;
use split::{SplitId, SplitRequests};

/// Servers that share out keys.
#[derive(Debug, Clone, Copy)]
pub struct RingJob<'r> {
    /// The servers, in the order in which clients know them.
    pub servers: &'r [RingServer],
    /// Hash that distributes the keys.
    pub hash: RingHash,
}

/// Server of a ring.
#[derive(Debug, Clone)]
pub struct RingServer {
    /// Host and port that clients hash; for a unix socket, its path and 0.
    pub known_as: (String, u16),
    /// Address of the server.
    pub address: Address,
}

/// The route to servers that each hold a share of the keys.
pub(crate) struct RingRoute<'r> {
    servers: &'r [RingServer],
    shares: Shares,
    /// The keys of each command.
    keys: Keys,
    shared: ByNodeState<Mark>,
    splits: SplitRequests,
    absence: Absence,
    tallies: Vec<NodeTally>,
    /// Next server in turn for a command without a key.
    turn: u16,
    /// Server of this worker's first connection.
    first: u32,
    /// Buffers for a key, and for the servers of a command's keys.
    key: Vec<u8>,
    found: Vec<u16>,
}

type RingRequest = Request<Mark>;
type RingWorker<'w, 'r, E, P> = Worker<'w, E, P, RingRoute<'r>>;

/// Note about a request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Request that it is a part of, if it is one.
    split: SplitId,
}

/// Note on a connection: its server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteState(u16);

impl<'r> RingRoute<'r> {
    /// Returns the route of one worker of a run.
    pub(crate) fn new<P: Protocol>(context: &WorkerContext<'_>, job: RingJob<'r>) -> Self {
        let RingJob { servers, hash } = job;
        let plan = context.plan;
        let known_as: Vec<_> = servers.iter().map(|server| server.known_as.clone()).collect();
        let connections = context.connections as usize;
        let mut shared = ByNodeState::new(plan, connections, servers.len(), false, false);
        shared.queues.grow(servers.len());
        let tallies = servers.iter().map(|server| {
            let tally = NodeTally::new(server.address.to_string(), plan.recording.precision);
            NodeTally { used: true, ..tally }
        });
        Self {
            servers,
            shares: Shares::new(&known_as, hash),
            keys: Keys::for_plan::<P>(plan),
            shared,
            splits: SplitRequests::default(),
            absence: Absence::new(servers.len()),
            tallies: tallies.collect(),
            turn: 0,
            first: context.first_connection,
            key: Vec::new(),
            found: Vec::new(),
        }
    }
}
