//! Requests that wait for a connection to their node, and connections that wait for requests.
//!
//! Owns the queues, and counts that say whether there is anything to draw or to send, so that neither needs a
//! search.

use std::collections::VecDeque;

use engine::ConnId;

use super::turns::{Lane, Turns};
use crate::request::Request;

/// Requests that must leave the queue for a surplus to shrink by one. Meanwhile the other nodes get all but
/// one in this many of the requests that they could take.
const SURPLUS_PARTS: usize = 8;

/// The queues of one worker, by lane.
#[derive(Debug)]
pub(crate) struct NodeQueues<M> {
    /// The queues; those of a node are adjacent.
    queues: Vec<NodeQueue<M>>,
    /// Number of queues of a node: one for each client.
    clients: u32,
    /// Order in which clients draw, where each has its own connections.
    turns: Option<Turns>,
    /// Number of queues whose idle connections lack requests, and number of overfull ones.
    hungry: usize,
    full: usize,
    /// Queues that have both requests and idle connections.
    sendable: VecDeque<Lane>,
    /// Minimum number of requests that an idle connection takes at once.
    appetite: usize,
    /// Maximum number of requests that may wait in a queue.
    capacity: usize,
    /// Maximum number of waiting requests while the node of the queue cannot be reached.
    capacity_large: usize,
    /// Set if connections outlive a pipeline; only then is a node without an open connection absent.
    lasting: bool,
    waiting: usize,
}

#[derive(Debug)]
struct NodeQueue<M> {
    waiting: VecDeque<Request<M>>,
    idle: VecDeque<ConnId>,
    /// Number of connections, and of open ones.
    connections: usize,
    ready: usize,
    /// Requests that came all at once and do not make the queue overfull, in parts of a request: each that
    /// leaves takes one part off.
    surplus: usize,
    /// Time since which a connection has been idle, if one is.
    room_ns: u64,
    hungry: bool,
    full: bool,
    listed: bool,
    /// Set while it waits for its client's turn.
    asks: bool,
}

impl<M> Default for NodeQueue<M> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            idle: VecDeque::new(),
            connections: 0,
            ready: 0,
            surplus: 0,
            room_ns: 0,
            hungry: false,
            full: false,
            listed: false,
            asks: false,
        }
    }
}

impl<M> NodeQueues<M> {
    pub(crate) fn new(appetite: usize, capacity: usize, capacity_large: usize) -> Self {
        Self {
            queues: Vec::new(),
            clients: 1,
            turns: None,
            hungry: 0,
            full: 0,
            sendable: VecDeque::new(),
            appetite,
            capacity,
            capacity_large,
            lasting: true,
            waiting: 0,
        }
    }

    /// Maximum number of requests that may wait in a queue.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Gives each queue room for `capacity` requests.
    pub(crate) fn holding(self, capacity: usize) -> Self {
        Self { capacity, capacity_large: capacity, ..self }
    }

    /// Sets whether connections outlive a pipeline.
    pub(crate) fn lasting(self, lasting: bool) -> Self {
        Self { lasting, ..self }
    }

    /// Gives each of `clients` clients its own queues.
    pub(crate) fn of_clients(self, clients: u32) -> Self {
        Self { clients: clients.max(1), turns: Some(Turns::new(clients)), ..self }
    }

    /// Makes room for nodes up to this number.
    pub(crate) fn grow(&mut self, nodes: usize) {
        let queues = nodes * self.clients as usize;
        if self.queues.len() < queues {
            self.queues.resize_with(queues, NodeQueue::default);
        }
    }

    /// The lanes of a node.
    pub(crate) fn lanes(&self, node: u16) -> impl Iterator<Item = Lane> + use<M> {
        (0..self.clients).map(move |client| Lane { node, client })
    }

    #[inline]
    fn at(&self, lane: Lane) -> usize {
        usize::from(lane.node) * self.clients as usize + lane.client as usize
    }

    #[inline]
    fn queue(&self, lane: impl Into<Lane>) -> &NodeQueue<M> {
        &self.queues[self.at(lane.into())]
    }

    #[inline]
    fn queue_mut(&mut self, lane: impl Into<Lane>) -> &mut NodeQueue<M> {
        let at = self.at(lane.into());
        &mut self.queues[at]
    }

    /// Returns whether to draw more requests, without making any wait for a slow node.
    #[inline]
    pub(crate) fn wants_more(&self) -> bool {
        match &self.turns {
            None => self.hungry > 0 && self.full == 0,
            Some(turns) => {
                turns.hungry.iter().any(|lane| self.queue(*lane).hungry && turns.may_draw(*lane))
            }
        }
    }

