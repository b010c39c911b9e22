//! What is sent: drawn from the stream, put into the queue of its node, and taken from there.

use engine::{ConnId, Engine};
use wire::{Batch, Protocol};
use workload::Turn;

use super::{Cluster, ClusterRequest, ClusterWorker, Mark};
use crate::request::{Progress, Request};
use crate::worker::kept::Kept;
use crate::worker::operations::Steps;
use crate::worker::{Worker, operations};

/// Puts a connection behind the others of its node that have room.
#[inline]
pub(super) fn queue_up<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    conn: ConnId,
) {
    let room = worker.room(conn);
    let connection = &mut worker.connections[conn.0 as usize];
    if !connection.queued && room > 0 {
        connection.queued = true;
        let now_ns = worker.engine.now_ns();
        worker.route.queues.add_idle(connection.place.node, conn, now_ns);
    }
}

/// Draws requests for the connections that have room, and sends what can be sent.
#[inline]
pub(super) fn dispatch<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    while worker.route.queues.wants_more() && draw(worker) {}
    // Each queue once: what is left then waits for room or for its time.
    let mut held_back = None;
    while let Some(node) = worker.route.queues.next_sendable() {
        let sent = send_pipeline(worker, node);
        worker.route.queues.update(node);
        if !sent {
            // Others may have something that is to be sent again.
            if held_back == Some(node) {
                break;
            }
            held_back = held_back.or(Some(node));
        }
    }
}

/// Takes the next sequence off the stream, if one is left and due.
#[inline]
fn draw<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) -> bool {
    if worker.is_over() {
        return false;
    }
    let now_ns = worker.engine.now_ns();
    if worker.route.is_full(worker.in_flight) {
        return false;
    }
    let intended_ns = match &mut worker.pacer {
        None => 0,
        Some(pacer) => match pacer.take(now_ns) {
            Some(due_ns) => due_ns,
            None => return false,
        },
    };
    let Some((turn, measured)) = worker.draw(now_ns, ConnId(0), 1) else { return false };
    if let Steps { operations: Some(operations), growing, .. } = &mut worker.steps {
        let drawn = (&*operations, growing);
        let request = Request::of_operation(drawn, turn.first, intended_ns, measured, Mark::of);
        enqueue(worker, request);
    } else if worker.route.commands.whole {
        enqueue(worker, request(turn, 0, turn.commands, intended_ns, measured));
    } else {
        for command in 0..turn.commands {
            enqueue(worker, request(turn, command, 1, intended_ns, measured));
        }
    }
    true
}

/// These commands of a sequence, not sent yet.
#[inline]
fn request(
    turn: Turn,
    first: u32,
    commands: u32,
    intended_ns: u64,
    measured: bool,
) -> ClusterRequest {
    Request {
        number: turn.first,
        intended_ns,
        sent_ns: 0,
        handed_ns: 0,
        command: first,
        left: commands,
        measured,
        progress: Progress::default(),
        mark: Mark::of(first, commands),
    }
}

/// Puts a new request into the queue of the node that owns its key.
#[inline]
pub(super) fn enqueue<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    mut request: ClusterRequest,
) {
    let route = &mut worker.route;
    let command = route.commands.key_of(request.command, request.left);
    let given = request.given(&worker.steps.kept);
    let slots = &route.commands.slots;
    request.mark.slot = worker.batch.slot(slots, given, command, &mut route.key);
    request.mark.read_only = route.commands.read_only[command];
    let node = route.map.route(request.mark.slot, request.mark.read_only);
    route.queues.push(node, request);
}

/// Sends a pipeline to a node, on the connection whose turn it is. Whether anything moved.
#[inline]
fn send_pipeline<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    node: u16,
) -> bool {
    let Some(conn) = worker.route.queues.take_idle(node) else { return true };
    worker.connections[conn.0 as usize].queued = false;
    let room = worker.room(conn) as usize;
    let now_ns = worker.engine.now_ns();
    // After the end only what was sent before is sent again.
    let over = now_ns >= worker.stop_ns;
    let Worker { engine, connections, route, batch, recorder, pacer, in_flight, steps, .. } =
        worker;
    let by_operation = steps.operations.is_some();
    let requests = &mut connections[conn.0 as usize].requests;
    route.out.clear();
    let (mut count, mut measured) = (0, false);
    while count < room {
        let Some(next) = route.queues.peek(node) else { break };
        // What was sent before is in flight all the while.
        let (is_new, commands) = (!next.mark.was_sent(), u64::from(next.left));
        let begins = next.progress.step == 0;
        if is_new {
            let full = *in_flight + commands > route.in_flight_max;
            if full {
                // Whatever room there was is taken by what is in flight elsewhere.
                route.queues.no_room_before(node, now_ns);
            }
            // An operation that has begun goes on to its end.
            if full || over && begins {
                break;
            }
            *in_flight += commands;
        }
        let Some(request) = route.queues.pop(node) else { break };
        let asking = request.mark.asking;
        if by_operation && !asking {
            operations::append(&request, (batch, &steps.kept), recorder, &mut route.out);
        } else {
            append(&request, route, (batch, &steps.kept));
        }
        measured |= request.measured;
        requests.push(request);
        count += 1;
    }
    if count == 0 {
        queue_up(worker, conn);
        return room == 0;
    }
    let sent_ns = engine.send(conn, &route.out);
    let room_ns = route.queues.room_ns(node);
    for request in requests.newest_mut(count) {
        let due = !request.mark.was_sent() && request.handed(sent_ns, pacer.is_none());
        request.handed_ns = sent_ns;
        if due && pacer.is_some() && request.measured {
            let counted = if by_operation { 1 } else { request.left };
            recorder.sent(request.intended_ns, room_ns, sent_ns, u64::from(counted));
        }
    }
    let len = route.out.len();
    worker.count_sent(conn, len, measured);
    if worker.rolling && worker.context.plan.fleet.keep_alive {
        queue_up(worker, conn);
    }
    true
}

/// Writes the commands of a request behind what is sent with it.
#[inline]
fn append(request: &ClusterRequest, route: &mut Cluster<'_>, (batch, kept): (&Batch, &Kept)) {
    let Mark { first, commands, asking, .. } = request.mark;
    let (from, to) = (first as usize, (first + commands) as usize);
    let given = request.given(kept);
    if !asking {
        return batch.append_of(given, from..to, &mut route.out);
    }
    for command in from..to {
        if route.commands.asks[command] {
            route.out.extend_from_slice(&route.asking);
        }
        batch.append_of(given, command..command + 1, &mut route.out);
    }
}
