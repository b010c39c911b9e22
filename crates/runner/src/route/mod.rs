//! Choice of the connection for each request, and its effect on the reply.
//!
//! The seam between the worker, which is common to all deployments, and the servers: one server or
//! interchangeable ones ([`DirectRoute`]), the nodes of a Redis Cluster ([`Cluster`]), or several servers
//! that share out keys without knowing each other ([`RingRoute`]). A route decides; the worker opens, sends,
//! receives, records and recovers. Every deployment implements [`Route`]; [`RouteHooks`] has defaults that do
//! nothing and cost nothing, for the rest.

mod by_node;
pub(crate) mod cluster;
mod direct;
mod hooks;
mod new_connections;
pub(crate) mod ring;

use std::borrow::Cow;

use engine::{Address, ConnId, Engine};
use wire::Protocol;

pub(crate) use cluster::Cluster;
pub(crate) use direct::DirectRoute;
pub(crate) use hooks::{Completion, LostRequest, RouteHooks};
pub(crate) use new_connections::NewConnections;
pub(crate) use ring::RingRoute;

use crate::recorder::Recorder;
use crate::worker::Worker;

/// Decisions that each deployment makes in its own way: where connections lead, and what is sent on them.
pub(crate) trait Route: Sized {
    /// The route's note on each request.
    type Mark: Copy;
    /// The route's note on each connection, such as its server.
    type RouteState;

    /// Notes for this many connections, or for more if each server needs one.
    fn places(&self, connections: u32) -> Vec<Self::RouteState>;

    /// Address that a connection is to be opened to.
    fn address(&self, place: &Self::RouteState) -> Cow<'_, Address>;

    /// Called once when a worker has been made.
    fn prepare<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Starts the load: every connection has room.
    fn start<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Gives more work to a connection that has become ready or has settled replies.
    fn refill<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId);

    /// Sends all that can be sent. Called once a turn.
    fn dispatch<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Returns whether a request that becomes due could be sent, with `in_flight` commands in flight.
    fn has_room(&self, in_flight: u64) -> bool;

    /// Called before replies of this connection are recorded.
    fn record_of(&self, place: &Self::RouteState, recorder: &mut Recorder);

    /// Sends the steps that have become due by replies on a connection.
    fn follow<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId);

    /// Takes in the current addresses of the servers.
    fn take_news<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Returns a server that requests wait for and that no connection is open to.
    fn absent_server<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> Option<String>;
}