    /// Returns the client that draws next, if more requests are wanted; 0 where clients share connections.
    #[inline]
    pub(crate) fn drawer(&mut self) -> Option<u32> {
        match self.turns {
            None => (self.hungry > 0 && self.full == 0).then_some(0),
            Some(_) => self.next_turn(),
        }
    }

    /// Returns the client whose queue has waited longest for something to send.
    fn next_turn(&mut self) -> Option<u32> {
        for _ in 0..self.turns.as_ref()?.hungry.len() {
            let lane = self.turns.as_mut()?.hungry.pop_front()?;
            let at = self.at(lane);
            let turns = self.turns.as_mut()?;
            if !self.queues[at].hungry || turns.clients[lane.client as usize].spent {
                self.queues[at].asks = false;
                continue;
            }
            turns.hungry.push_back(lane);
            if turns.may_draw(lane) {
                return Some(lane.client);
            }
        }
        None
    }

    /// Notes that a client has nothing left to draw. Returns whether others may have.
    pub(crate) fn end_client(&mut self, client: u32) -> bool {
        let Some(turns) = &mut self.turns else { return false };
        turns.clients[client as usize].spent = true;
        true
    }

    /// Returns whether each client has its own connections.
    pub(crate) fn has_clients(&self) -> bool {
        self.turns.is_some()
    }

    /// Number of requests that wait for a connection.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds a request at the end of its node's queue.
    #[inline]
    pub(crate) fn push(&mut self, lane: impl Into<Lane>, request: Request<M>) {
        let lane = lane.into();
        self.queue_mut(lane).waiting.push_back(request);
        self.waiting += 1;
        self.update(lane);
    }

    /// Adds a request that was sent before, at the front.
    pub(crate) fn push_again(&mut self, lane: impl Into<Lane>, request: Request<M>) {
        let lane = lane.into();
        self.queue_mut(lane).waiting.push_front(request);
        self.waiting += 1;
        self.admit(lane);
        self.update(lane);
    }

    /// Adds a request that has waited for another node, at the end.
    pub(crate) fn push_moved(&mut self, lane: impl Into<Lane>, request: Request<M>) {
        let lane = lane.into();
        self.queue_mut(lane).waiting.push_back(request);
        self.waiting += 1;
        self.admit(lane);
        self.update(lane);
    }

    /// Allows a queue one more request, which was not just drawn for it, so that it takes no room from the
    /// others.
    fn admit(&mut self, lane: Lane) {
        let capacity = self.capacity;
        let queue = self.queue_mut(lane);
        let beyond = (queue.waiting.len() + 1).saturating_sub(capacity);
        queue.surplus = queue.surplus.max(beyond * SURPLUS_PARTS);
    }

    /// The next request of a node.
    #[inline]
    pub(crate) fn pop(&mut self, lane: impl Into<Lane>) -> Option<Request<M>> {
        let queue = self.queue_mut(lane);
        let request = queue.waiting.pop_front()?;
        queue.surplus = queue.surplus.saturating_sub(1);
        self.waiting -= 1;
        Some(request)
    }

    /// Returns the next request of a node, left in its queue.
    #[inline]
    pub(crate) fn peek(&self, lane: impl Into<Lane>) -> Option<&Request<M>> {
        self.queue(lane).waiting.front()
    }

    /// Returns whether requests wait for a node.
    pub(crate) fn is_awaited(&self, node: u16) -> bool {
        self.lanes(node).any(|lane| self.peek(lane).is_some())
    }

    /// Takes all requests that wait for a node.
    pub(crate) fn drain(&mut self, node: u16) -> VecDeque<Request<M>> {
        let mut all = VecDeque::new();
        for lane in self.lanes(node) {
            all.append(&mut self.queue_mut(lane).waiting);
            self.update(lane);
        }
        self.waiting -= all.len();
        all
    }

    /// A connection has room from `now_ns` on.
    #[inline]
    pub(crate) fn add_idle(&mut self, lane: impl Into<Lane>, conn: ConnId, now_ns: u64) {
        let lane = lane.into();
        let queue = self.queue_mut(lane);
        if queue.idle.is_empty() {
            queue.room_ns = now_ns;
        }
        queue.idle.push_back(conn);
        self.update(lane);
    }

    /// Time since which a connection of a node has had room.
    #[inline]
    pub(crate) fn room_ns(&self, lane: impl Into<Lane>) -> u64 {
        self.queue(lane).room_ns
    }

