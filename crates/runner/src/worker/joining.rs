//! Connections that join the load step by step: which are there already, and opening the others.

use engine::{ConnId, Engine};
use wire::Protocol;
use workload::{Joining, Plan};

use super::Worker;
use crate::route::Route;

/// The connections that carry load: the first so many.
#[derive(Debug)]
pub(super) struct Joined {
    plan: Option<Joining>,
    /// How many.
    pub(super) count: u32,
    steps: u64,
    start_ns: u64,
    /// When the next join; never for `u64::MAX`.
    pub(super) next_ns: u64,
}

impl Joined {
    pub(super) fn of(plan: &Plan) -> Self {
        let plan = plan.fleet.joining;
        let count = plan.map_or(u32::MAX, |joining| joining.first);
        Self { plan, count, steps: 0, start_ns: 0, next_ns: u64::MAX }
    }

    /// Load begins, for `connections`.
    pub(super) fn start(&mut self, start_ns: u64, connections: usize) {
        self.start_ns = start_ns;
        self.plan_next(connections);
    }

    fn plan_next(&mut self, connections: usize) {
        let all = self.count as usize >= connections;
        self.next_ns = self.plan.filter(|_| !all).map_or(u64::MAX, |joining| {
            self.start_ns.saturating_add(joining.every_ns.saturating_mul(self.steps + 1))
        });
    }
}

impl<E: Engine, P: Protocol, R: Route> Worker<'_, E, P, R> {
    /// Opens the connections of every step that is due. They carry load when they are ready.
    #[cold]
    pub(super) fn join(&mut self) {
        let now_ns = self.engine.now_ns();
        let connections = self.connections.len();
        let before = self.joined.count;
        while let Some(joining) = self.joined.plan.filter(|_| now_ns >= self.joined.next_ns) {
            self.joined.steps += 1;
            self.joined.count = joining.after(self.joined.steps);
            self.joined.plan_next(connections);
        }
        for conn in before..self.joined.count.min(connections as u32) {
            self.connect(ConnId(conn));
        }
    }
}
