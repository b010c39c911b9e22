//! The loop of a worker under load: waits for events, and does what has become due.

use std::ops::Range;

use engine::{ConnId, Engine};
use wire::Protocol;
use workload::Stop;

use super::Worker;
use crate::connection::State;
use crate::route::RouteHooks;
use crate::{Fatal, Gauges};

/// Minimum excess of a wait or a turn that shows that the thread did not run.
const ABSENT_MIN_NS: u64 = 100_000_000;

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Runs the load to its end.
    pub(crate) fn load(&mut self) -> Result<(), Fatal> {
        self.start();
        let mut woke_ns = self.engine.now_ns();
        loop {
            let due_ns = self.due_ns();
            let before_ns = self.engine.now_ns();
            if before_ns > woke_ns + ABSENT_MIN_NS {
                self.was_absent(woke_ns..before_ns);
            }
            let until_ns = self.spin.until_ns(before_ns, self.wake_ns(due_ns), due_ns);
            self.wait(Some(until_ns))?;
            woke_ns = self.engine.now_ns();
            if woke_ns > until_ns.max(before_ns).saturating_add(ABSENT_MIN_NS) {
                self.was_absent(before_ns..woke_ns);
            }
            self.follow_rate();
            let mut quiet = self.engine.now_ns() < due_ns;
            while let Some(event) = self.engine.next() {
                quiet = false;
                if let Some(conn) = self.settle_event(event)? {
                    self.refill(conn);
                }
                R::after_event(self);
            }
            let now_ns = self.engine.now_ns();
            if now_ns >= self.recovery.due_ns || self.route.has_news(now_ns) {
                self.recover()?;
            }
            if now_ns >= self.retries.due_ns {
                self.retry();
            }
            if now_ns >= self.next_over_ns() {
                self.give_up_over();
            }
            if now_ns >= self.joined.next_ns {
                self.join();
            }
            if now_ns >= self.renewals.next_ns {
                self.renew();
            }
            while let Some(conn) = self.thinking.take(now_ns) {
                R::refill(self, conn);
            }
            R::dispatch(self);
            if self.engine.now_ns() >= self.recorder.wake_ns() {
                R::note_asked(self);
            }
            self.spin.turned(self.engine.now_ns(), quiet);
            self.turn();
            if self.context.gate.stopped() {
                self.recorder.stopped(self.engine.now_ns().min(self.stop_ns));
                return Ok(());
            }
            if self.is_done() {
                return Ok(());
            }
        }
    }

    /// Handles a jump of the clock over this span. Unless the thread was at work, it did not run, and the
    /// span says nothing about a server.
    #[cold]
    fn was_absent(&mut self, span: Range<u64>) {
        if span.end - span.start < self.recorder.cpu_since_turn_ns() + ABSENT_MIN_NS {
            return;
        }
        R::note_asked(self);
        // Later replies belong to an interval of their own.
        self.turn();
        self.recorder.was_absent(span);
    }

    fn start(&mut self) {
        let context = &self.context;
        let plan = context.plan;
        let start_ns = context.gate.start_ns().unwrap_or_default();
        self.recorder.start(start_ns, plan.load.warmup_ns);
        if let Some(ledger) = context.acknowledgements.ledger {
            ledger.begin(start_ns + plan.load.warmup_ns);
        }
        let ends_ns = match plan.load.stop {
            Stop::AfterNs(ns) => Some(ns),
            Stop::Requests(_) => plan.load.at_most_ns,
        };
        if let Some(ns) = ends_ns {
            self.stop_ns = start_ns + plan.load.warmup_ns + ns;
        }
        self.start_schedule(start_ns);
        self.joined.start(start_ns, self.context.connections);
        self.renewals.start(start_ns);
        self.thinking.start(start_ns);
        self.started = true;
        self.start_recovery();
        self.start_deadline();
        R::start(self);
    }

    /// Gives more work to a connection that has become ready or has settled replies.
    #[inline]
    pub(super) fn refill(&mut self, conn: ConnId) {
        let used_up = self.is_used_up(conn);
        let connection = &self.connections[conn.0 as usize];
        // One that is not there is being opened again already.
        let is_idle = connection.state == State::Ready && connection.is_idle();
        if (used_up || connection.renews) && is_idle {
            self.replace(conn);
        } else if !self.thinking.pauses(conn, is_idle, || self.engine.now_ns()) {
            R::refill(self, conn);
        }
    }

    /// Hands the interval over if it has ended.
    #[inline]
    fn turn(&mut self) {
        let now_ns = self.engine.now_ns();
        let over = self.is_over();
        if self.retries.is_stranded() && now_ns >= self.stop_ns {
            self.drop_stranded(now_ns);
        }
        let is_scheduled = self.is_scheduled();
        let Self { recorder, pacer, route, in_flight, ready, per_number, .. } = self;
        recorder.turn(now_ns, || {
            let due = pacer.as_ref().filter(|_| !over);
            let due = due.map_or(0, |pacer| pacer.backlog(now_ns) * *per_number);
            Gauges {
                in_flight: *in_flight,
                backlog: is_scheduled.then(|| due + route.waiting()),
                connections: *ready,
                ..Gauges::default()
            }
        });
    }

    /// Time to wake up at if nothing happens.
    fn wake_ns(&self, due_ns: u64) -> u64 {
        let now_ns = self.engine.now_ns();
        let end_ns = if self.stop_ns > now_ns { self.stop_ns } else { self.give_up_ns() };
        let recovery_ns = self.recovery.due_ns.min(R::wake_ns(self, now_ns));
        let others_ns = self.joined.next_ns.min(self.renewals.next_ns).min(self.retries.due_ns);
        let others_ns = others_ns.min(self.next_over_ns()).min(self.thinking.next_ns());
        self.recorder.wake_ns().min(end_ns).min(due_ns).min(recovery_ns).min(others_ns)
    }
}
