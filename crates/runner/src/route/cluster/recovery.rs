//! Faults on a cluster beyond a connection: nodes that join, leave or stay away, and requests without a node.
//! Requests for an absent node wait, as a replica may take its place.

use engine::Engine;
use wire::Protocol;

use super::{ClusterRequest, ClusterWorker, balance, know_nodes, redirect};
use crate::request::LostRequests;
use crate::route::by_node::{self, ByNode as _};

/// Time after its end for which a run by time still retries refused requests.
const SEND_AGAIN_MAX_NS: u64 = 2_000_000_000;

/// Takes in changes of the cluster, and retries requests whose wait has ended.
pub(super) fn take_news<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    let route = &mut worker.route;
    if let Some(topology) = route.watch.news(&mut route.version) {
        route.map.apply(&topology);
        know_nodes(worker);
        worker.route.tell_owners(worker.engine.now_ns());
        balance::reroute(worker);
        balance::rebalance(worker);
    }
    redirect::send_again(worker);
}

/// Gives up requests that were refused until they timed out. Returns the node of one of them, if there were
/// any.
pub(super) fn drop_overdue<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    overdue_ns: u64,
) -> Option<String> {
    let overdue = |request: &ClusterRequest| {
        request.mark.was_sent() && request.first_handed_ns() <= overdue_ns
    };
    let route = &mut worker.route;
    let mut dropped = Vec::new();
    for node in 0..route.map.nodes().len() as u16 {
        // Requests that were sent before are at the front.
        let queues = &route.shared.queues;
        let was_sent = |lane| queues.peek(lane).is_some_and(|first| first.mark.was_sent());
        if queues.lanes(node).any(was_sent) {
            dropped.extend(route.shared.queues.take(node, overdue).into_iter().map(|r| (node, r)));
        }
    }
    for request in route.later.take(overdue) {
        dropped.push((route.map.route(request.mark.slot, request.mark.read_only), request));
    }
    let now_ns = worker.engine.now_ns();
    for (node, request) in &mut dropped {
        let commands = u64::from(request.left);
        worker.in_flight -= commands;
        worker.route.take_up(request);
        worker.route.forget_sourced(request);
        worker.steps.forget(request.progress);
        if request.measured {
            worker.route.tally(*node).unanswered += commands;
            worker.recorder.of_node(worker.route.number(*node));
            worker.recorder.abandoned(LostRequests { timed_out: commands, lost: 0 }, now_ns);
        }
    }
    dropped.first().map(|(node, _)| worker.route.map.node(*node).name.clone())
}

/// Gives up requests that wait for a node or a retry past their deadline.
pub(super) fn give_up_waiting<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    now_ns: u64,
) {
    by_node::give_up_waiting(worker, worker.route.map.nodes().len() as u16, now_ns);
    let deadline = worker.deadline;
    for request in worker.route.later.take(|request| deadline.is_over(request.intended_ns, now_ns))
    {
        let node = worker.route.map.route(request.mark.slot, request.mark.read_only);
        give_up(worker, node, request);
    }
}

/// Counts a request that is past its deadline and not sent to this node any more.
pub(super) fn give_up<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    node: u16,
    mut request: ClusterRequest,
) {
    let now_ns = worker.engine.now_ns();
    if request.mark.was_sent() {
        worker.in_flight -= u64::from(request.left);
        worker.route.take_up(&mut request);
    }
    if request.measured {
        worker.route.tally(node).unanswered += u64::from(request.left);
        worker.recorder.of_node(worker.route.number(node));
    }
    worker.give_up_request(&request, now_ns);
}

/// Returns whether a run by time gives up after its end: no sent command is left to wait for, and the time
/// for retries is over.
pub(super) fn gives_up<E: Engine, P: Protocol>(
    worker: &ClusterWorker<'_, '_, E, P>,
    now_ns: u64,
) -> bool {
    now_ns > worker.stop_ns.saturating_add(SEND_AGAIN_MAX_NS)
        && worker.connections.iter().all(|connection| connection.requests.commands() == 0)
}
