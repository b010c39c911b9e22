//! Connections that join the load step by step. Where a client has several, all of them join together.

use workload::{JoinSchedule, Plan};

/// Clients that carry load: the first ones by number. A client is one connection, or all connections of one
/// number.
#[derive(Debug)]
pub(super) struct ActiveClients {
    pub(super) plan: Option<JoinSchedule>,
    /// Number of clients that have joined; `u32::MAX` for all.
    pub(super) count: u32,
    pub(super) steps: u64,
    start_ns: u64,
    /// Time at which the next clients join; `u64::MAX` for never.
    pub(super) next_ns: u64,
}

impl ActiveClients {
    pub(super) fn from_plan(plan: &Plan) -> Self {
        let plan = plan.load.concurrency.joining;
        let count = plan.map_or(u32::MAX, |joining| joining.first);
        Self { plan, count, steps: 0, start_ns: 0, next_ns: u64::MAX }
    }

    /// Starts the load, for `clients` clients.
    pub(super) fn start(&mut self, start_ns: u64, clients: u32) {
        self.start_ns = start_ns;
        self.plan_next(clients);
    }

    pub(super) fn plan_next(&mut self, clients: u32) {
        let all = self.count >= clients;
        self.next_ns = self.plan.filter(|_| !all).map_or(u64::MAX, |joining| {
            self.start_ns.saturating_add(joining.every_ns.saturating_mul(self.steps + 1))
        });
    }
}
