//! Requests of a ring that are lost without being sent: their server is absent, or their deadline has passed.

use engine::Engine;
use wire::Protocol;

use super::{RingRequest, RingWorker};
use crate::request::LostRequests;
use crate::route::by_node::ByNode;
use crate::route::{LostRequest, Route};

/// Checks the absent servers: requests for one that is given up are lost.
pub(super) fn look<E: Engine, P: Protocol>(worker: &mut RingWorker<'_, '_, E, P>) {
    let now_ns = worker.engine.now_ns();
    if now_ns < worker.route.absence.look_ns() {
        return;
    }
    worker.route.absence.pass(now_ns);
    for server in 0..worker.route.servers.len() as u16 {
        if worker.route.absence.is_gone(server) {
            for request in worker.route.shared.queues.drain(server) {
                lose(worker, server, &request, Why::Gone);
            }
        }
    }
}

/// Reason why a request is lost without being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The server is absent.
    Gone,
    /// The deadline has passed.
    Over,
}

/// Counts a request that is never sent.
pub(super) fn lose<E: Engine, P: Protocol>(
    worker: &mut RingWorker<'_, '_, E, P>,
    server: u16,
    request: &RingRequest,
    why: Why,
) {
    let now_ns = worker.engine.now_ns();
    let route = &mut worker.route;
    // Of a request in parts the first one counts, as when it is sent.
    let is_new = request.progress.step == 0 && request.progress.retries == 0;
    let begins = route.begins(request) && is_new;
    let LostRequest { commands, is_last } = route.forsake(request);
    if is_last {
        worker.steps.forget(request.progress);
    }
    if request.measured {
        route.tallies[usize::from(server)].unanswered += commands;
        worker.recorder.of_node(server);
        let by_operation = worker.steps.operations.is_some();
        if why == Why::Over {
            // Parts of an operation, and of a command, are given up as one.
            let counted = if by_operation { u64::from(is_last) } else { commands };
            worker.recorder.missed_deadline(commands, counted, false, now_ns);
        } else {
            worker.recorder.abandoned(LostRequests { timed_out: 0, lost: commands }, now_ns);
        }
        if begins {
            worker.recorder.given_up(if by_operation { 1 } else { request.left.into() });
        }
    }
}
