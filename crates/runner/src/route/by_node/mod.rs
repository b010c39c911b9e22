//! Common part of routes to several servers: requests wait in the queue of their node, and the connections to
//! that node take up to a pipeline at once from it.
//!
//! So `-c` connections carry all load, as to one server, and a pipeline never mixes nodes. Where clients are
//! distinguished, each has a connection to every node, with its own queue, so that its requests to a node
//! keep their order. The specific route decides which node a request belongs to, and how it is written.

mod deadline;
mod message_order;
mod queues;
mod sourced;
mod steps;
mod turns;

use engine::{ConnId, Engine};
use measure::NodeTally;
use wire::{Batch, Protocol};
use workload::{DueRequest, Pace, Plan, SequenceBatch, Window};

use super::RouteHooks;
use crate::recorder::Recorder;
use crate::request::{CommandReply, OperationState, Request};
use crate::source::blocks::WorkerSource;
use crate::worker::Worker;
use crate::worker::captures::Captures;
use crate::worker::operations::Steps;
pub(super) use deadline::give_up_waiting;
use message_order::MessageOrder;
pub(super) use queues::NodeQueues;
pub(super) use sourced::gives_up;
pub(super) use steps::{follow, follow_on};
pub(super) use turns::Lane;

/// Pipelines per connection of a node that may wait while other nodes still have work. Nodes are not equally
/// fast at every moment, and keys do not fall evenly.
const WAITING_PIPELINES: usize = 4;
/// Maximum number of waiting requests of an open loop, or for an absent node that the route waits for.
const WAITING_LARGE: usize = 1 << 20;
/// Maximum number of commands set aside without taking room from others.
const SET_ASIDE_MAX: u64 = WAITING_LARGE as u64;

/// A route to several servers.
pub(super) trait ByNode: RouteHooks {
    /// State shared with the other routes by node.
    fn shared_mut(&mut self) -> &mut ByNodeState<Self::Mark>;

    /// State shared with the other routes by node, read-only.
    fn shared(&self) -> &ByNodeState<Self::Mark>;

    /// The queue that a connection takes requests from.
    fn lane(place: &Self::RouteState) -> Lane;

    /// Makes the note for `commands` commands of a client, beginning with `first`.
    fn mark(first: u32, commands: u32, client: u32) -> Self::Mark;

    /// Makes the note for a source's request of this client.
    fn mark_sourced(client: u32, command: &DueRequest) -> Self::Mark {
        Self::mark(command.command, 1, client)
    }

    /// Client of a request; 0 where clients share connections.
    fn client(_mark: &Self::Mark) -> u32 {
        0
    }

    /// Returns whether a request came back after it was sent, and so still counts as in flight.
    fn was_sent(_request: &Request<Self::Mark>) -> bool {
        false
    }

    /// Returns whether a request is part of an operation that has begun and must be completed.
    fn has_begun(&self, request: &Request<Self::Mark>) -> bool {
        request.progress.is_under_way()
    }

    /// Returns whether a sequence is sent whole, to one node.
    fn sends_whole(&self) -> bool;

    /// Puts a new request, or its parts, into the queues of its nodes.
    fn enqueue<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
        request: Request<Self::Mark>,
    );

    /// Returns whether a request that was just handed over is the first part of its operation.
    fn begins(&mut self, _request: &Request<Self::Mark>) -> bool {
        true
    }

    /// Counts a request that waited for this node, has exceeded its deadline and is in no queue any more.
    fn give_up<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
        node: u16,
        request: Request<Self::Mark>,
    );

    /// Prepares a request that is about to be sent, or sent again.
    fn take_up(&mut self, _request: &mut Request<Self::Mark>) {}

    /// Appends the commands of a request for this node. Their bytes are counted by command, if there is a
    /// recorder for that.
    fn write(
        &mut self,
        request: &Request<Self::Mark>,
        node: u16,
        written: RequestSources<'_>,
        counted: Option<&mut Recorder>,
        out: &mut Vec<u8>,
    );
}

/// Sources of a request's bytes: the batch for its number, values kept from replies, or a source.
pub(super) type RequestSources<'w> = (&'w Batch, &'w Captures, Option<&'w WorkerSource>);

