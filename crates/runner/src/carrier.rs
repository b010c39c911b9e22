//! What carries the load of one thread: the steps that every kind of worker goes through.
//!
//! Owns opening the connections and waiting for the other workers. Where connections lead, what is
//! sent on them and how replies are settled is each worker's own business.

use engine::{ConnId, Engine, Event};
use measure::NodeTally;

use crate::Fatal;
use crate::opening::Opening;
use crate::recorder::Recorder;
use crate::worker::Shift;

/// A worker.
pub(crate) trait Carries<'r> {
    /// What moves its bytes.
    type Engine: Engine;

    /// See [`Carries::Engine`].
    fn engine(&mut self) -> &mut Self::Engine;

    /// What it needs of the run that it belongs to.
    fn shift(&self) -> &Shift<'r>;

    /// How many connections it opens, numbered from 0.
    fn connections(&self) -> u32;

    /// Asks for one of them.
    fn connect(&mut self, conn: ConnId);

    /// Deals with one event. The connection that has become ready or has settled replies, if any.
    fn settle_event(&mut self, event: Event) -> Result<Option<ConnId>, Fatal>;

    /// A server to which some connection is not ready yet, as people write it.
    fn unready(&self) -> String;

    /// Runs the load to its end.
    fn load(&mut self) -> Result<(), Fatal>;

    /// Time in which it only waited, without sleeping.
    fn spun_ns(&self) -> u64;

    /// Ends: what is still in flight was never answered. What was seen, in all and by node.
    fn finish(self) -> (Recorder, Vec<NodeTally>);

    /// Waits for events, or until this time on the engine's clock.
    #[inline]
    fn wait(&mut self, until_ns: Option<u64>) -> Result<(), Fatal> {
        let waited = self.engine().wait(until_ns);
        waited.map_err(|e| Fatal(format!("waiting for the server: {e}")))
    }

    /// Opens the connections and waits for the other workers. `Ok(false)` when the run was stopped
    /// meanwhile.
    fn open(&mut self) -> Result<bool, Fatal> {
        self.wait(Some(0))?;
        let gate = self.shift().gate;
        let total = self.connections();
        let mut opening = Opening::new(total, self.engine().now_ns());
        while !opening.is_complete() {
            let now_ns = self.engine().now_ns();
            while let Some(n) = opening.next(now_ns) {
                self.connect(ConnId(n));
            }
            self.wait(Some(opening.wake_ns()))?;
            while let Some(event) = self.engine().next() {
                if self.settle_event(event)?.is_some() {
                    opening.opened(self.engine().now_ns());
                }
            }
            if gate.stopped() {
                return Ok(false);
            }
            if let Some(opened) = opening.stuck(self.engine().now_ns()) {
                return Err(Fatal(format!(
                    "{} does not answer: {opened} of {total} connections opened, and none for 10 s",
                    self.unready()
                )));
            }
        }
        gate.arrive(self.engine().now_ns());
        loop {
            if gate.stopped() {
                return Ok(false);
            }
            let Some(until_ns) = gate.look_again_ns(self.engine().now_ns()) else {
                return Ok(true);
            };
            self.wait(Some(until_ns))?;
            while let Some(event) = self.engine().next() {
                self.settle_event(event)?;
            }
        }
    }
}
