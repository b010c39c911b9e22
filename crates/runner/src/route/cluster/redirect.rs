//! Requests that a node did not carry out: redirected to another node, or retried after a delay.
//!
//! A redirect is never the result of a request. The request keeps its number, which its bytes follow from,
//! and its first sending time, which its latency counts from.

use engine::Engine;
use measure::NodeTally;
use wire::Protocol;
use wire::cluster::Redirect;
use workload::OnError;

use super::{ClusterRequest, ClusterWorker, balance, know_nodes};
use crate::request::{CommandReply, OperationState, Request};
use crate::{Fatal, explain};

/// Number of immediate redirects of a request. Beyond it nodes disagree, and get time to settle.
const AT_ONCE_MAX: u32 = 3;
/// The first delay before a retry; each further one is twice as long.
const WAIT_NS: u64 = 5_000_000;
/// Time without a node after which a request is an error. Longer than a cluster takes to replace a master:
/// the default `cluster-node-timeout` is 15 s.
const PATIENCE_NS: u64 = 60_000_000_000;

/// Redirects the requests that were refused in the last read.
pub(super) fn redirect<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
) -> Result<(), Fatal> {
    let mut turned_away = std::mem::take(&mut worker.route.turned_away);
    let outcome = turned_away
        .drain(..)
        // Each goes before those that wait, so the first of them last.
        .rev()
        .try_for_each(|(node, request, text)| redirect_one(worker, node, request, &text));
    worker.route.turned_away = turned_away;
    outcome
}

fn redirect_one<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    from: u16,
    mut request: ClusterRequest,
    text: &str,
) -> Result<(), Fatal> {
    let now_ns = worker.engine.now_ns();
    // It is under way again.
    worker.in_flight += u64::from(request.left);
    request.mark.tries += 1;
    (request.mark.asking, request.mark.asked) = (false, 0);
    let (measured, command) = (request.measured, request.command);
    let note = |worker: &mut ClusterWorker<'_, '_, E, P>, count: fn(&mut NodeTally) -> &mut u64| {
        *count(worker.route.tally(from)) += u64::from(measured);
    };
    let redirected = |worker: &mut ClusterWorker<'_, '_, E, P>, for_once: bool| {
        if measured {
            worker.recorder.redirected(command, for_once, now_ns);
        }
    };
    let target = match Redirect::parse(text) {
        Some(Redirect::Moved { slot, host, port }) => {
            note(worker, |tally| &mut tally.moved);
            redirected(worker, false);
            worker.route.watch.ask();
            let target = worker.route.map.find(host, port, from);
            if let Some(target) = target {
                know_nodes(worker);
                worker.route.watch.moved(slot, worker.route.number(target), now_ns);
                if worker.route.map.moved(slot, target) {
                    balance::rebalance(worker);
                }
            }
            target
        }
        Some(Redirect::Ask { host, port }) => {
            note(worker, |tally| &mut tally.asked);
            redirected(worker, true);
            let target = worker.route.map.find(host, port, from);
            request.mark.asking = target.is_some();
            target
        }
        Some(Redirect::TryAgain) => {
            note(worker, |tally| &mut tally.retried);
            None
        }
        _ => {
            note(worker, |tally| &mut tally.retried);
            worker.route.watch.ask();
            None
        }
    };
    if now_ns.saturating_sub(request.first_handed_ns()) > PATIENCE_NS {
        return refuse(worker, from, &request, text);
    }
    queue_again(worker, target, request, now_ns);
    Ok(())
}

/// Queues a request at its next node, or delays it if none is known or nodes disagree.
fn queue_again<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    target: Option<u16>,
    request: ClusterRequest,
    now_ns: u64,
) {
    match target {
        Some(node) if request.mark.tries <= AT_ONCE_MAX || request.mark.asking => {
            know_nodes(worker);
            let lane = request.mark.lane(node);
            worker.route.shared.queues.push_again(lane, request);
            if worker.route.shared.queues.connections_of(lane) == 0 {
                balance::rebalance(worker);
            }
        }
        _ => {
            let wait_ns = WAIT_NS << request.mark.tries.min(8);
            worker.route.postpone(now_ns, wait_ns, request);
        }
    }
}

/// Gives up a request, whose result is the redirect.
fn refuse<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    node: u16,
    request: &ClusterRequest,
    text: &str,
) -> Result<(), Fatal> {
    let now_ns = worker.engine.now_ns();
    worker.in_flight -= u64::from(request.left);
    worker.route.forget_sourced(request);
    worker.recorder.of_node(worker.route.number(node));
    for command in request.command..request.command + request.left {
        let answered = CommandReply { command, ..request.answered(now_ns) };
        worker.recorder.error(&answered, explain::kind(text), text, 0, now_ns);
    }
    if worker.steps.operations.is_some() {
        let progress = OperationState { failed: true, ..request.progress };
        worker.recorder.operation(&Request { progress, ..*request }, now_ns);
    }
    let errors = if request.measured { u64::from(request.left) } else { 0 };
    worker.route.tally(node).errors += errors;
    match worker.context.plan.recovery.on_error {
        OnError::Stop => Err(explain::given_up(text)),
        OnError::Count => Ok(()),
    }
}

/// Sends requests again whose delay has ended.
pub(super) fn send_again<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    let now_ns = worker.engine.now_ns();
    let route = &mut worker.route;
    while let Some(request) = route.later.take_ended(now_ns) {
        let node = route.map.route(request.mark.slot, request.mark.read_only);
        route.shared.queues.push_again(request.mark.lane(node), request);
    }
}
