//! A worker's part of a schedule: where it begins, and where its rate changes on the way.

use engine::Engine;
use wire::Protocol;
use workload::Plan;

use super::Worker;
use crate::route::Route;

impl<E: Engine, P: Protocol, R: Route> Worker<'_, E, P, R> {
    /// The schedule begins.
    pub(super) fn start_schedule(&mut self, start_ns: u64) {
        let context = &self.context;
        let plan = context.plan;
        match &mut self.record {
            Some(record) => record.start(start_ns),
            None => self.pacer = plan.pacer(start_ns, context.worker, context.workers),
        }
        self.expect_silences(plan);
        if let Some(rate) = self.context.rate {
            rate.begins(start_ns);
            self.follow_rate();
        }
    }

    /// Turns to another rate, if one was asked for.
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
