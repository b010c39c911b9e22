//! Requests of a source on one server: each request leaves at its time, on the connection of its client.
//!
//! A client's commands share its connection and so keep their order. If the connection is gone or full, only
//! that client's commands wait.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::DirectWorker;
use crate::request::Request;
use crate::source::blocked::{BLOCKED_MAX_NS, is_blocked};
use crate::source::blocks::WorkerSource;
use crate::worker::Worker;

/// Maximum number of commands that are sent together.
const TOGETHER_MAX: u32 = 512;

/// Sends due commands, consecutive ones of one connection together.
pub(super) fn send_due<E: Engine, P: Protocol>(worker: &mut DirectWorker<'_, '_, E, P>) {
    let now_ns = worker.engine.now_ns();
    if worker.source.as_ref().is_some_and(WorkerSource::is_full) {
        forget_blocked(worker, now_ns);
    }
    let (mut last, mut together) = (None, 0);
    while !worker.spent && now_ns < worker.stop_ns {
        let Some(source) = &mut worker.source else { return };
        let Some((number, connection)) = source.take(now_ns) else {
            worker.spent = source.is_spent();
            break;
        };
        let conn = ConnId(connection);
        if last.is_some_and(|last| last != conn) || together == TOGETHER_MAX {
            last.into_iter().for_each(|last| send(worker, last, 0));
            together = 0;
        }
        let waiting = &mut worker.route.waiting;
        waiting.numbers[connection as usize].push_back(number);
        waiting.len += 1;
        (last, together) = (Some(conn), together + 1);
    }
    last.into_iter().for_each(|last| send(worker, last, 0));
}

/// Sends the waiting commands of a connection that has room again.
#[inline]
pub(super) fn send_waiting<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
) {
    if !worker.route.waiting.numbers[conn.0 as usize].is_empty() {
        let now_ns = worker.engine.now_ns();
        send(worker, conn, now_ns);
    }
}

/// Returns whether all remaining commands wait for other clients, or behind such a command, while no client
/// is left to release them.
pub(super) fn only_blocked<E: Engine, P: Protocol>(
    worker: &DirectWorker<'_, '_, E, P>,
    now_ns: u64,
) -> bool {
    let waiting = &worker.route.waiting;
    worker.spent
        && now_ns > waiting.sent_ns.saturating_add(BLOCKED_MAX_NS)
        && worker.connections.iter().zip(&waiting.numbers).all(|(connection, numbers)| {
            let has_nothing = numbers.is_empty() && connection.requests.len() == 0;
            has_nothing || is_blocked(connection, now_ns)
        })
}

/// Returns whether the server has something to answer, or would if it were there. Commands that wait for
/// other clients do not count.
pub(super) fn is_asked<E: Engine, P: Protocol>(worker: &DirectWorker<'_, '_, E, P>) -> bool {
    let now_ns = worker.engine.now_ns();
    let mut by_connection = worker.connections.iter().zip(&worker.route.waiting.numbers);
    let is_asked = by_connection.any(|(connection, numbers)| {
        let requests = &connection.requests;
        !requests.oldest_is_unmeasured() && (requests.len() > 0 || !numbers.is_empty())
    });
    is_asked || worker.source.as_ref().is_some_and(|source| source.due_before(now_ns) > 0)
}

/// Forgets commands behind blocked ones where they leave no room for others; they count as due and never
/// sent.
#[cold]
fn forget_blocked<E: Engine, P: Protocol>(worker: &mut DirectWorker<'_, '_, E, P>, now_ns: u64) {
    let Worker { connections, route, source: Some(source), .. } = worker else { return };
    let waiting = &mut route.waiting;
    for (connection, numbers) in connections.iter().zip(&mut waiting.numbers) {
        if is_blocked(connection, now_ns) {
            waiting.len -= numbers.len() as u64;
            numbers.drain(..).for_each(|number| source.release(number));
        }
    }
}

/// Sends as many waiting commands as a connection has room for, which it has had since `room_ns`.
fn send<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    room_ns: u64,
) {
    let at = conn.0 as usize;
    let room = worker.room(conn) as usize;
    let Worker { connections, route, source, in_flight, .. } = worker;
    let Some(source) = source else { return };
    let count = route.waiting.numbers[at].len().min(room);
    if count == 0 {
        return;
    }
    let connection = &mut connections[at];
    if connection.begun == 0 {
        // It was opened since.
        route.waiting.dbs[at] = route.waiting.first_db;
    }
    route.out.clear();
    let mut requests = 0;
    for number in route.waiting.numbers[at].drain(..count) {
        let (command, due_ns) = source.command(number);
        let request = Request::sourced(number, &command, due_ns, ());
        if command.db != route.waiting.dbs[at] {
            route.waiting.dbs[at] = command.db;
            append_select::<P>(command.db, &mut route.out);
            connection.requests.push(Request { measured: false, ..request });
            requests += 1;
        }
        route.out.extend_from_slice(source.bytes(number));
        source.release(number);
        connection.requests.push(request);
        requests += 1;
    }
    *in_flight += requests as u64;
    route.waiting.len -= count as u64;
    let sent_ns = worker.engine.send(conn, &worker.route.out);
    worker.route.waiting.sent_ns = sent_ns;
    worker.begins(conn, count as u32);
    let bytes = worker.route.out.len();
    worker.note_handed(conn, requests, bytes, room_ns, sent_ns);
}

/// Appends the command that changes the database. No figure counts it.
#[cold]
fn append_select<P: Protocol>(db: u32, out: &mut Vec<u8>) {
    let (mut digits, mut left, mut start) = ([0; 10], db, 10);
    loop {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    P::encode(&[b"SELECT", &digits[start..]], out);
}
