//! Connections that join the load step by step. Where a client has several, all of them join together.

use engine::{ConnId, Engine};
use wire::Protocol;
use workload::{JoinSchedule, Plan};

use super::Worker;
use crate::route::RouteHooks;

/// Clients that carry load: the first ones by number. A client is one connection, or all connections of one
/// number.
#[derive(Debug)]
pub(super) struct ActiveClients {
    plan: Option<JoinSchedule>,
    /// Number of clients that have joined; `u32::MAX` for all.
    count: u32,
    steps: u64,
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

    fn plan_next(&mut self, clients: u32) {
        let all = self.count >= clients;
        self.next_ns = self.plan.filter(|_| !all).map_or(u64::MAX, |joining| {
            self.start_ns.saturating_add(joining.every_ns.saturating_mul(self.steps + 1))
        });
    }
}

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Returns whether a connection carries load, or will once it is open.
    #[inline]
    pub(super) fn has_joined(&self, conn: ConnId) -> bool {
        let place = &self.connections[conn.0 as usize].place;
        self.joined.count == u32::MAX || self.route.counted_as(place, conn).0 < self.joined.count
    }

    /// Opens the connections of every step that is due. They carry load when they are ready.
    #[cold]
    pub(super) fn join(&mut self) {
        let now_ns = self.engine.now_ns();
        let clients = self.context.connections;
        let all = || (0..self.connections.len() as u32).map(ConnId);
        let absent: Vec<ConnId> = all().filter(|conn| !self.has_joined(*conn)).collect();
        while let Some(joining) = self.joined.plan.filter(|_| now_ns >= self.joined.next_ns) {
            self.joined.steps += 1;
            self.joined.count = joining.after(self.joined.steps);
            self.joined.plan_next(clients);
        }
        for conn in absent {
            self.connect(conn);
        }
    }
}
