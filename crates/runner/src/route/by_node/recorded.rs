//! Recorded traffic on several servers: what is due waits in the queue of its client for its node.
//!
//! What a client sends to a node keeps its order by sharing a connection. Its bytes stay with the record until nobody
//! can ask for them again: a node may say that another one has the key.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::ByNode;
use crate::recorded::blocked::{BLOCKED_MAX_NS, is_blocked};
use crate::recorded::source::RecordedSource;
use crate::request::Request;
use crate::worker::Worker;

/// Puts what is due into the queues of its nodes.
pub(super) fn draw_due<E: Engine, P: Protocol, R: ByNode>(worker: &mut Worker<'_, E, P, R>) {
    let now_ns = worker.engine.now_ns();
    let Worker { record: Some(source), route, .. } = worker else { return };
    route.shared_mut().forgotten.drain(..).for_each(|number| source.release(number));
    if source.is_full() {
        forget_blocked(worker, now_ns);
    }
    while !worker.spent && now_ns < worker.stop_ns {
        let Some(source) = &mut worker.record else { return };
        let Some((number, client)) = source.take(now_ns) else {
            worker.spent = source.is_spent();
            return;
        };
        let (command, due_ns) = source.command(number);
        worker.route.shared_mut().drawn_ns = now_ns;
        let mark = R::mark_recorded(client, &command);
        R::enqueue(worker, Request::recorded(number, &command, due_ns, mark));
    }
}

/// Returns whether all that is left waits for others, or behind a command that does, while nobody is there who could
/// send them what they wait for.
pub(crate) fn gives_up<E: Engine, P: Protocol, R: ByNode>(
    worker: &Worker<'_, E, P, R>,
    now_ns: u64,
) -> bool {
    let shared = worker.route.shared();
    worker.record.as_ref().is_some_and(RecordedSource::is_spent)
        && now_ns > shared.drawn_ns.saturating_add(BLOCKED_MAX_NS)
        && worker.connections.iter().all(|connection| {
            let has_nothing = shared.queues.peek(R::lane(&connection.place)).is_none()
                && connection.requests.len() == 0;
            has_nothing || is_blocked(connection, now_ns)
        })
}

/// Forgets what waits behind blocked commands where it leaves no room for what others send: it is due and never sent.
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
        let is_behind = |request: &Request<R::Mark>| {
            R::client(&request.mark) == lane.client && !R::was_sent(request)
        };
        let behind = worker.route.shared_mut().queues.take(lane.node, is_behind);
        if let Some(source) = &mut worker.record {
            behind.iter().for_each(|request| source.release(request.number));
        }
    }
}
