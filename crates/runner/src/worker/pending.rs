//! Requests that wait to be sent: failed ones are retried when their time comes, overdue ones given up.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::Worker;
use crate::connection::State;
use crate::request::{LostRequests, Request};
use crate::route::RouteHooks;

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Delays the requests that failed on a connection, or has them sent with the other due ones.
    #[cold]
    pub(super) fn postpone(&mut self, conn: ConnId) {
        let now_ns = self.engine.now_ns();
        let Self { connections, recorder, retries, steps, in_flight, .. } = self;
        let connection = &mut connections[conn.0 as usize];
        let at_once = R::SENDS_ANYWHERE || connection.state == State::Ready;
        let waiting = &mut connection.postponed;
        *in_flight += retries.postpone(conn, waiting, now_ns, at_once, steps, recorder);
    }

    /// Sends the requests whose wait has ended.
    #[cold]
    pub(super) fn retry(&mut self) {
        let now_ns = self.engine.now_ns();
        while let Some((conn, request)) = self.retries.next(now_ns) {
            let connection = &mut self.connections[conn.0 as usize];
            if !R::SENDS_ANYWHERE && connection.state != State::Ready {
                self.retries.stranded.push((conn, request));
                continue;
            }
            connection.postponed -= 1;
            // The sender counts it again.
            self.in_flight -= u64::from(request.left);
            // The wait for its connection may have outlasted the deadline.
            if !self.deadline.is_over(request.intended_ns, now_ns) {
                self.recorder.retried(&request);
            }
            self.steps.due.push(request);
            self.follow(conn);
            self.refill(conn);
        }
    }

    /// Counts requests as lost whose connection is still closed at the end of the run.
    #[cold]
    pub(super) fn drop_stranded(&mut self, now_ns: u64) {
        for (conn, request) in std::mem::take(&mut self.retries.stranded) {
            self.connections[conn.0 as usize].postponed -= 1;
            self.in_flight -= u64::from(request.left);
            self.steps.forget(request.progress);
            let lost = if request.measured { u64::from(request.left) } else { 0 };
            self.recorder.abandoned(LostRequests { lost, timed_out: 0 }, now_ns);
        }
    }

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
