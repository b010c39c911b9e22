//! The end of a worker: its wait for the last replies, and the final counts.

use engine::Engine;
use measure::NodeTally;
use wire::Protocol;
use workload::Stop;

use super::Worker;
use crate::connection::State;
use crate::recorder::Recorder;
use crate::route::RouteHooks;

/// Shortest and longest wait for the last replies of a run by time.
const DRAIN_MIN_NS: u64 = 5_000_000_000;
pub(crate) const DRAIN_MAX_NS: u64 = 10_000_000_000;

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Returns whether no new request is sent any more.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.spent || self.engine.now_ns() >= self.stop_ns
    }

    /// Returns whether nothing is left to send, now or again.
    pub(crate) fn has_no_more(&self) -> bool {
        self.is_over() && !R::waits(self)
    }

    /// Returns whether nothing is left to send or to wait for.
    pub(super) fn is_done(&self) -> bool {
        let now_ns = self.engine.now_ns();
        self.is_over()
            && (self.in_flight == 0 && (now_ns >= self.stop_ns || self.route.waiting() == 0)
                || now_ns >= self.give_up_ns()
                || R::gives_up(self, now_ns))
    }

    /// Time at which a run by time stops waiting for replies, so that it ends even if the server has fallen
    /// silent. The wait is as long as the run lasted, within these bounds.
    pub(super) fn give_up_ns(&self) -> u64 {
        let drain_ns = match self.context.plan.load.stop {
            Stop::AfterNs(ns) => ns.clamp(DRAIN_MIN_NS, DRAIN_MAX_NS),
            Stop::Requests(_) => DRAIN_MAX_NS,
        };
        self.stop_ns.saturating_add(drain_ns)
    }

    /// Notes that load ended early.
    pub(crate) fn broken_off(&mut self) {
        self.recorder.stopped(self.engine.now_ns().min(self.stop_ns));
    }

    /// Ends: counts requests in flight as unanswered. Returns the recorder and the nodes' figures.
    pub(crate) fn finish(mut self) -> (Recorder, Vec<NodeTally>) {
        R::note_asked(&mut self);
        if let Some(pacer) = &self.pacer {
            let due = pacer.due_before(self.stop_ns.min(self.engine.now_ns()));
            self.recorder.due(due.saturating_mul(self.per_number));
        }
        if let Some(source) = &self.source {
            let due = source.due_before(self.stop_ns.min(self.engine.now_ns()));
            self.recorder.due(source.drawn() + due);
        }
        let ended_by_time = self.engine.now_ns() >= self.stop_ns;
        for connection in &mut self.connections {
            let is_gone = connection.lost && connection.state != State::Ready;
            let server = is_gone.then(|| self.route.server(&connection.place));
            if let Some(server) = server
                && let Some(why) = self.recovery.refusal(&server)
            {
                self.recorder.connections().add_not_reopened(server, why.to_owned());
            }
            let withheld = R::withheld(&mut connection.place);
            let route = &mut self.route;
            // Of the warm-up, and not answered in all of the run.
            let mut stuck = 0;
            let lost = connection.requests.abandon(0, withheld, |request| {
                let commands = route.forsake(request).commands;
                stuck += if ended_by_time && !request.measured { commands } else { 0 };
                commands
            });
            let unanswered = lost.total() + stuck;
            self.recorder.connections().unanswered += unanswered;
            self.route.count_unanswered(&connection.place, unanswered);
        }
        for request in self.retries.drain().filter(|request| request.measured) {
            self.recorder.connections().unanswered += u64::from(request.left);
        }
        let nodes = self.route.finish(&mut self.recorder);
        (self.recorder, nodes)
    }
}
