//! Steps of operations: sent to the nodes of their keys, or over the connection of the previous step.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::ByNode;
use crate::connection::State;
use crate::request::Request;
use crate::worker::Worker;

/// Sends the steps that replies have made due, on any connection to the nodes of their keys.
#[inline]
pub(in crate::route) fn follow<E: Engine, P: Protocol, R: ByNode>(
    worker: &mut Worker<'_, E, P, R>,
) {
    let mut due = std::mem::take(&mut worker.steps.due);
    for request in due.drain(..) {
        let mark = R::mark(request.command, request.left, R::client(&request.mark));
        R::enqueue(worker, Request { mark, ..request });
    }
    worker.steps.due = due;
}

/// Sends the next step over the connection of the last replies, which has room: some steps depend on their
/// connection.
#[inline]
pub(in crate::route) fn follow_on<E: Engine, P: Protocol, R: ByNode>(
    worker: &mut Worker<'_, E, P, R>,
    conn: ConnId,
) {
    let Worker { engine, connections, steps, recorder, batch, route, in_flight, .. } = worker;
    let connection = &mut connections[conn.0 as usize];
    if connection.state != State::Ready {
        // Their operations are lost with it.
        let lost = std::mem::take(&mut steps.due);
        return lost.iter().for_each(|lost| steps.forget(lost.progress));
    }
    let count = steps.due.len();
    if count == 0 {
        return;
    }
    let node = R::lane(&connection.place).node;
    let mut out = std::mem::take(&mut route.shared_mut().out);
    out.clear();
    let mut measured = false;
    for request in steps.due.drain(..) {
        let mark = R::mark(request.command, request.left, R::client(&request.mark));
        let request = Request { mark, ..request };
        route.write(&request, node, (batch, &steps.kept, None), Some(&mut *recorder), &mut out);
        *in_flight += u64::from(request.left);
        measured |= request.measured;
        connection.requests.push(request);
    }
    let sent_ns = engine.send(conn, &out);
    for request in connection.requests.newest_mut(count) {
        request.handed(sent_ns, false);
    }
    let len = out.len();
    route.shared_mut().out = out;
    worker.begins(conn, count as u32);
    worker.count_sent(conn, len, sent_ns, measured);
}
