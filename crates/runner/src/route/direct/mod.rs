//! The route to one server, or to several interchangeable ones: any connection takes any request.
//!
//! A pipeline is drawn when a connection has room for it, and sent from the batch's image as one piece. In an
//! open loop the connections with room form a queue and take due requests in turn. Requests of a source
//! have their own connections ([`sourced`]).

mod due_queues;
mod sourced;

use std::borrow::Cow;
use std::collections::VecDeque;

use engine::{Address, ConnId, Engine};
use wire::Protocol;
use workload::SequenceBatch;

use due_queues::DueQueues;

use super::{Route, RouteHooks};
use crate::connection::State;
use crate::destination::Destination;
use crate::recorder::Recorder;
use crate::request::{OperationState, Request};
use crate::worker::operations::Steps;
use crate::worker::{Worker, WorkerContext, operations};

/// The route to one server or a pool of interchangeable servers.
pub(crate) struct DirectRoute<'r> {
    destination: &'r Destination,
    /// Addresses of the servers, used in turn.
    addresses: Vec<Address>,
    generation: u32,
    /// Number of the first connection, counted over all workers and shares.
    first_connection: u64,
    /// Connections with room, in an open loop.
    queue: VecDeque<ConnId>,
    /// Time since which a connection has had room.
    room_ns: u64,
    /// Due times of the requests in the current pipeline.
    due_ns: Vec<u64>,
    /// Bytes of the operations of a mix that are sent together.
    out: Vec<u8>,
    /// Requests of a source that each connection is to send once it has room.
    waiting: DueQueues,
}

impl<'r> DirectRoute<'r> {
    /// Returns the route to a server that may move, or to the servers of a pool.
    pub(crate) fn new(context: &WorkerContext<'r>, pool: &[Address]) -> Self {
        let (destination, plan) = (context.destination, context.plan);
        let generation = destination.generation();
        let addresses = match pool {
            [] => vec![destination.address()],
            pool => pool.to_vec(),
        };
        let before = plan.load.shard.part(plan.load.concurrency.connections.into()).start;
        Self {
            destination,
            addresses,
            generation,
            first_connection: before + u64::from(context.first_connection),
            queue: VecDeque::with_capacity(context.connections as usize),
            room_ns: 0,
            due_ns: Vec::with_capacity(plan.load.concurrency.pipeline_depth as usize),
            out: Vec::new(),
            waiting: DueQueues::new(plan, context.connections),
        }
    }
}

impl Route for DirectRoute<'_> {
    type Mark = ();
    /// Number of the server.
    type RouteState = u16;
    const COUNTS_ALL: bool = true;

    fn places(&self, connections: u32) -> Vec<u16> {
        let servers = self.addresses.len() as u64;
        (0..connections)
            .map(|n| ((self.first_connection + u64::from(n)) % servers) as u16)
            .collect()
    }

    fn address(&self, place: &u16) -> Cow<'_, Address> {
        Cow::Borrowed(&self.addresses[usize::from(*place)])
    }

    /// Records the server of a connection. A lone server has number 0.
    #[inline]
    fn record_of(&self, place: &u16, recorder: &mut Recorder) {
        if self.addresses.len() > 1 {
            recorder.of_node(*place);
        }
    }

    fn has_room(&self, _in_flight: u64) -> bool {
        !self.queue.is_empty()
    }

    fn waiting(&self) -> u64 {
        self.waiting.len
    }
}

