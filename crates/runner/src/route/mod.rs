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
mod new_connections;
pub(crate) mod ring;

use std::borrow::Cow;

use engine::{Address, ConnId, Engine};
use measure::NodeTally;
use wire::Protocol;

pub(crate) use cluster::Cluster;
pub(crate) use direct::DirectRoute;
pub(crate) use new_connections::NewConnections;
pub(crate) use ring::RingRoute;

use crate::Fatal;
use crate::recorder::Recorder;
use crate::request::{Request, SettledReply};
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

/// Reactions of a route to replies, losses and time, with the defaults of a lone server.
pub(crate) trait RouteHooks: Route {
    /// Set if every reply answers the oldest request and is recorded as it comes: the route skips and
    /// withholds none.
    const COUNTS_ALL: bool = false;

    /// Set if connections are opened before load begins.
    const OPENS_FIRST: bool = true;

    /// Set if any connection can take a retry.
    const SENDS_ANYWHERE: bool = false;

    /// The server of a connection, as people write it.
    fn server(&self, place: &Self::RouteState) -> String {
        self.address(place).to_string()
    }

    /// Returns whether each command of a sequence is a request of its own.
    fn splits_sequences(&self) -> bool {
        false
    }

    /// Called after each event.
    fn after_event<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>) {}

    /// Number of commands that were drawn and wait for a connection.
    fn waiting(&self) -> u64 {
        0
    }

    /// Returns whether a drawn request waits that may exceed its deadline.
    fn waits<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        worker.route.waiting() > 0
    }

    /// Gives up drawn requests that wait past their deadline.
    fn give_up_waiting<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>, _now_ns: u64) {
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

    /// Acts after all replies of one read were settled.
    fn after_read<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
    ) -> Result<(), Fatal> {
        Ok(())
    }

    /// Returns whether a connection that ends now must be replaced.
    fn wants_connections<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        !worker.has_no_more()
    }

    /// Returns whether the route alone handles the loss of this connection. Requests sent at `overdue_ns` or
    /// before have timed out; 0 means none.
    fn gives_up_connection<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
        _conn: ConnId,
        _overdue_ns: u64,
    ) -> bool {
        false
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

    /// Time at which the worker should wake up for this route; `u64::MAX` for never.
    fn wake_ns<E: Engine, P: Protocol>(_worker: &Worker<'_, E, P, Self>, _now_ns: u64) -> u64 {
        u64::MAX
    }

    /// Counts and drops retries that were first sent at `overdue_ns` or before. Returns the server of one of
    /// them, if there were any.
    fn drop_overdue<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
        _overdue_ns: u64,
    ) -> Option<String> {
        None
    }

    /// Returns whether to stop waiting for requests in flight, after the end of a run by time.
    fn gives_up<E: Engine, P: Protocol>(_worker: &Worker<'_, E, P, Self>, _now_ns: u64) -> bool {
        false
    }

    /// Reports to the recorder which servers are asked anything, as an interval is about to end.
    fn note_asked<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>) {}

    /// Ends: counts waiting retries as unanswered, and returns each node's figures.
    fn finish(self, _recorder: &mut Recorder) -> Vec<NodeTally> {
        Vec::new()
    }
}
