//! State of the recovery from faults: connections that are opened again, and when to look for more.

use workload::Plan;

use crate::reopening::ReconnectQueue;

/// Time between two checks of connections that are being reopened.
pub(super) const LOOK_OPENING_NS: u64 = 100_000_000;

/// Connections to be reopened, and the times of checks that no event triggers.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) reopening: ReconnectQueue,
    /// Time of the earliest check; `u64::MAX` for none. Costs one comparison a turn.
    pub(super) due_ns: u64,
    pub(super) look_ns: u64,
    /// Time since which a required server has had no connection.
    pub(super) absent_since_ns: Option<u64>,
    /// Reason why nothing is tried any more, once a connection has used all its tries.
    pub(super) exhausted: Option<String>,
    /// Reason why the last attempt to open a lost connection again failed, for each server.
    pub(super) refusals: Vec<(String, String)>,
}

impl Recovery {
    /// Returns an idle recovery for up to `connections_max` connections of worker `worker`.
    pub(super) fn new(connections_max: u32, plan: &Plan, worker: u16) -> Self {
        let (seed, backoff) = (plan.load.seed, plan.recovery.backoff);
        Self {
            reopening: ReconnectQueue::new(connections_max, seed, worker, backoff),
            due_ns: u64::MAX,
            look_ns: u64::MAX,
            absent_since_ns: None,
            exhausted: None,
            refusals: Vec::new(),
        }
    }

    /// Returns whether connections wait to be reopened, or are being opened.
    pub(crate) fn is_under_way(&self) -> bool {
        self.reopening.waiting() > 0
    }

    /// Notes that a connection is being opened, which may take too long.
    pub(crate) fn opens(&mut self, now_ns: u64) {
        self.look_by(now_ns + LOOK_OPENING_NS);
    }

    /// Reason why the last attempt to reopen a connection to this server failed, if it did.
    pub(crate) fn refusal(&self, server: &str) -> Option<&str> {
        self.refusals.iter().find(|(named, _)| named == server).map(|(_, why)| why.as_str())
    }

    pub(super) fn look_by(&mut self, ns: u64) {
        self.look_ns = self.look_ns.min(ns);
        self.plan();
    }

    pub(super) fn plan(&mut self) {
        self.due_ns = self.look_ns.min(self.reopening.wake_ns());
    }
}