/// See [`ByNode`].
pub(super) struct ByNodeState<M> {
    pub(super) queues: NodeQueues<M>,
    /// Maximum number of commands in flight on all connections.
    pub(super) in_flight_max: u64,
    /// Commands that wait to be sent again, for their time or for a connection. Like requests for an absent
    /// node, they leave their room to others.
    pub(super) set_aside: u64,
    /// Set if there are fewer connections than nodes to reach.
    scarce: bool,
    /// Buffer for commands that are sent together.
    out: Vec<u8>,
    /// New requests lost in this turn because their node is absent.
    pub(super) lost_at_once: u32,
    /// The order of messages, if the plan sends some.
    order: MessageOrder,
    /// Numbers of a source's requests whose bytes are no longer needed.
    pub(super) forgotten: Vec<u64>,
    /// Time at which a request was last drawn.
    drawn_ns: u64,
    /// Requests past their deadline, on their way out of a queue.
    over: Vec<Request<M>>,
}

impl<M> ByNodeState<M> {
    /// Returns the state for `connections` connections to `nodes` nodes that get load. `whole` says that
    /// sequences are sent whole, `waits` that requests for an absent node wait.
    pub(super) fn new(
        plan: &Plan,
        connections: usize,
        nodes: usize,
        whole: bool,
        waits: bool,
    ) -> Self {
        // A pipeline is as deep in commands as to one server.
        let parts = if whole || plan.mix.is_some() { 1 } else { plan.sequence.len() };
        let depth = plan.load.concurrency.pipeline_depth as usize * parts;
        let rolling = plan.load.concurrency.window == Window::Rolling;
        let open = matches!(plan.load.pace, Pace::Open(_));
        let per_node = connections.max(nodes).div_ceil(nodes.max(1));
        let closed = (WAITING_PIPELINES * per_node * depth).min(WAITING_LARGE);
        let capacity = if open { WAITING_LARGE } else { closed };
        let gone = if waits { WAITING_LARGE } else { capacity };
        let sequences = u64::from(plan.load.concurrency.pipeline_depth) * connections as u64;
        Self {
            queues: NodeQueues::new(if rolling { 1 } else { depth }, capacity, gone)
                .lasting(plan.load.concurrency.keep_alive),
            in_flight_max: sequences * plan.sequence.len() as u64,
            set_aside: 0,
            scarce: connections < nodes,
            out: Vec::new(),
            lost_at_once: 0,
            order: MessageOrder::default(),
            forgotten: Vec::new(),
            drawn_ns: 0,
            over: Vec::new(),
        }
    }

    /// Returns the state for `clients` clients, each with a connection to each of `nodes` nodes.
    pub(super) fn of_clients(plan: &Plan, clients: u32, nodes: usize, whole: bool) -> Self {
        let lanes = clients as usize * nodes.max(1);
        let state = Self::new(plan, lanes, nodes, whole, true);
        // A node may lag behind the others of a client by as many as there is room for.
        let capacity = state.queues.capacity().max(WAITING_LARGE / lanes.max(1));
        Self {
            queues: state.queues.holding(capacity).of_clients(clients),
            // Each connection has room of its own.
            in_flight_max: u64::MAX,
            scarce: false,
            ..state
        }
    }

    /// Returns whether nothing more may be drawn because connections are fewer than nodes, with `in_flight`
    /// commands in flight.
    #[inline]
    pub(super) fn is_full(&self, in_flight: u64) -> bool {
        self.scarce && in_flight + self.queues.waiting() as u64 >= self.under_way_max()
    }

    /// Maximum number of commands in flight or set aside.
    #[inline]
    fn under_way_max(&self) -> u64 {
        self.in_flight_max.saturating_add(self.set_aside.min(SET_ASIDE_MAX))
    }

    /// Returns whether a request that becomes due could be sent.
    pub(super) fn has_room(&self, in_flight: u64) -> bool {
        self.queues.wants_more() && !self.is_full(in_flight)
    }
}

/// Maximum number of new requests lost in a turn, so that a turn ends even if everything drawn is for an absent
/// node.
const LOST_AT_ONCE_MAX: u32 = 256;

/// Starts the load: every connection has room.
pub(super) fn start<E: Engine, P: Protocol, R: ByNode>(worker: &mut Worker<'_, E, P, R>) {
    for conn in (0..worker.connections.len() as u32).map(ConnId) {
        queue_up(worker, conn);
    }
    dispatch(worker);
}

