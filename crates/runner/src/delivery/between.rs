//! Messages between processes: the shared sums, needed where any process may get a message, and the choice of
//! the process that removes the keys.

use std::sync::atomic::Ordering;

use engine::Engine;

use super::Roles;
use super::probe::Prober;
use super::receivers::{DRAIN_LOOK_NS, Receivers};
use crate::Barrier;
use crate::barrier::{ExchangeObserver, Progress, ReceivedPage};

/// Longest wait at the end for the receivers of all processes to be gone.
const PATIENCE_NS: u64 = 10_000_000_000;

impl Roles<'_> {
    /// Returns the progress of this process's messages.
    fn progress(&self, closed: bool) -> Progress {
        if !self.competes {
            return Progress { closed, ..Progress::default() };
        }
        let received = self.threads.iter().map(|thread| thread.received.load(Ordering::Acquire));
        Progress {
            probes: self.probes.into(),
            probed: self.probed.load(Ordering::Acquire).into(),
            expected: self.expected(),
            received: received.sum(),
            closed,
        }
    }

    /// Returns the observer that adds up messages between processes; `None` without such messages.
    pub(super) fn observer(&self) -> Option<&dyn ExchangeObserver> {
        self.gate.barrier().and_then(Barrier::exchange)
    }

    /// Reports which messages came to this process, if each goes to one receiver.
    fn report_received(&self) {
        let (true, Some(observer)) = (self.competes, self.observer()) else { return };
        for (group, seen) in self.seen.iter().enumerate() {
            seen.pages().for_each(|(page, bits)| {
                observer.received(ReceivedPage { group, page, bits: &bits });
            });
        }
    }

    /// Returns whether receivers of all processes have everything that was sent.
    pub(super) fn is_received_by_all(&self) -> bool {
        self.gate.barrier().is_some_and(|barrier| barrier.is_all_received())
    }
}

impl<E: Engine> Receivers<'_, E> {
    /// Returns whether messages are known to get through. If any process may get the probes, each process
    /// sends its own, and the coordinator starts the load when all have come.
    pub(super) fn is_probed(&self) -> bool {
        let roles = self.context.roles;
        if !roles.competes {
            return roles.probes_left() == 0;
        }
        roles.are_subscribed() && self.prober.as_ref().is_none_or(Prober::is_done)
    }

    /// Reports the progress of messages if it has changed. Only the first thread does this.
    pub(super) fn report_progress(&mut self, closed: bool) {
        let roles = self.context.roles;
        if self.prober.is_none() || !roles.exchanges {
            return;
        }
        let progress = roles.progress(closed);
        if progress != std::mem::replace(&mut self.reported, progress) {
            roles.observer().iter().for_each(|observer| observer.progress(progress));
        }
    }

    /// Waits until the receivers of all processes are gone, and returns whether this process removes the
    /// keys. Only the first thread calls this.
    pub(super) fn removes_keys(&mut self) -> bool {
        let roles = self.context.roles;
        if !roles.exchanges {
            return true;
        }
        roles.report_received();
        self.report_progress(true);
        let Some(barrier) = roles.gate.barrier() else { return true };
        let end_ns = self.engine.now_ns() + PATIENCE_NS;
        while barrier.removes().is_none() && self.engine.now_ns() < end_ns {
            if self.engine.wait(Some(self.engine.now_ns() + DRAIN_LOOK_NS)).is_err() {
                break;
            }
            while self.engine.next().is_some() {}
        }
        barrier.removes().unwrap_or(false)
    }
}
