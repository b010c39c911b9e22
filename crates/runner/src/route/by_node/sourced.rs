//! Requests of a source on several servers: due commands wait in the queue of their client for their node.
//!
//! The commands of a client to a node share a connection and so keep their order. Their bytes stay with the
//! source until they cannot be needed again, since a node may redirect.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::ByNode;
use crate::request::Request;
use crate::source::blocked::{BLOCKED_MAX_NS, is_blocked};
use crate::source::blocks::WorkerSource;
use crate::worker::Worker;

/// Puts due commands into the queues of their nodes.
pub(super) fn draw_due<E: Engine, P: Protocol, R: ByNode>(worker: &mut Worker<'_, E, P, R>) {
    let now_ns = worker.engine.now_ns();
    let Worker { source: Some(source), route, .. } = worker else { return };
    route.shared_mut().forgotten.drain(..).for_each(|number| source.release(number));
    if source.is_full() {
        forget_blocked(worker, now_ns);
    }
    while !worker.spent && now_ns < worker.stop_ns {
        let Some(source) = &mut worker.source else { return };
        let Some((number, client)) = source.take(now_ns) else {
            worker.spent = source.is_spent();
            return;
        };
        let (command, due_ns) = source.command(number);
        worker.route.shared_mut().drawn_ns = now_ns;
        let mark = R::mark_sourced(client, &command);
        R::enqueue(worker, Request::sourced(number, &command, due_ns, mark));
    }
}

/// Returns whether all remaining commands wait for other clients, or behind such a command, while no client
/// is left to release them.
pub(crate) fn gives_up<E: Engine, P: Protocol, R: ByNode>(
    worker: &Worker<'_, E, P, R>,
    now_ns: u64,
) -> bool {
    let shared = worker.route.shared();
    worker.source.as_ref().is_some_and(WorkerSource::is_spent)
        && now_ns > shared.drawn_ns.saturating_add(BLOCKED_MAX_NS)
        && worker.connections.iter().all(|connection| {
            let has_nothing = shared.queues.peek(R::lane(&connection.place)).is_none()
                && connection.requests.len() == 0;
            has_nothing || is_blocked(connection, now_ns)
        })
}

/// Forgets commands behind blocked ones where they leave no room for others; they count as due and never
/// sent.
#[cold]
fn forget_blocked<E: Engine, P: Protocol, R: ByNode>(
    worker: &mut Worker<'_, E, P, R>,
    now_ns: u64,
) {
    for conn in (0..worker.connections.len() as u32).map(ConnId) {
        let connection = &worker.connections[conn.0 as usize];
        if !is_blocked(connection, now_ns) {
            continue;
        }
        let lane = R::lane(&connection.place);
        let behind = worker.route.shared_mut().queues.take(lane.node, |request| {
            R::client(&request.mark) == lane.client && !R::was_sent(request)
        });
        if let Some(source) = &mut worker.source {
            behind.iter().for_each(|request| source.release(request.number));
        }
    }
}
