//! Requests that wait for a node past their deadline.

use engine::Engine;
use wire::Protocol;

use super::{ByNode, ByNodeState, Lane};
use crate::worker::Worker;
use crate::worker::deadline::Deadline;

impl<M> ByNodeState<M> {
    /// Takes requests past their deadline off the front of a queue.
    #[inline]
    pub(super) fn set_over_aside(&mut self, lane: Lane, deadline: Deadline, now_ns: u64) {
        while self.queues.peek(lane).is_some_and(|of| deadline.is_over(of.intended_ns, now_ns)) {
            let over = self.queues.pop(lane);
            self.over.extend(over);
        }
    }
}

/// Gives up requests that wait for one of these nodes past their deadline.
#[cold]
pub(in crate::route) fn give_up_waiting<E: Engine, P: Protocol, R: ByNode>(
    worker: &mut Worker<'_, E, P, R>,
    nodes: u16,
    now_ns: u64,
) {
    let deadline = worker.deadline;
    for node in 0..nodes {
        let queues = &mut worker.route.shared_mut().queues;
        let over = queues.take(node, |request| deadline.is_over(request.intended_ns, now_ns));
        over.into_iter().for_each(|request| R::give_up(worker, node, request));
    }
}
