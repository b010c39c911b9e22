//! A worker's part of a schedule or source: its start, the due times of requests, and changes of rate.

use engine::Engine;
use wire::Protocol;
use workload::{Pacer, Plan};

use super::Worker;
use crate::route::RouteHooks;

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// The schedule begins.
    pub(super) fn start_schedule(&mut self, start_ns: u64) {
        let context = &self.context;
        let plan = context.plan;
        match &mut self.source {
            Some(source) => source.start(start_ns),
            None => self.pacer = plan.pacer(start_ns, context.worker, context.workers),
        }
        self.expect_silences(plan);
        if let Some(rate) = self.context.rate {
            rate.begins(start_ns);
            self.follow_rate();
        }
    }

    /// Returns whether a reply makes the next request due, on connections that stay open.
    pub(crate) fn is_closed_loop(&self) -> bool {
        self.started && !self.is_scheduled() && self.context.plan.load.concurrency.keep_alive
    }

    /// Returns whether scheduled requests are due that no connection has drawn.
    pub(crate) fn is_behind(&self) -> bool {
        let now_ns = self.engine.now_ns();
        !self.is_over() && self.pacer.as_ref().is_some_and(|pacer| pacer.due_ns() <= now_ns)
    }

    /// Due time of the next request that could be sent.
    pub(super) fn due_ns(&self) -> u64 {
        if let Some(source) = &self.source {
            return if self.is_over() { u64::MAX } else { source.due_ns() };
        }
        let waits = self.is_over() || !self.route.has_room(self.in_flight);
        self.pacer.as_ref().filter(|_| !waits).map_or(u64::MAX, Pacer::due_ns)
    }

    /// Changes to another rate, if one was requested.
    #[inline]
    pub(super) fn follow_rate(&mut self) {
        if self.context.rate.is_some_and(|rate| rate.changes() != self.rate_changes) {
            self.change_rate();
        }
    }

    #[cold]
    fn change_rate(&mut self) {
        let Some(rate) = self.context.rate else { return };
        // Before the plan: a change between the two is seen again, and harmless.
        self.rate_changes = rate.changes();
        let plan = rate.plan();
        if let (Some(pacer), Some(curve)) = (&mut self.pacer, plan.curve()) {
            pacer.follow(curve);
        }
        self.expect_silences(&plan);
    }

    fn expect_silences(&mut self, plan: &Plan) {
        let workers = u64::from(self.context.workers);
        self.recorder.expect_every(plan.due_every_ns().saturating_mul(workers));
    }
}
