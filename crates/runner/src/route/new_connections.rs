//! The route of a plan that measures connections: each sequence is sent on a connection that is opened for
//! it.
//!
//! A request begins when its connection is requested, so its latency includes every stage of opening, and a
//! failed attempt is a failed request. Owns the free slots for connections, the closing times of held
//! connections, and the duration of each stage. The worker opens connections, logs in and settles replies.

use std::borrow::Cow;
use std::collections::VecDeque;

use engine::{Address, ConnId, Engine};
use wire::Protocol;
use workload::{ConnectionPerRequest, SequenceBatch};

use super::{Route, RouteHooks};
use crate::connection::State;
use crate::destination::Destination;
use crate::explain;
use crate::recorder::Recorder;
use crate::request::{LostRequests, OperationState, Request, SettledReply};
use crate::worker::{Worker, WorkerContext};

/// Maximum number of connections begun in one turn; after that, the clock is read again and events are handled.
const BEGUN_MAX: usize = 16;

/// The route to one server or several interchangeable ones, with a connection for each request.
pub(crate) struct NewConnections<'r> {
    destination: &'r Destination,
    /// Addresses of the servers, used in turn.
    addresses: Vec<Address>,
    generation: u32,
    per_request: ConnectionPerRequest,
    /// Places without a connection.
    free: Vec<ConnId>,
    /// Time since which a slot has been free.
    room_ns: u64,
    /// Held connections with their closing times, in that order.
    held: VecDeque<(u64, ConnId)>,
    begun: u64,
}

/// Note on a connection: the request that it was opened for.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Attempt {
    /// The number of its server.
    server: u16,
    /// Sequence that it sends once it is ready.
    turn: Option<SequenceBatch>,
    measured: bool,
    sent_ns: u64,
    /// Time of its last reply; 0 before that and after an error.
    replied_ns: u64,
    /// Time at which a held connection is to be closed; 0 otherwise.
    close_ns: u64,
}

impl<'r> NewConnections<'r> {
    /// Returns the route to a server that may move, or to the servers of a pool.
    pub(crate) fn new(context: &WorkerContext<'r>, pool: &[Address]) -> Self {
        let destination = context.destination;
        let generation = destination.generation();
        let addresses = match pool {
            [] => vec![destination.address()],
            pool => pool.to_vec(),
        };
        Self {
            destination,
            addresses,
            generation,
            per_request: context.plan.load.concurrency.per_request.unwrap_or_default(),
            free: (0..context.connections).rev().map(ConnId).collect(),
            room_ns: 0,
            held: VecDeque::with_capacity(context.connections as usize),
            begun: u64::from(context.worker),
        }
    }

    fn release(&mut self, conn: ConnId, now_ns: u64) {
        if self.free.is_empty() {
            self.room_ns = now_ns;
        }
        self.free.push(conn);
    }
}

impl Route for NewConnections<'_> {
    type Mark = ();
    type RouteState = Attempt;
    const OPENS_FIRST: bool = false;

    fn places(&self, connections: u32) -> Vec<Attempt> {
        vec![Attempt::default(); connections as usize]
    }

    fn address(&self, place: &Attempt) -> Cow<'_, Address> {
        Cow::Borrowed(&self.addresses[usize::from(place.server)])
    }

    fn record_of(&self, place: &Attempt, recorder: &mut Recorder) {
        if self.addresses.len() > 1 {
            recorder.of_node(place.server);
        }
    }

    fn has_room(&self, _in_flight: u64) -> bool {
        !self.free.is_empty()
    }

    fn counts(
        &mut self,
        place: &mut Attempt,
        _request: &Request<()>,
        _answer: &SettledReply,
        now_ns: u64,
    ) -> bool {
        place.replied_ns = now_ns;
        true
    }
}

