//! Which node each connection belongs to, and what becomes of it when the cluster changes.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::link::Link;
use super::worker::ClusterWorker;
use crate::session::State;

impl<E: Engine, P: Protocol> ClusterWorker<'_, E, P> {
    /// What waits for a node that owns nothing any more goes to the one that does.
    pub(super) fn reroute(&mut self) {
        for node in 0..self.router.nodes().len() as u16 {
            if self.router.is_used(node) {
                continue;
            }
            for request in self.lanes.drain(node) {
                let to = self.router.route(request.slot, request.read_only);
                // To have been sent before is no reason to go before what waits there.
                self.lanes.push(to, request);
            }
        }
    }

    /// Whether a node needs a connection: it has load by the map, or something waits for it.
    fn needs_links(&self, node: u16) -> bool {
        self.router.is_used(node) || self.lanes.peek(node).is_some()
    }

    /// Connections that each node should have at least, and the one that has fewest.
    fn poorest(&self) -> Option<(usize, u16)> {
        let nodes = 0..self.router.nodes().len() as u16;
        let needy: Vec<u16> = nodes.filter(|node| self.needs_links(*node)).collect();
        let share = (self.links.len() / needy.len().max(1)).max(1);
        let poorest = needy.into_iter().min_by_key(|node| self.lanes.links(*node))?;
        Some((share, poorest))
    }

    /// Spreads the connections over the nodes that need some. One that has requests in flight
    /// moves when it has none.
    pub(super) fn rebalance(&mut self) {
        self.unbalanced = true;
        for n in 0..self.links.len() as u32 {
            if self.unbalanced && self.links[n as usize].requests.is_empty() {
                self.rehome(ConnId(n));
            }
        }
        // A node that nobody can be spared for gets a connection beyond -c.
        while let Some((_, poorest)) = self.poorest()
            && self.lanes.links(poorest) == 0
            && self.links.len() <= self.router.nodes().len()
            && self.links.len() < self.shift.connections_max as usize
        {
            let conn = ConnId(self.links.len() as u32);
            self.links.push(Link::new(poorest));
            self.lanes.count_link(poorest, true);
            self.connect(conn);
        }
    }

    /// Moves a connection without requests to the node that needs it most, if its own node can
    /// spare it. Whether it has moved.
    pub(super) fn rehome(&mut self, conn: ConnId) -> bool {
        let Some((share, poorest)) = self.poorest() else { return false };
        let link = &self.links[conn.0 as usize];
        let home = link.node;
        let (here, there) = (self.lanes.links(home), self.lanes.links(poorest));
        let useless = !self.needs_links(home);
        if !useless && there >= share {
            // Each has its share; what is left is for those whose node has gone.
            let nodes = 0..self.router.nodes().len() as u16;
            let stray = |node: u16| self.lanes.links(node) > 0 && !self.needs_links(node);
            self.unbalanced = nodes.into_iter().any(stray);
            return false;
        }
        if home == poorest || (!useless && here <= share) {
            return false;
        }
        self.leave(conn);
        let link = &mut self.links[conn.0 as usize];
        (link.node, link.attempts) = (poorest, 0);
        self.lanes.count_link(home, false);
        self.lanes.count_link(poorest, true);
        self.reopening.forget_one(conn);
        self.connect(conn);
        true
    }

    /// Closes a connection that has no requests.
    fn leave(&mut self, conn: ConnId) {
        let link = &mut self.links[conn.0 as usize];
        let node = link.node;
        if std::mem::take(&mut link.idle) {
            self.lanes.remove_idle(node, conn);
        }
        let state = std::mem::take(&mut link.state);
        if state != State::Closed {
            self.engine.close(conn);
        }
        if state == State::Ready {
            self.lanes.count_ready(node, false);
        }
    }
}