    /// Notes that the connections of a node had no room until now, whatever it seemed.
    #[inline]
    pub(crate) fn no_room_before(&mut self, lane: impl Into<Lane>, now_ns: u64) {
        self.queue_mut(lane).room_ns = now_ns;
    }

    /// Takes the idle connection whose turn it is.
    #[inline]
    pub(crate) fn take_idle(&mut self, lane: impl Into<Lane>) -> Option<ConnId> {
        self.queue_mut(lane).idle.pop_front()
    }

    /// A connection has no room any more, for another reason than a request.
    pub(crate) fn remove_idle(&mut self, lane: impl Into<Lane>, conn: ConnId) {
        let lane = lane.into();
        self.queue_mut(lane).idle.retain(|idle| *idle != conn);
        self.update(lane);
    }

    /// Returns the next queue with something to send and a connection for it.
    #[inline]
    pub(crate) fn next_sendable(&mut self) -> Option<Lane> {
        let lane = self.sendable.pop_front()?;
        self.queue_mut(lane).listed = false;
        Some(lane)
    }

    /// Returns whether requests wait for a node that no connection is open to.
    pub(crate) fn is_cut_off(&self, node: u16) -> bool {
        self.is_absent(node) && self.is_awaited(node)
    }

    /// Takes the requests that pass this test.
    pub(crate) fn take(
        &mut self,
        node: u16,
        passes: impl Fn(&Request<M>) -> bool,
    ) -> Vec<Request<M>> {
        let mut all = Vec::new();
        for lane in self.lanes(node) {
            let waiting = &mut self.queue_mut(lane).waiting;
            let (taken, left): (Vec<_>, Vec<_>) = waiting.drain(..).partition(&passes);
            *waiting = left.into();
            all.extend(taken);
            self.update(lane);
        }
        self.waiting -= all.len();
        all
    }

    /// Returns whether no connection is open to a node.
    pub(crate) fn is_absent(&self, node: u16) -> bool {
        self.lanes(node).all(|lane| self.queue(lane).ready == 0)
    }

    /// Returns whether a node has connections, but none is open.
    pub(crate) fn is_cut(&self, node: u16) -> bool {
        self.is_absent(node) && self.connections(node) > 0
    }

    /// Connections of a node.
    pub(crate) fn connections(&self, node: u16) -> usize {
        self.lanes(node).map(|lane| self.connections_of(lane)).sum()
    }

    /// Connections of a lane.
    pub(crate) fn connections_of(&self, lane: Lane) -> usize {
        self.queue(lane).connections
    }

    /// Counts a connection that joins a node, or leaves it.
    pub(crate) fn count_connection(&mut self, lane: impl Into<Lane>, joins: bool) {
        count(&mut self.queue_mut(lane).connections, joins);
    }

    /// A connection of a node has opened, or ended.
    pub(crate) fn count_ready(&mut self, lane: impl Into<Lane>, opened: bool) {
        let lane = lane.into();
        let lasting = self.lasting;
        let queue = self.queue_mut(lane);
        if opened && lasting && queue.ready == 0 {
            // Requests that waited while the node was away.
            queue.surplus = queue.surplus.max(queue.waiting.len() * SURPLUS_PARTS);
        }
        count(&mut queue.ready, opened);
        self.update(lane);
    }

    /// Updates the counts after a change of one queue.
    #[inline]
    pub(crate) fn update(&mut self, lane: Lane) {
        let at = self.at(lane);
        let queue = &mut self.queues[at];
        let hungry =
            !queue.idle.is_empty() && queue.waiting.len() < queue.idle.len() * self.appetite;
        let capacity = match queue.ready {
            0 => self.capacity_large,
            _ => self.capacity + queue.surplus / SURPLUS_PARTS,
        };
        let full = queue.waiting.len() >= capacity;
        if hungry != queue.hungry {
            queue.hungry = hungry;
            count(&mut self.hungry, hungry);
            if let Some(turns) = &mut self.turns
                && hungry
                && !queue.asks
            {
                queue.asks = true;
                turns.hungry.push_back(lane);
            }
        }
        if full != queue.full {
            queue.full = full;
            count(&mut self.full, full);
            if let Some(turns) = &mut self.turns {
                count(&mut turns.clients[lane.client as usize].full, full);
            }
        }
        if !queue.listed && !queue.idle.is_empty() && !queue.waiting.is_empty() {
            queue.listed = true;
            self.sendable.push_back(lane);
        }
    }
}

fn count(number: &mut usize, up: bool) {
    *number = if up { *number + 1 } else { number.saturating_sub(1) };
}
