//! The node of each connection, and its moves when the cluster changes.

use std::cmp::Ordering;

use engine::{ConnId, Engine};
use wire::Protocol;

use super::{Cluster, ClusterRequest, ClusterWorker, RouteState};
use crate::connection::{Connection, State};
use crate::route::by_node::Lane;

impl RouteState {
    /// A connection of this node and client.
    pub(super) fn new(node: u16, client: u32) -> Self {
        Self { node, client, held: Vec::new(), redirect: None, passed_over: 0 }
    }

    /// Queue that it takes requests from.
    #[inline]
    pub(super) fn lane(&self) -> Lane {
        Lane { node: self.node, client: self.client }
    }
}

impl Cluster<'_> {
    /// Returns whether a node needs a connection: it gets load according to the map, or requests wait for it.
    fn needs_connections(&self, node: u16) -> bool {
        self.map.is_used(node) || self.shared.queues.is_awaited(node)
    }

    /// The nodes that need connections.
    fn needy(&self) -> Vec<u16> {
        let nodes = 0..self.map.nodes().len() as u16;
        nodes.filter(|node| self.needs_connections(*node)).collect()
    }

    /// Returns the node with the fewest connections for its weight.
    fn poorest(&self, needy: &[u16]) -> Option<u16> {
        needy.iter().copied().min_by(|a, b| {
            let of = |n: u16| [self.shared.queues.connections(n) as u64, self.map.weight(n).into()];
            least_for_its_weight(of(*a), of(*b))
        })
    }

    /// Minimum number of connections for a node, out of `connections`.
    fn share(&self, node: u16, needy: &[u16], connections: usize) -> usize {
        let weight = |node: u16| self.map.weight(node) as usize;
        let all: usize = needy.iter().map(|node| weight(*node)).sum();
        (connections * weight(node) / all.max(1)).max(1)
    }
}

/// Compares two nodes, each a pair of connections and weight; the lesser has fewer connections for its
/// weight.
pub(super) fn least_for_its_weight(a: [u64; 2], b: [u64; 2]) -> Ordering {
    (a[0] * b[1]).cmp(&(b[0] * a[1]))
}

/// Moves requests that wait for a node without slots to the current owner.
pub(super) fn reroute<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    let route = &mut worker.route;
    for node in 0..route.map.nodes().len() as u16 {
        if route.map.is_used(node) {
            continue;
        }
        let waiting = route.shared.queues.drain(node);
        let (sent, new): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|request| request.mark.was_sent());
        let mut to = |request: &ClusterRequest| {
            request.mark.lane(route.map.route(request.mark.slot, request.mark.read_only))
        };
        // Each goes before those that wait, so the first of them last.
        for request in sent.into_iter().rev() {
            route.shared.queues.push_again(to(&request), request);
        }
        for request in new {
            route.shared.queues.push_moved(to(&request), request);
        }
    }
}

/// Spreads the connections over the nodes that need some. A connection with requests in flight moves once it
/// has none.
pub(super) fn rebalance<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    worker.route.unbalanced = true;
    for conn in (0..worker.connections.len() as u32).map(ConnId) {
        let idle = worker.connections[conn.0 as usize].requests.commands() == 0;
        if worker.route.unbalanced && idle {
            rehome(worker, conn);
        }
    }
    if worker.route.shared.queues.has_clients() {
        return reach_for_clients(worker);
    }
    // A node for which no connection can be spared gets one beyond -c.
    while let Some(poorest) = worker.route.poorest(&worker.route.needy())
        && worker.route.shared.queues.connections(poorest) == 0
        && worker.connections.len() <= worker.route.map.nodes().len()
        && worker.connections.len() < worker.context.connections_max as usize
    {
        add(worker, RouteState::new(poorest, 0));
    }
}

/// Opens an additional connection.
fn add<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>, place: RouteState) {
    let conn = ConnId(worker.connections.len() as u32);
    worker.route.shared.queues.count_connection(place.lane(), true);
    worker.connections.push(Connection::new(place));
    worker.connect(conn);
}

/// Gives each client a connection to every node that needs some, as far as there is room.
fn reach_for_clients<E: Engine, P: Protocol>(worker: &mut ClusterWorker<'_, '_, E, P>) {
    for node in worker.route.needy() {
        for lane in worker.route.shared.queues.lanes(node) {
            let has_room = worker.connections.len() < worker.context.connections_max as usize;
            if worker.route.shared.queues.connections_of(lane) == 0 && has_room {
                add(worker, RouteState::new(node, lane.client));
            }
        }
    }
}

/// Moves a connection without requests to the node that needs it most, if its own node can spare it. Returns
/// whether it has moved.
pub(super) fn rehome<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    conn: ConnId,
) -> bool {
    if worker.route.shared.queues.has_clients() {
        return rehome_of_client(worker, conn);
    }
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
    move_to(worker, conn, poorest);
    true
}

/// Moves a client's connection from a node that needs none any more to one that the client has none to.
fn rehome_of_client<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    conn: ConnId,
) -> bool {
    let RouteState { node: home, client, .. } = worker.connections[conn.0 as usize].place;
    if worker.route.needs_connections(home) {
        return false;
    }
    let queues = &worker.route.shared.queues;
    let lacks = |node: &u16| queues.connections_of(Lane { node: *node, client }) == 0;
    let Some(node) = worker.route.needy().into_iter().find(lacks) else { return false };
    move_to(worker, conn, node);
    true
}

/// Closes a connection without requests, and reopens it to another node.
fn move_to<E: Engine, P: Protocol>(
    worker: &mut ClusterWorker<'_, '_, E, P>,
    conn: ConnId,
    node: u16,
) {
    let is_closed = worker.connections[conn.0 as usize].state == State::Closed;
    if !is_closed {
        worker.engine.close(conn);
    }
    worker.unready(conn);
    let connection = &mut worker.connections[conn.0 as usize];
    let from = connection.place.lane();
    (connection.place.node, connection.attempts) = (node, 0);
    let to = connection.place.lane();
    worker.route.shared.queues.count_connection(from, false);
    worker.route.shared.queues.count_connection(to, true);
    worker.recovery.reopening.forget_one(conn);
    worker.connect(conn);
}
