//! Requests that are given up at their deadline: an answer would be useless, so they are not sent.
//!
//! The deadline of a request that waits for room, for its server or for a retry counts from its due time;
//! that of a later step from its operation's due time. In a closed loop without due times it counts from the
//! first sending. A request that was sent is still awaited, and its answer counts as late
//! ([`measure::DeadlineTally`]).

use engine::{ConnId, Engine};
use wire::Protocol;
use workload::Plan;

use super::Worker;
use crate::request::Request;
use crate::route::RouteHooks;

/// Number of checks of waiting requests within a deadline, at least [`LOOK_MIN_NS`] apart.
const LOOKS_PER_DEADLINE: u64 = 16;
const LOOK_MIN_NS: u64 = 1_000_000;

/// Deadline of requests, relative to their due time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    /// Time limit; `u64::MAX` for none.
    limit_ns: u64,
}

impl Deadline {
    pub(super) fn from_plan(plan: &Plan) -> Self {
        Self { limit_ns: plan.recovery.deadline_ns.unwrap_or(u64::MAX) }
    }

    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self.limit_ns != u64::MAX
    }

    /// First time at which a request that was due at `due_ns` is past its deadline. The deadline itself is in
    /// time.
    #[inline]
    pub(super) fn over_ns(self, due_ns: u64) -> u64 {
        due_ns.saturating_add(self.limit_ns).saturating_add(1)
    }

    /// Returns whether a request that was due at `due_ns` is past its deadline.
    #[inline]
    pub(crate) fn is_over(self, due_ns: u64, now_ns: u64) -> bool {
        now_ns >= self.over_ns(due_ns)
    }

    fn look_every_ns(self) -> u64 {
        (self.limit_ns / LOOKS_PER_DEADLINE).max(LOOK_MIN_NS)
    }
}

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Starts checking waiting requests, as load begins.
    pub(super) fn start_deadline(&mut self) {
        if self.deadline.is_set() {
            self.look_for_over_ns = self.engine.now_ns() + self.deadline.look_every_ns();
        }
    }

    /// Earliest time at which a waiting request may be past its deadline; `u64::MAX` for never.
    #[inline]
    pub(super) fn next_over_ns(&self) -> u64 {
        if !self.deadline.is_set() {
            return u64::MAX;
        }
        let next = self.pacer.as_ref().filter(|_| !self.is_over());
        let next_ns = next.map_or(u64::MAX, |pacer| self.deadline.over_ns(pacer.due_ns()));
        let waits_ns = if R::waits(self) { self.look_for_over_ns } else { u64::MAX };
        next_ns.min(waits_ns)
    }

    /// Gives up waiting requests past their deadline.
    #[cold]
    pub(super) fn give_up_over(&mut self) {
        let now_ns = self.engine.now_ns();
        self.give_up_undrawn(now_ns);
        if now_ns >= self.look_for_over_ns {
            self.look_for_over_ns = now_ns + self.deadline.look_every_ns();
            R::give_up_waiting(self, now_ns);
        }
    }

    /// Gives up scheduled requests that are past their deadline and were not drawn.
    #[inline]
    pub(crate) fn give_up_undrawn(&mut self, now_ns: u64) {
        let first_over = |worker: &Self| {
            let due_ns = worker.pacer.as_ref().map_or(u64::MAX, workload::Pacer::due_ns);
            worker.deadline.is_over(due_ns, now_ns) && !worker.spent && now_ns < worker.stop_ns
        };
        while first_over(self) && self.give_up_next(now_ns) {}
    }

    /// Returns whether the next request of the schedule could be drawn, to be given up.
    #[cold]
    fn give_up_next(&mut self, now_ns: u64) -> bool {
        if self.pacer.as_mut().and_then(|pacer| pacer.take(now_ns)).is_none() {
            return false;
        }
        let connection = self.drawing_connection(now_ns);
        let Some((turn, measured)) = self.draw(now_ns, connection, 1) else { return false };
        if measured {
            let requests = u64::from(turn.commands);
            self.recorder.given_up_by_nobody(requests, now_ns);
        }
        true
    }

    /// Returns a connection with some budget left, in turn, where each has its own budget.
    fn drawing_connection(&mut self, now_ns: u64) -> ConnId {
        let all = self.context.connections.max(1);
        let first = self.given_up_of;
        self.given_up_of = (first + 1) % all;
        let mut in_turn = (0..all).map(|n| ConnId((first + n) % all));
        in_turn.find(|conn| self.left(now_ns, *conn, 1) > 0).unwrap_or(ConnId(first))
    }

    /// Sends the due steps and retries, except those past their deadline.
    #[inline]
    pub(super) fn follow(&mut self, conn: ConnId) {
        if self.deadline.is_set() {
            self.give_up_steps();
        }
        if !self.steps.due.is_empty() {
            R::follow(self, conn);
        }
    }

    /// Gives up steps on a connection past their deadline.
    fn give_up_steps(&mut self) {
        let (now_ns, deadline) = (self.engine.now_ns(), self.deadline);
        let is_over = |request: &Request<R::Mark>| deadline.is_over(request.intended_ns, now_ns);
        if !self.steps.due.iter().any(is_over) {
            return;
        }
        let over: Vec<_> = self.steps.due.extract_if(.., |request| is_over(request)).collect();
        for request in over {
            self.give_up_request(&request, now_ns);
        }
    }

    /// Counts a request that is not sent, or not sent again, and ends its operation.
    pub(crate) fn give_up_request(&mut self, request: &Request<R::Mark>, now_ns: u64) {
        self.steps.forget(request.progress);
        if request.measured {
            let by_operation = self.steps.operations.is_some();
            let commands = u64::from(request.left);
            let counted = if by_operation { 1 } else { commands };
            let is_new = !request.progress.is_under_way() && request.sent_ns == 0;
            self.recorder.missed_deadline(commands, counted, is_new, now_ns);
        }
    }
}