impl RouteHooks for DirectRoute<'_> {
    fn prepare<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        worker.recorder.know_nodes(worker.route.addresses.len(), worker.engine.now_ns());
    }

    fn start<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        for conn in (0..worker.connections.len() as u32).map(ConnId) {
            Self::refill(worker, conn);
        }
        Self::dispatch(worker);
    }

    #[inline]
    fn refill<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId) {
        if worker.source.is_some() {
            sourced::send_waiting(worker, conn);
        } else if worker.pacer.is_some() {
            queue_up(worker, conn);
        } else {
            send_next(worker, conn);
        }
    }

    #[inline]
    fn dispatch<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        if worker.source.is_some() {
            sourced::send_due(worker);
        } else if worker.pacer.is_some() {
            send_due(worker);
        }
    }

    /// Sends the next steps on the same connection, together.
    #[inline]
    fn follow<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId) {
        let Worker { connections, steps, recorder, batch, route, in_flight, .. } = worker;
        let connection = &mut connections[conn.0 as usize];
        if connection.state != State::Ready {
            // Their operations are lost with it.
            let lost = std::mem::take(&mut steps.due);
            return lost.iter().for_each(|lost| steps.forget(lost.progress));
        }
        route.out.clear();
        let count = steps.due.len();
        for request in steps.due.drain(..) {
            operations::append(&request, batch, &steps.kept, recorder, &mut route.out);
            *in_flight += u64::from(request.left);
            connection.requests.push(request);
        }
        send_operations(worker, conn, count);
    }

    /// Retires every connection to the server's old address.
    fn take_news<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        let destination = worker.route.destination;
        let generation = destination.generation();
        if !worker.reconnects() || generation == worker.route.generation {
            return;
        }
        worker.route.generation = generation;
        // Only one that is alone is followed.
        worker.route.addresses = vec![destination.address()];
        for conn in (0..worker.connections.len() as u32).map(ConnId) {
            let connection = &mut worker.connections[conn.0 as usize];
            connection.attempts = 0;
            if connection.state != State::Closed {
                worker.hang_up(conn, 0);
            }
        }
        let now_ns = worker.engine.now_ns();
        worker.recovery.reopening.hurry(now_ns);
    }

    fn absent_server<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> Option<String> {
        let is_there = worker.connections.iter().any(|c| c.state == State::Ready);
        let named = worker.route.addresses.iter().map(Address::to_string);
        (!is_there).then(|| named.collect::<Vec<_>>().join(", "))
    }

    #[inline]
    fn after_event<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        Self::dispatch(worker);
    }

    fn gives_up<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>, now_ns: u64) -> bool {
        worker.source.is_some() && sourced::only_blocked(worker, now_ns)
    }

    /// Notes that each server of a pool is asked while its own connections have something to send; with a
    /// source, while the source has no gap.
    fn note_asked<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        if worker.source.is_some() {
            let is_asked = sourced::is_asked(worker);
            return worker.recorder.asks(|_| is_asked);
        }
        if worker.route.addresses.len() == 1 {
            return;
        }
        let Worker { connections, recorder, context, .. } = worker;
        recorder.asks(|server| {
            (0..).zip(&*connections).any(|(conn, connection)| {
                connection.place == server
                    && (!connection.is_idle() || context.stream.left(conn, 1) > 0)
            })
        });
    }
}

type DirectWorker<'w, 'r, E, P> = Worker<'w, E, P, DirectRoute<'r>>;

/// Sends the next pipeline at once, in a closed loop.
#[inline]
fn send_next<E: Engine, P: Protocol>(worker: &mut DirectWorker<'_, '_, E, P>, conn: ConnId) {
    let now_ns = worker.engine.now_ns();
    if now_ns >= worker.stop_ns {
        return;
    }
    let room = worker.room(conn);
    if room == 0 {
        return;
    }
    let Some((turn, measured)) = worker.draw(now_ns, conn, room) else {
        return;
    };
    worker.begins(conn, turn.sequences);
    if worker.steps.operations.is_some() {
        return begin_operations(worker, conn, turn, measured);
    }
    let sent_ns = send(worker, conn, turn, measured);
    worker.connections[conn.0 as usize].requests.push(Request {
        number: turn.first,
        intended_ns: sent_ns,
        sent_ns,
        handed_ns: sent_ns,
        command: 0,
        left: turn.commands,
        measured,
        progress: OperationState::default(),
        mark: (),
    });
}

/// Sends the due requests of an open loop, on the connections with room, in turn.
fn send_due<E: Engine, P: Protocol>(worker: &mut DirectWorker<'_, '_, E, P>) {
    let now_ns = worker.engine.now_ns();
    let sequence_len = worker.sequence_len;
    worker.give_up_undrawn(now_ns);
    while !worker.spent && now_ns < worker.stop_ns {
        let Some(pacer) = &mut worker.pacer else { return };
        if !pacer.is_due(now_ns) {
            return;
        }
        let Some(conn) = worker.route.queue.pop_front() else {
            return;
        };
        worker.connections[conn.0 as usize].queued = false;
        let room = worker.room(conn);
        let room = worker.left(now_ns, conn, room);
        if room == 0 {
            continue;
        }
        let Worker { pacer: Some(pacer), route, .. } = worker else { return };
        route.due_ns.clear();
        while route.due_ns.len() < room as usize
            && let Some(due_ns) = pacer.take(now_ns)
        {
            route.due_ns.push(due_ns);
        }
        let sequences = route.due_ns.len() as u32;
        let Some((turn, measured)) = worker.draw(now_ns, conn, sequences) else {
            return;
        };
        worker.begins(conn, turn.sequences);
        if worker.steps.operations.is_some() {
            begin_operations(worker, conn, turn, measured);
            queue_up(worker, conn);
            continue;
        }
        let sent_ns = send(worker, conn, turn, measured);
        let Worker { connections, recorder, route, .. } = worker;
        let requests = &mut connections[conn.0 as usize].requests;
        let mut left = turn.commands;
        for (n, &intended_ns) in (0..u64::from(turn.sequences)).zip(&route.due_ns) {
            let commands = left.min(sequence_len);
            left -= commands;
            if measured {
                recorder.sent(intended_ns, route.room_ns, sent_ns, u64::from(commands));
            }
            requests.push(Request {
                number: turn.first.wrapping_add(n),
                intended_ns,
                sent_ns,
                handed_ns: sent_ns,
                command: 0,
                left: commands,
                measured,
                progress: OperationState::default(),
                mark: (),
            });
        }
        queue_up(worker, conn);
    }
}

