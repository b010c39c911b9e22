//! Which connection a request may take, and what that means for its reply.
//!
//! The seam between the worker, which every deployment shares, and where the servers are: one
//! server or interchangeable ones ([`DirectRoute`]), the nodes of a Redis Cluster ([`Cluster`]), or several servers
//! that share out keys without knowing of each other ([`RingRoute`]). A route decides; the worker opens, sends,
//! receives, records and recovers. What only some routes need has a default that does nothing and costs
//! nothing.

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
use crate::request::{Answer, Request};
use crate::worker::Worker;

/// Effect on its step of a request that has all its replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// End of its step.
    Whole,
    /// Part of its step: other parts of it have no reply yet, or it is sent again.
    Partly,
    /// End of its step without a result: another part of it was lost.
    Lost,
}

/// Loss that comes with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostRequest {
    /// Commands that are to be counted.
    pub(crate) commands: u64,
    /// Set if its step has no other part without a reply.
    pub(crate) is_last: bool,
}

/// Chooses the connection of each request and reacts to replies that concern routing.
pub(crate) trait Route: Sized {
    /// Note that it makes of each request.
    type Mark: Copy;
    /// Note that it makes of each connection: to which server it belongs.
    type Place;

    // Where connections lead.

    /// The places of this many connections, or of more if each server needs one.
    fn places(&self, connections: u32) -> Vec<Self::Place>;

    /// Address that a connection is to be opened to.
    fn address(&self, place: &Self::Place) -> Cow<'_, Address>;

    /// The server of a connection, as people write it.
    fn server(&self, place: &Self::Place) -> String {
        self.address(place).to_string()
    }

    /// Set if connections are opened before load begins.
    const OPENS_FIRST: bool = true;

    /// Returns whether the commands of a sequence are requests of their own.
    fn splits_sequences(&self) -> bool {
        false
    }

    // Sending.

    /// Called once when a worker has been made.
    fn prepare<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>) {}

    /// Load starts: every connection has room.
    fn start<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// A connection has become ready or has settled replies: gives it more to do.
    fn refill<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId);

    /// Called after each event.
    fn after_event<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>) {}

    /// Sends what can be sent. Called once a turn.
    fn dispatch<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Returns whether a request that became due could be sent, with `in_flight` commands in flight.
    fn has_room(&self, in_flight: u64) -> bool;

    /// Commands that were drawn and wait for a connection.
    fn waiting(&self) -> u64 {
        0
    }

    /// Returns whether something drawn waits that may be over at its deadline.
    fn waits<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        worker.route.waiting() > 0
    }

    /// Gives up what was drawn, waits, and is over at its deadline.
    fn give_up_waiting<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>, _now_ns: u64) {
    }

    /// A connection that stood among those with room is gone. Whether it was taken out: if not, it
    /// is passed over when its turn comes.
    fn dequeue(&mut self, _place: &Self::Place, _conn: ConnId) -> bool {
        false
    }

    // Receiving.

    /// Set if every reply is the answer to the oldest request and is recorded as it comes: the route passes over none,
    /// and withholds none.
    const COUNTS_ALL: bool = false;

    /// Under which number a connection is recorded: where clients have several, that of its client.
    fn counted_as(&self, _place: &Self::Place, conn: ConnId) -> ConnId {
        conn
    }

    /// Called before replies of this connection are recorded.
    fn record_of(&self, _place: &Self::Place, _recorder: &mut Recorder) {}

    /// Returns whether the next reply answers something that was sent before this request on its behalf.
    fn passes_over(&self, _oldest: &mut Request<Self::Mark>) -> bool {
        false
    }

    /// Returns whether the worker may send a request again that was answered with this error, or lost: a route takes
    /// care itself of what it sends elsewhere.
    fn may_retry(&self, _place: &Self::Place, _request: &Request<Self::Mark>, _text: &str) -> bool {
        true
    }

    /// Returns whether any connection can take what is sent again.
    fn sends_anywhere() -> bool {
        false
    }

    /// Returns whether an error is the result of a request.
    fn counts_error(
        &mut self,
        _place: &mut Self::Place,
        _request: &Request<Self::Mark>,
        _text: &str,
    ) -> bool {
        true
    }

    /// Returns whether a reply is recorded now. If not, [`completed`](Self::completed) may do so.
    fn counts(
        &mut self,
        _place: &mut Self::Place,
        _request: &Request<Self::Mark>,
        _answer: &Answer,
        _now_ns: u64,
    ) -> bool {
        true
    }

    /// The last reply to a request was settled.
    fn completed(
        &mut self,
        _place: &mut Self::Place,
        _request: &mut Request<Self::Mark>,
        _recorder: &mut Recorder,
        _now_ns: u64,
    ) -> Completion {
        Completion::Whole
    }

    /// Sends the steps that the replies on a connection have made due.
    fn follow<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId);

    /// All that one read delivered was settled.
    fn after_read<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
    ) -> Result<(), Fatal> {
        Ok(())
    }

    // Recovery.

    /// Returns whether nothing is left to send, now or again.
    fn has_no_more<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        worker.is_over()
    }

    /// Returns whether a connection that ends now is needed again.
    fn wants_connections<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        !worker.is_over()
    }

    /// A connection is of no more use, and gone: whether the route alone deals with that. What was sent at
    /// `overdue_ns` or before has timed out; 0 is for none.
    fn gives_up_connection<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
        _conn: ConnId,
        _overdue_ns: u64,
    ) -> bool {
        false
    }

    /// A connection carries load from now on, or no more.
    fn count_ready(&mut self, _place: &Self::Place, _is_ready: bool) {}

    /// Takes back the replies to the oldest request of a connection that were not recorded.
    fn withheld(_place: &mut Self::Place) -> u64 {
        0
    }

    /// Notes that a request will have no reply, or none any more.
    fn forsake(&mut self, request: &Request<Self::Mark>) -> LostRequest {
        LostRequest { commands: u64::from(request.left), is_last: true }
    }

    /// Counts measured commands on a connection that will have no reply.
    fn count_unanswered(&mut self, _place: &Self::Place, _commands: u64) {}

    /// Asks where the servers are now.
    fn ask_where(&self) {}

    /// Returns whether [`take_news`](Self::take_news) has something to do.
    fn has_news(&self, _now_ns: u64) -> bool {
        false
    }

    /// Takes up where the servers are now.
    fn take_news<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Time at which the worker should wake up for this route; `u64::MAX` for never.
    fn wake_ns<E: Engine, P: Protocol>(_worker: &Worker<'_, E, P, Self>, _now_ns: u64) -> u64 {
        u64::MAX
    }

    /// Counts and drops requests that wait to be sent again and were first sent at `overdue_ns` or
    /// before. The server of one of them, if there were any.
    fn drop_overdue<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
        _overdue_ns: u64,
    ) -> Option<String> {
        None
    }

    /// A server that something waits for and no connection is open to.
    fn absent_server<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> Option<String>;

    /// Returns whether what is still in flight is no longer waited for, after the end of a run by time.
    fn gives_up<E: Engine, P: Protocol>(_worker: &Worker<'_, E, P, Self>, _now_ns: u64) -> bool {
        false
    }

    // Figures.

    /// Tells the recorder which servers anything is asked of. An interval is about to end.
    fn note_asked<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>) {}

    /// Ends: counts what waited to be sent again as unanswered, and says what each node did.
    fn finish(self, _recorder: &mut Recorder) -> Vec<NodeTally> {
        Vec::new()
    }
}
