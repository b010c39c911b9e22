//! Which node each connection belongs to, and what becomes of it when the cluster changes.

use std::cmp::Ordering;

use engine::{ConnId, Engine};
use wire::Protocol;

use super::{Cluster, ClusterWorker, Place};
use crate::connection::{Connection, State};

impl Place {
    /// A connection of this node.
    pub(super) fn of(node: u16) -> Self {
        Self { node, held: Vec::new(), away: None, passed_over: 0 }
    }
}

impl Cluster<'_> {
    /// Whether a node needs a connection: it has load by the map, or something waits for it.
    fn needs_connections(&self, node: u16) -> bool {
        self.map.is_used(node) || self.shared.queues.peek(node).is_some()
    }

    /// The nodes that need connections.
    fn needy(&self) -> Vec<u16> {
        let nodes = 0..self.map.nodes().len() as u16;
        nodes.filter(|node| self.needs_connections(*node)).collect()
    }

    /// The node that has fewest connections for its weight.
    fn poorest(&self, needy: &[u16]) -> Option<u16> {
        let fewer = |a: &u16, b: &u16| {
            let of = |n: u16| (self.shared.queues.connections(n) as u64, self.map.weight(n).into());
            least_for_its_weight(of(*a), of(*b))
        };
        needy.iter().copied().min_by(fewer)
    }

    /// Connections that a node should have at least, of so many.
    fn share(&self, node: u16, needy: &[u16], connections: usize) -> usize {
        let weight = |node: u16| self.map.weight(node) as usize;
        let all: usize = needy.iter().map(|node| weight(*node)).sum();
        (connections * weight(node) / all.max(1)).max(1)
    }
}

/// Which of two nodes has fewer connections for its weight, each told as both.
pub(super) fn least_for_its_weight(a: (u64, u64), b: (u64, u64)) -> Ordering {
    (a.0 * b.1).cmp(&(b.0 * a.1))
}

/// What waits for a node that owns nothing any more goes to the one that does.
pub(super) fn reroute<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    let route = &mut worker.route;
    for node in 0..route.map.nodes().len() as u16 {
        if route.map.is_used(node) {
            continue;
        }
        for request in route.shared.queues.drain(node) {
            let to = route.map.route(request.mark.slot, request.mark.read_only);
            match request.mark.was_sent() {
                true => route.shared.queues.push_again(to, request),
                false => route.shared.queues.push(to, request),
            }
        }
    }
}

/// Spreads the connections over the nodes that need some. One that has requests in flight moves
/// when it has none.
pub(super) fn rebalance<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    worker.route.unbalanced = true;
    for conn in (0..worker.connections.len() as u32).map(ConnId) {
        let idle = worker.connections[conn.0 as usize].requests.commands() == 0;
        if worker.route.unbalanced && idle {
            rehome(worker, conn);
        }
    }
    // A node that nobody can be spared for gets a connection beyond -c.
    while let Some(poorest) = worker.route.poorest(&worker.route.needy())
        && worker.route.shared.queues.connections(poorest) == 0
        && worker.connections.len() <= worker.route.map.nodes().len()
        && worker.connections.len() < worker.context.connections_max as usize
    {
        let conn = ConnId(worker.connections.len() as u32);
        worker.connections.push(Connection::new(Place::of(poorest)));
        worker.route.shared.queues.count_connection(poorest, true);
        worker.connect(conn);
    }
}

/// Moves a connection without requests to the node that needs it most, if its own node can spare
/// it. Whether it has moved.
pub(super) fn rehome<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    conn: ConnId,
) -> bool {
    let route = &mut worker.route;
    let needy = route.needy();
    let Some(poorest) = route.poorest(&needy) else { return false };
    let home = worker.connections[conn.0 as usize].place.node;
    let share = |node| route.share(node, &needy, worker.connections.len());
    let (share_here, share_there) = (share(home), share(poorest));
    let (here, there) =
        (route.shared.queues.connections(home), route.shared.queues.connections(poorest));
    let useless = !route.needs_connections(home);
    if !useless && there >= share_there {
        // Each has its share; what is left is for those whose node has gone.
        let mut nodes = 0..route.map.nodes().len() as u16;
        route.unbalanced = nodes.any(|node| {
            route.shared.queues.connections(node) > 0 && !route.needs_connections(node)
        });
        return false;
    }
    if home == poorest || (!useless && here <= share_here) {
        return false;
    }
    let is_closed = worker.connections[conn.0 as usize].state == State::Closed;
    if !is_closed {
        worker.engine.close(conn);
    }
    worker.unready(conn);
    let connection = &mut worker.connections[conn.0 as usize];
    (connection.place.node, connection.attempts) = (poorest, 0);
    worker.route.shared.queues.count_connection(home, false);
    worker.route.shared.queues.count_connection(poorest, true);
    worker.recovery.reopening.forget_one(conn);
    worker.connect(conn);
    true
}