/// Puts a connection last among those of its node with room.
#[inline]
pub(super) fn queue_up<E: Engine, P: Protocol, R: ByNode>(
    worker: &mut Worker<'_, E, P, R>,
    conn: ConnId,
) {
    let room = worker.room(conn);
    let connection = &mut worker.connections[conn.0 as usize];
    if !connection.queued && room > 0 {
        connection.queued = true;
        let now_ns = worker.engine.now_ns();
        worker.route.shared_mut().queues.add_idle(R::lane(&connection.place), conn, now_ns);
    }
}

/// Draws requests for the connections that have room, and sends them.
#[inline]
pub(super) fn dispatch<E: Engine, P: Protocol, R: ByNode>(worker: &mut Worker<'_, E, P, R>) {
    worker.route.shared_mut().lost_at_once = 0;
    if worker.source.is_some() {
        sourced::draw_due(worker);
    } else {
        while let Some(client) = worker.route.shared_mut().queues.drawer()
            && draw(worker, client)
        {}
    }
    // Each queue once: what is left then waits for room or for its time.
    let mut held_back = None;
    while let Some(lane) = worker.route.shared_mut().queues.next_sendable() {
        let sent = send_pipeline(worker, lane) | give_up_taken(worker, lane.node);
        worker.route.shared_mut().queues.update(lane);
        if !sent {
            // Others may have something that is to be sent again.
            if held_back == Some(lane) {
                break;
            }
            held_back = held_back.or(Some(lane));
        }
    }
}

/// Gives up the requests past their deadline that were taken off the queue of a node. Returns whether there
/// were any.
#[inline]
fn give_up_taken<E: Engine, P: Protocol, R: ByNode>(
    worker: &mut Worker<'_, E, P, R>,
    node: u16,
) -> bool {
    if worker.route.shared().over.is_empty() {
        return false;
    }
    let mut over = std::mem::take(&mut worker.route.shared_mut().over);
    over.drain(..).for_each(|request| R::give_up(worker, node, request));
    worker.route.shared_mut().over = over;
    true
}

/// Draws the next sequence of a client, if one is left and due. Returns whether there may be more.
#[inline]
fn draw<E: Engine, P: Protocol, R: ByNode>(worker: &mut Worker<'_, E, P, R>, client: u32) -> bool {
    if worker.is_over() {
        return false;
    }
    let now_ns = worker.engine.now_ns();
    worker.give_up_undrawn(now_ns);
    let shared = worker.route.shared_mut();
    if shared.is_full(worker.in_flight) || shared.lost_at_once >= LOST_AT_ONCE_MAX {
        return false;
    }
    if shared.queues.has_clients() && worker.left(now_ns, ConnId(client), 1) == 0 {
        return worker.route.shared_mut().queues.end_client(client);
    }
    let intended_ns = match &mut worker.pacer {
        // It is due when it is sent, and never over before.
        None => u64::MAX,
        Some(pacer) => match pacer.take(now_ns) {
            Some(due_ns) => due_ns,
            None => return false,
        },
    };
    let Some((turn, measured)) = worker.draw(now_ns, ConnId(client), 1) else { return false };
    if let Steps { operations: Some(operations), growing, .. } = &mut worker.steps {
        let mark = |first, commands| R::mark(first, commands, client);
        let number = turn.first;
        let request =
            Request::of_operation(operations, growing, number, intended_ns, measured, mark);
        R::enqueue(worker, request);
    } else if worker.route.sends_whole() {
        let mark = R::mark(0, turn.commands, client);
        R::enqueue(worker, request::<R>(turn, 0, turn.commands, intended_ns, measured, mark));
    } else {
        for command in 0..turn.commands {
            let mark = R::mark(command, 1, client);
            R::enqueue(worker, request::<R>(turn, command, 1, intended_ns, measured, mark));
        }
    }
    true
}

/// Returns the request for these commands of a sequence, not sent yet.
#[inline]
fn request<R: ByNode>(
    turn: SequenceBatch,
    command: u32,
    left: u32,
    intended_ns: u64,
    measured: bool,
    mark: R::Mark,
) -> Request<R::Mark> {
    Request {
        number: turn.first,
        intended_ns,
        sent_ns: 0,
        handed_ns: 0,
        command,
        left,
        measured,
        progress: OperationState::default(),
        mark,
    }
}

