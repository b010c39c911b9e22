//! Choice of the connection for each request, and its effect on the reply.
//!
//! The seam between the worker, which is common to all deployments, and the servers: one server or
//! interchangeable ones ([`DirectRoute`]), the nodes of a Redis Cluster ([`Cluster`]), or several servers
//! that share out keys without knowing each other ([`RingRoute`]). A route decides; the worker opens, sends,
//! receives, records and recovers. A deployment says in [`Route`] what it knows of requests and connections, and in
//! [`RouteHooks`] what it does with the worker; defaults cost nothing.

mod by_node;
pub(crate) mod cluster;
mod direct;
mod hooks;
mod new_connections;
pub(crate) mod ring;

use std::borrow::Cow;

use engine::{Address, ConnId};
use measure::NodeTally;

pub(crate) use cluster::Cluster;
pub(crate) use direct::DirectRoute;
pub(crate) use hooks::RouteHooks;
pub(crate) use new_connections::NewConnections;
pub(crate) use ring::RingRoute;

use crate::recorder::Recorder;
use crate::request::{Request, SettledReply};

/// Knowledge of a deployment about its requests and connections, with the defaults of a lone server.
pub(crate) trait Route: Sized {
    /// The route's note on each request.
    type Mark: Copy;

    /// The route's note on each connection, such as its server.
    type RouteState;

    /// Set if every reply answers the oldest request and is recorded as it comes: the route skips and
    /// withholds none.
    const COUNTS_ALL: bool = false;

    /// Set if connections are opened before load begins.
    const OPENS_FIRST: bool = true;

    /// Set if any connection can take a retry.
    const SENDS_ANYWHERE: bool = false;

    /// Notes for this many connections, or for more if each server needs one.
    fn places(&self, connections: u32) -> Vec<Self::RouteState>;

    /// Address that a connection is to be opened to.
    fn address(&self, place: &Self::RouteState) -> Cow<'_, Address>;

    /// Returns whether a request that becomes due could be sent, with `in_flight` commands in flight.
    fn has_room(&self, in_flight: u64) -> bool;

    /// Called before replies of this connection are recorded.
    fn record_of(&self, place: &Self::RouteState, recorder: &mut Recorder);

    /// The server of a connection, as people write it.
    fn server(&self, place: &Self::RouteState) -> String {
        self.address(place).to_string()
    }

    /// Returns whether each command of a sequence is a request of its own.
    fn splits_sequences(&self) -> bool {
        false
    }

    /// Number of commands that were drawn and wait for a connection.
    fn waiting(&self) -> u64 {
        0
    }

    /// Removes a lost connection from those with room. Returns whether it was removed; if not, it is skipped
    /// when its turn comes.
    fn dequeue(&mut self, _place: &Self::RouteState, _conn: ConnId) -> bool {
        false
    }

    /// Returns the number under which a connection is recorded; where clients have several connections, the
    /// client's.
    fn counted_as(&self, _place: &Self::RouteState, conn: ConnId) -> ConnId {
        conn
    }

    /// Returns whether the next reply answers a command that was sent before this request on its behalf.
    fn passes_over(&self, _oldest: &mut Request<Self::Mark>) -> bool {
        false
    }

    /// Returns whether the worker may retry a request that was lost or answered with this error. The route
    /// itself handles redirected requests.
    fn may_retry(
        &self,
        _place: &Self::RouteState,
        _request: &Request<Self::Mark>,
        _text: &str,
    ) -> bool {
        true
    }

    /// Returns whether an error is the result of a request.
    fn counts_error(
        &mut self,
        _place: &mut Self::RouteState,
        _request: &Request<Self::Mark>,
        _text: &str,
    ) -> bool {
        true
    }

    /// Returns whether a reply is recorded now. If not, [`completed`](Self::completed) may do so.
    fn counts(
        &mut self,
        _place: &mut Self::RouteState,
        _request: &Request<Self::Mark>,
        _answer: &SettledReply,
        _now_ns: u64,
    ) -> bool {
        true
    }

    /// The last reply to a request was settled.
    fn completed(
        &mut self,
        _place: &mut Self::RouteState,
        _request: &mut Request<Self::Mark>,
        _recorder: &mut Recorder,
        _now_ns: u64,
    ) -> Completion {
        Completion::Whole
    }

    /// A connection carries load from now on, or no more.
    fn count_ready(&mut self, _place: &Self::RouteState, _is_ready: bool) {}

    /// Takes back the unrecorded replies to the oldest request of a connection.
    fn withheld(_place: &mut Self::RouteState) -> u64 {
        0
    }

    /// Notes that a request will have no further reply.
    fn forsake(&mut self, request: &Request<Self::Mark>) -> LostRequest {
        LostRequest { commands: u64::from(request.left), is_last: true }
    }

    /// Counts measured commands on a connection that will have no reply.
    fn count_unanswered(&mut self, _place: &Self::RouteState, _commands: u64) {}

    /// Requests the current addresses of the servers.
    fn ask_where(&self) {}

    /// Returns whether [`take_news`](Self::take_news) has something to do.
    fn has_news(&self, _now_ns: u64) -> bool {
        false
    }

    /// Ends: counts waiting retries as unanswered, and returns each node's figures.
    fn finish(self, _recorder: &mut Recorder) -> Vec<NodeTally> {
        Vec::new()
    }
}

/// Effect on its step of a request that has all its replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// Complete: the step has its result.
    Whole,
    /// Incomplete: other parts have no reply yet, or it is sent again.
    Partly,
    /// Ended without a result because another part was lost.
    Lost,
}

/// Effect of losing a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostRequest {
    /// Commands to count as lost.
    pub(crate) commands: u64,
    /// Set if no other part of its step is without a reply.
    pub(crate) is_last: bool,
}