impl RouteHooks for NewConnections<'_> {
    fn prepare<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        worker.recorder.know_nodes(worker.route.addresses.len(), worker.engine.now_ns());
    }

    fn start<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        worker.route.room_ns = worker.engine.now_ns();
        Self::dispatch(worker);
    }

    /// Continues with a connection that is ready for its request, or has its reply.
    fn refill<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId) {
        let connection = &mut worker.connections[conn.0 as usize];
        if connection.state != State::Ready {
            return;
        }
        match connection.place.turn.take() {
            Some(turn) => send(worker, conn, turn),
            None if connection.is_idle() => answered(worker, conn),
            None => {}
        }
    }

    fn dispatch<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        close_held(worker);
        for _ in 0..BEGUN_MAX {
            if !begin_next(worker) {
                return;
            }
        }
    }

    /// Does nothing, as each request is an operation of one step.
    fn follow<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, _conn: ConnId) {
        worker.steps.due.clear();
    }

    /// Sends the next connections to the server's new address.
    fn take_news<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        let route = &mut worker.route;
        let generation = route.destination.generation();
        if generation != route.generation {
            // Only one that is alone is followed.
            (route.generation, route.addresses) = (generation, vec![route.destination.address()]);
        }
    }

    /// Returns none: connections are absent most of the time, and nothing waits for one.
    fn absent_server<E: Engine, P: Protocol>(_worker: &Worker<'_, E, P, Self>) -> Option<String> {
        None
    }

    /// Counts a failed attempt as a failed request, whose kind names the cause.
    fn gives_up_connection<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
        conn: ConnId,
        overdue_ns: u64,
    ) -> bool {
        let now_ns = worker.engine.now_ns();
        let server = worker.route.server(&worker.connections[conn.0 as usize].place);
        let Worker { connections, recorder, recovery, in_flight, .. } = worker;
        let connection = &mut connections[conn.0 as usize];
        let why = match connection.state {
            State::Ready => "the server closed the connection",
            State::Closed | State::Opening | State::Handshake { .. } => {
                recovery.refusal(&server).unwrap_or("the server closed the connection")
            }
        };
        let kind = if overdue_ns > 0 { explain::NO_ANSWER } else { explain::opening_failure(why) };
        let timed_out = kind == explain::NO_ANSWER;
        if connection.state == State::Ready && connection.is_idle() {
            recorder.connections().dropped += 1;
        }
        *in_flight -= u64::from(connection.requests.commands());
        let mut lost = LostRequests::default();
        connection.requests.abandon(0, 0, |request| {
            if timed_out {
                lost.timed_out += u64::from(request.measured) * u64::from(request.left)
            } else {
                recorder.error(&request.answered(now_ns), kind, why, 0, now_ns)
            }
            0
        });
        recorder.abandoned(lost, now_ns);
        connection.place = Attempt::default();
        worker.unready(conn);
        worker.route.release(conn, now_ns);
        true
    }

    fn wake_ns<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>, now_ns: u64) -> u64 {
        let begins = worker.pacer.is_none() && !worker.route.free.is_empty() && !worker.is_over();
        let closes_ns = worker.route.held.front().map_or(u64::MAX, |(close_ns, _)| *close_ns);
        if begins { now_ns } else { closes_ns }
    }
}

type Opener<'w, 'r, E, P> = Worker<'w, E, P, NewConnections<'r>>;

/// Begins a connection for the next request, if one is due and a slot is free. Returns whether it did.
fn begin_next<E: Engine, P: Protocol>(worker: &mut Opener<'_, '_, E, P>) -> bool {
    let now_ns = worker.engine.now_ns();
    if worker.spent || now_ns >= worker.stop_ns {
        return false;
    }
    worker.give_up_undrawn(now_ns);
    let Some(&conn) = worker.route.free.last() else { return false };
    if worker.pacer.as_mut().is_some_and(|pacer| !pacer.is_due(now_ns)) {
        return false;
    }
    let due_ns = match &mut worker.pacer {
        Some(pacer) => pacer.take(now_ns).unwrap_or(now_ns),
        None => now_ns,
    };
    let Some((turn, measured)) = worker.draw(now_ns, conn, 1) else { return false };
    worker.route.free.pop();
    let commands = turn.commands;
    if measured && worker.pacer.is_some() {
        worker.recorder.sent(due_ns, worker.route.room_ns, now_ns, u64::from(commands));
    }
    let server = (worker.route.begun % worker.route.addresses.len() as u64) as u16;
    worker.route.begun += u64::from(worker.context.workers);
    let connection = &mut worker.connections[conn.0 as usize];
    connection.place = Attempt { server, turn: Some(turn), measured, ..Attempt::default() };
    connection.requests.push(Request {
        number: turn.first,
        intended_ns: due_ns,
        sent_ns: now_ns,
        handed_ns: now_ns,
        command: 0,
        left: commands,
        measured,
        progress: OperationState::default(),
        mark: (),
    });
    worker.in_flight += u64::from(commands);
    worker.connect(conn);
    worker.recovery.opens(now_ns);
    true
}