/// Puts a connection last among those with room, so that all take turns.
fn queue_up<E: Engine, P: Protocol>(worker: &mut DirectWorker<'_, '_, E, P>, conn: ConnId) {
    let room = worker.room(conn);
    let used_up = worker.is_used_up(conn);
    let connection = &mut worker.connections[conn.0 as usize];
    if room > 0 && !connection.queued && !used_up {
        connection.queued = true;
        if worker.route.queue.is_empty() {
            worker.route.room_ns = worker.engine.now_ns();
        }
        worker.route.queue.push_back(conn);
    }
}

/// Sends the commands of a turn and returns when.
#[inline]
fn send<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    turn: SequenceBatch,
    measured: bool,
) -> u64 {
    let bytes = match worker.context.message_origin(conn) {
        None => worker.batch.fill(turn),
        Some(origin) => {
            let now_ns = worker.engine.now_ns();
            let route = &worker.route;
            worker.batch.fill_messages(turn, |place| {
                // In a closed loop each is due when it is sent.
                let due_ns = route.due_ns.get(place as usize).map_or(now_ns, |due_ns| *due_ns);
                origin.message(measured, turn.first.wrapping_add(place), due_ns, now_ns)
            })
        }
    };
    let sent_ns = worker.engine.send(conn, bytes);
    let len = bytes.len();
    worker.count_sent(conn, len, sent_ns, measured);
    worker.in_flight += u64::from(turn.commands);
    sent_ns
}

/// Sends the first steps of the operations of a turn. The route gives the due times of scheduled ones.
#[inline]
fn begin_operations<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    turn: SequenceBatch,
    measured: bool,
) {
    let of_run = worker.context.message_origin(conn).map(|origin| (origin, worker.engine.now_ns()));
    if worker.has_single_operations() && worker.pacer.is_none() && of_run.is_none() {
        return begin_runs(worker, conn, turn, measured);
    }
    let share = worker.context.plan.load.share;
    let Worker { connections, steps, recorder, batch, route, pacer, in_flight, .. } = worker;
    let Steps { operations: Some(operations), growing, kept, .. } = steps else { return };
    let connection = &mut connections[conn.0 as usize];
    route.out.clear();
    for n in 0..turn.sequences {
        let number = turn.first.wrapping_add(u64::from(n));
        let due_ns = if pacer.is_some() { route.due_ns[n as usize] } else { 0 };
        let mut request =
            Request::of_operation(operations, growing, number, due_ns, measured, |_, _| ());
        connection.scan.go_on(operations, share, &mut request);
        let start = route.out.len();
        operations::append(&request, batch, kept, recorder, &mut route.out);
        if let Some((origin, now_ns)) = of_run {
            // In a closed loop each is due when it is sent.
            let due_ns = if pacer.is_some() { due_ns } else { now_ns };
            let message = origin.message(measured, number, due_ns, now_ns);
            batch.put_message(message, &mut route.out[start..]);
        }
        *in_flight += u64::from(request.left);
        connection.requests.push(request);
    }
    send_operations(worker, conn, turn.sequences as usize);
}

/// Begins operations of one command each. Those of one command in a row are one request.
fn begin_runs<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    turn: SequenceBatch,
    measured: bool,
) {
    let Worker { connections, steps, recorder, batch, route, in_flight, .. } = worker;
    let Some(operations) = &steps.operations else { return };
    let requests = &mut connections[conn.0 as usize].requests;
    route.out.clear();
    let number = |n: u32| turn.first.wrapping_add(n.into());
    let (mut n, mut runs, mut picked) = (0, 0, operations.pick(turn.first));
    while n < turn.sequences {
        let (first, operation) = (n, picked);
        let command = operations.first_step(operation).start;
        let before = route.out.len();
        while n < turn.sequences && picked == operation {
            n += 1;
            picked = operations.pick(number(n));
        }
        batch.append_run(number(first), n - first, command as usize, &mut route.out);
        recorder.sent_bytes(command, route.out.len() - before, measured);
        runs += 1;
        requests.push(Request {
            number: number(first),
            intended_ns: 0,
            sent_ns: 0,
            handed_ns: 0,
            command,
            left: n - first,
            measured,
            progress: OperationState { operation, is_run: true, ..OperationState::default() },
            mark: (),
        });
    }
    *in_flight += u64::from(turn.sequences);
    send_operations(worker, conn, runs);
}

/// Sends the prepared bytes of the last `count` requests of a connection.
#[inline]
fn send_operations<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    count: usize,
) {
    let (len, room_ns) = (worker.route.out.len(), worker.route.room_ns);
    let sent_ns = worker.engine.send_vec(conn, &mut worker.route.out);
    worker.note_handed(conn, count, len, room_ns, sent_ns);
}
