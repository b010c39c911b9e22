//! What a node did not carry out: sent to another node, or again a while later.
//!
//! A redirect is never the result of a request. The request keeps its number, from which its
//! bytes are made again, and its time: its latency runs from when it was first sent.

use engine::Engine;
use measure::NodeTally;
use wire::Protocol;
use wire::cluster::Redirect;
use workload::OnError;

use super::link::Request;
use super::worker::ClusterWorker;
use crate::{Fatal, explain};

/// So often a request is sent elsewhere at once. Beyond it nodes do not agree, and get time to.
const AT_ONCE_MAX: u32 = 3;
/// The first wait before another try, and the longest; each is twice the one before.
const WAIT_NS: u64 = 5_000_000;
const WAIT_MAX_NS: u64 = 200_000_000;
/// A request that found no node for so long is an error. Longer than a cluster takes to replace a
/// master: the default `cluster-node-timeout` is 15 s.
const PATIENCE_NS: u64 = 60_000_000_000;

impl<E: Engine, P: Protocol> ClusterWorker<'_, E, P> {
    /// Deals with what was turned away in the last read.
    pub(super) fn redirect(&mut self) -> Result<(), Fatal> {
        let mut turned_away = std::mem::take(&mut self.turned_away);
        let outcome = turned_away
            .drain(..)
            .try_for_each(|(node, request, text)| self.redirect_one(node, request, &text));
        self.turned_away = turned_away;
        outcome
    }

    fn redirect_one(&mut self, from: u16, request: Request, text: &str) -> Result<(), Fatal> {
        let now_ns = self.engine.now_ns();
        let mut request = Request { answered: 0, tries: request.tries + 1, ..request };
        let mut note = |count: fn(&mut NodeTally) -> &mut u64| {
            *count(&mut self.tallies[usize::from(from)]) += u64::from(request.measured);
        };
        let target = match Redirect::parse(text) {
            Some(Redirect::Moved { slot, host, port }) => {
                note(|tally| &mut tally.moved);
                self.watch.ask();
                let target = self.router.find(host, port, from);
                if let Some(target) = target {
                    self.know_nodes();
                    if self.router.moved(slot, target) {
                        self.rebalance();
                    }
                }
                target
            }
            Some(Redirect::Ask { host, port }) => {
                note(|tally| &mut tally.asked);
                // A transaction would have to ask before each of its commands; it waits instead
                // until the slot has moved.
                let target = self.router.find(host, port, from).filter(|_| request.commands == 1);
                request.asking = target.is_some();
                target
            }
            Some(Redirect::TryAgain) => {
                note(|tally| &mut tally.retried);
                None
            }
            _ => {
                note(|tally| &mut tally.retried);
                self.watch.ask();
                None
            }
        };
        if now_ns.saturating_sub(request.sent_ns) > PATIENCE_NS {
            return self.refuse(from, &request, text);
        }
        match target {
            Some(node) if request.tries <= AT_ONCE_MAX || request.asking => {
                self.know_nodes();
                self.lanes.push(node, request);
                if self.lanes.links(node) == 0 {
                    self.rebalance();
                }
            }
            _ => {
                let wait_ns = (WAIT_NS << request.tries.min(8)).min(WAIT_MAX_NS);
                self.later.push((now_ns + wait_ns, request));
            }
        }
        Ok(())
    }

    fn refuse(&mut self, node: u16, request: &Request, text: &str) -> Result<(), Fatal> {
        let now_ns = self.engine.now_ns();
        self.in_flight -= 1;
        let flight = request.flight(request.command, now_ns);
        self.record_of(node);
        self.recorder.error(&flight, explain::kind(text), text, now_ns);
        self.tallies[usize::from(node)].errors += u64::from(request.measured);
        match self.shift.plan.on_error {
            OnError::Stop => Err(Fatal(explain::error_reply(text))),
            OnError::Count => Ok(()),
        }
    }

    /// Sends again what has waited long enough.
    pub(super) fn send_again(&mut self) {
        let now_ns = self.engine.now_ns();
        let mut n = 0;
        while n < self.later.len() {
            if self.later[n].0 > now_ns {
                n += 1;
                continue;
            }
            let (_, request) = self.later.swap_remove(n);
            let node = self.router.route(request.slot, request.read_only);
            self.lanes.push(node, request);
        }
    }
}