/// Sends a pipeline to a node, on the connection whose turn it is. Returns whether anything moved.
#[inline]
fn send_pipeline<E: Engine, P: Protocol, R: ByNode>(
    worker: &mut Worker<'_, E, P, R>,
    lane: Lane,
) -> bool {
    let Some(conn) = worker.route.shared_mut().queues.take_idle(lane) else { return true };
    worker.connections[conn.0 as usize].queued = false;
    let room = worker.room(conn) as usize;
    let (now_ns, deadline) = (worker.engine.now_ns(), worker.deadline);
    // After the end only what was sent before is sent again.
    let over = now_ns >= worker.stop_ns;
    let of_run = worker.context.message_origin(conn);
    let (scheduled, by_operation) = (worker.is_scheduled(), worker.steps.operations.is_some());
    let Worker { engine, connections, route, batch, recorder, pacer, in_flight, steps, .. } =
        worker;
    let source = worker.source.as_ref();
    let requests = &mut connections[conn.0 as usize].requests;
    let mut out = std::mem::take(&mut route.shared_mut().out);
    out.clear();
    let (mut count, mut measured) = (0, false);
    while count < room {
        route.shared_mut().set_over_aside(lane, deadline, now_ns);
        let Some(next) = route.shared().queues.peek(lane) else { break };
        // Requests that were sent before stay in flight all the time.
        let (is_new, commands) = (!R::was_sent(next), u64::from(next.left));
        let begins = !route.has_begun(next);
        if is_new {
            let full = *in_flight + commands > route.shared().under_way_max();
            if full {
                // Requests in flight elsewhere take all the room.
                route.shared_mut().queues.no_room_before(lane, now_ns);
            }
            // An operation that has begun goes on to its end.
            if full || over && begins {
                break;
            }
            *in_flight += commands;
        }
        let Some(mut request) = route.shared_mut().queues.pop(lane) else { break };
        route.take_up(&mut request);
        let counted = by_operation.then_some(&mut *recorder);
        let start = out.len();
        route.write(&request, lane.node, (batch, &steps.kept, source), counted, &mut out);
        if let Some(origin) = &of_run {
            // In a closed loop each is due when it is sent.
            let due_ns = if pacer.is_some() { request.intended_ns } else { now_ns };
            let message = origin.message(request.measured, request.number, due_ns, now_ns);
            batch.put_message(route.shared_mut().order.placed(conn, message), &mut out[start..]);
        }
        measured |= request.measured;
        requests.push(request);
        count += 1;
    }
    if count == 0 {
        route.shared_mut().out = out;
        queue_up(worker, conn);
        return room == 0;
    }
    let sent_ns = engine.send(conn, &out);
    let room_ns = route.shared().queues.room_ns(lane);
    let sent = requests.newest_mut(count);
    note_sent(route, recorder, sent, room_ns, sent_ns, scheduled, by_operation);
    let len = out.len();
    route.shared_mut().out = out;
    worker.begins(conn, count as u32);
    worker.count_sent(conn, len, sent_ns, measured);
    if worker.rolling && worker.context.plan.load.concurrency.keep_alive {
        queue_up(worker, conn);
    }
    true
}

/// Records that requests were sent, on a schedule or not, and as operations or commands.
#[inline]
fn note_sent<'q, R: ByNode<Mark: 'q>>(
    route: &mut R,
    recorder: &mut Recorder,
    requests: impl Iterator<Item = &'q mut Request<R::Mark>>,
    room_ns: u64,
    sent_ns: u64,
    scheduled: bool,
    by_operation: bool,
) {
    for request in requests {
        let due = !R::was_sent(request) && request.handed(sent_ns, !scheduled);
        request.handed_ns = sent_ns;
        if route.begins(request) && due && scheduled && request.measured {
            let counted = if by_operation { 1 } else { request.left };
            recorder.sent(request.intended_ns, room_ns, sent_ns, u64::from(counted));
        }
    }
}

/// Counts a reply for its node.
#[inline]
pub(super) fn tally_reply(tally: &mut NodeTally, answered: &CommandReply, now_ns: u64) {
    if answered.measured {
        tally.ok += 1;
        tally.response.record_n(now_ns - answered.intended_ns, 1);
    }
}