/// Sends the request that a connection was opened for.
fn send<E: Engine, P: Protocol>(
    worker: &mut Opener<'_, '_, E, P>,
    conn: ConnId,
    turn: SequenceBatch,
) {
    let ready_ns = worker.engine.now_ns();
    let requests = &mut worker.connections[conn.0 as usize].requests;
    let request = requests.oldest_mut().map(|request| *request);
    if let Some(request) = request.filter(|of| worker.deadline.is_over(of.intended_ns, ready_ns)) {
        worker.in_flight -= u64::from(requests.commands());
        requests.abandon(0, 0, |_| 0);
        worker.give_up_request(&request, ready_ns);
        return close(worker, conn);
    }
    let bytes = worker.batch.fill(turn);
    let (len, sent_ns) = (bytes.len(), worker.engine.send(conn, bytes));
    let tls_ns = worker.engine.handshake(conn).map(|handshake| handshake.took_ns);
    let logs_in = worker.logs_in();
    let connection = &mut worker.connections[conn.0 as usize];
    connection.place.sent_ns = sent_ns;
    let (asked_ns, opened_ns) = (connection.asked_ns, connection.opened_ns);
    let measured = connection.place.measured;
    worker.count_sent(conn, len, sent_ns, measured);
    let Some(stages) = worker.recorder.stages(measured) else { return };
    let open_ns = opened_ns.saturating_sub(asked_ns);
    stages.connected.record_n(open_ns.saturating_sub(tls_ns.unwrap_or(0)), 1);
    if let Some(tls_ns) = tls_ns {
        stages.tls.record_n(tls_ns, 1);
    }
    if logs_in {
        stages.login.record_n(ready_ns.saturating_sub(opened_ns), 1);
    }
}

/// Holds a connection that has its reply for as long as the plan says, or closes it.
fn answered<E: Engine, P: Protocol>(worker: &mut Opener<'_, '_, E, P>, conn: ConnId) {
    let now_ns = worker.engine.now_ns();
    let Attempt { measured, sent_ns, replied_ns, .. } = worker.connections[conn.0 as usize].place;
    if replied_ns > 0
        && let Some(stages) = worker.recorder.stages(measured)
    {
        stages.first_reply.record_n(replied_ns.saturating_sub(sent_ns), 1);
    }
    match worker.route.per_request.hold_ns {
        None => {}
        Some(0) => close(worker, conn),
        Some(hold_ns) => {
            let close_ns = now_ns.saturating_add(hold_ns);
            worker.connections[conn.0 as usize].place.close_ns = close_ns;
            worker.route.held.push_back((close_ns, conn));
        }
    }
}

fn close<E: Engine, P: Protocol>(worker: &mut Opener<'_, '_, E, P>, conn: ConnId) {
    worker.engine.close(conn);
    worker.unready(conn);
    worker.connections[conn.0 as usize].place = Attempt::default();
    let now_ns = worker.engine.now_ns();
    worker.route.release(conn, now_ns);
}

/// Closes the connections that have been held long enough.
fn close_held<E: Engine, P: Protocol>(worker: &mut Opener<'_, '_, E, P>) {
    let now_ns = worker.engine.now_ns();
    while let Some(&(close_ns, conn)) = worker.route.held.front() {
        if close_ns > now_ns {
            return;
        }
        worker.route.held.pop_front();
        // One that the server has closed meanwhile may have made room for another.
        if worker.connections[conn.0 as usize].place.close_ns == close_ns {
            close(worker, conn);
        }
    }
}
