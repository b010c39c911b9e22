//! Requests that wait for a connection of their node, and connections that wait for requests.
//!
//! Owns the queues and the counts that say whether there is anything to draw or to send, so that
//! neither is searched for.

use std::collections::VecDeque;

use engine::ConnId;

use crate::request::Request;

/// The queues of one worker, by number of the node.
#[derive(Debug)]
pub(crate) struct NodeQueues<M> {
    queues: Vec<NodeQueue<M>>,
    /// Queues whose idle connections lack requests, and queues that have too many.
    hungry: usize,
    full: usize,
    /// Queues that have both requests and idle connections.
    sendable: VecDeque<u16>,
    /// Requests that an idle connection takes at once, at least.
    appetite: usize,
    /// Requests that may wait in a queue.
    capacity: usize,
    /// The same while the node of the queue is not to be reached.
    capacity_large: usize,
    waiting: usize,
}

#[derive(Debug)]
struct NodeQueue<M> {
    waiting: VecDeque<Request<M>>,
    idle: VecDeque<ConnId>,
    /// Connections, and those of them that are open.
    connections: usize,
    ready: usize,
    /// Since when there has been an idle one, if there is.
    room_ns: u64,
    hungry: bool,
    full: bool,
    listed: bool,
}

impl<M> Default for NodeQueue<M> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            idle: VecDeque::new(),
            connections: 0,
            ready: 0,
            room_ns: 0,
            hungry: false,
            full: false,
            listed: false,
        }
    }
}

impl<M> NodeQueues<M> {
    pub(crate) fn new(appetite: usize, capacity: usize, capacity_large: usize) -> Self {
        Self {
            queues: Vec::new(),
            hungry: 0,
            full: 0,
            sendable: VecDeque::new(),
            appetite,
            capacity,
            capacity_large,
            waiting: 0,
        }
    }

    /// Makes room for nodes up to this number.
    pub(crate) fn grow(&mut self, nodes: usize) {
        if self.queues.len() < nodes {
            self.queues.resize_with(nodes, NodeQueue::default);
        }
    }

    /// Whether more requests are wanted, and none has to wait for a node that lags behind.
    #[inline]
    pub(crate) fn wants_more(&self) -> bool {
        self.hungry > 0 && self.full == 0
    }

    /// Requests that wait for a connection.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds a request behind the others of its node.
    #[inline]
    pub(crate) fn push(&mut self, node: u16, request: Request<M>) {
        self.queues[usize::from(node)].waiting.push_back(request);
        self.waiting += 1;
        self.update(node);
    }

    /// Adds one that was sent before, before the others.
    pub(crate) fn push_again(&mut self, node: u16, request: Request<M>) {
        self.queues[usize::from(node)].waiting.push_front(request);
        self.waiting += 1;
        self.update(node);
    }

    /// The next request of a node.
    #[inline]
    pub(crate) fn pop(&mut self, node: u16) -> Option<Request<M>> {
        let request = self.queues[usize::from(node)].waiting.pop_front()?;
        self.waiting -= 1;
        Some(request)
    }

    /// What is next of a node, left there.
    #[inline]
    pub(crate) fn peek(&self, node: u16) -> Option<&Request<M>> {
        self.queues[usize::from(node)].waiting.front()
    }

    /// Takes all that waits for a node.
    pub(crate) fn drain(&mut self, node: u16) -> VecDeque<Request<M>> {
        let drained = std::mem::take(&mut self.queues[usize::from(node)].waiting);
        self.waiting -= drained.len();
        self.update(node);
        drained
    }

    /// A connection has room from `now_ns` on.
    #[inline]
    pub(crate) fn add_idle(&mut self, node: u16, conn: ConnId, now_ns: u64) {
        let queue = &mut self.queues[usize::from(node)];
        if queue.idle.is_empty() {
            queue.room_ns = now_ns;
        }
        queue.idle.push_back(conn);
        self.update(node);
    }

    /// Since when a connection of a node has had room.
    #[inline]
    pub(crate) fn room_ns(&self, node: u16) -> u64 {
        self.queues[usize::from(node)].room_ns
    }

    /// Whatever room the connections of a node seemed to have, nothing more could be sent.
    #[inline]
    pub(crate) fn no_room_before(&mut self, node: u16, now_ns: u64) {
        self.queues[usize::from(node)].room_ns = now_ns;
    }

    /// The connection whose turn it is.
    #[inline]
    pub(crate) fn take_idle(&mut self, node: u16) -> Option<ConnId> {
        self.queues[usize::from(node)].idle.pop_front()
    }

    /// A connection has no room any more, for another reason than a request.
    pub(crate) fn remove_idle(&mut self, node: u16, conn: ConnId) {
        self.queues[usize::from(node)].idle.retain(|idle| *idle != conn);
        self.update(node);
    }

    /// The next node with something to send and a connection to send it on.
    #[inline]
    pub(crate) fn next_sendable(&mut self) -> Option<u16> {
        let node = self.sendable.pop_front()?;
        self.queues[usize::from(node)].listed = false;
        Some(node)
    }

    /// Whether requests wait for a node that no connection is open to.
    pub(crate) fn is_cut_off(&self, node: u16) -> bool {
        let queue = &self.queues[usize::from(node)];
        queue.ready == 0 && !queue.waiting.is_empty()
    }

    /// Takes those out that pass this test.
    pub(crate) fn take(
        &mut self,
        node: u16,
        passes: impl Fn(&Request<M>) -> bool,
    ) -> Vec<Request<M>> {
        let waiting = &mut self.queues[usize::from(node)].waiting;
        let (taken, left): (Vec<_>, Vec<_>) = waiting.drain(..).partition(passes);
        *waiting = left.into();
        self.waiting -= taken.len();
        self.update(node);
        taken
    }

    /// Whether no connection is open to a node.
    pub(crate) fn is_absent(&self, node: u16) -> bool {
        self.queues[usize::from(node)].ready == 0
    }

    /// Connections of a node.
    pub(crate) fn connections(&self, node: u16) -> usize {
        self.queues[usize::from(node)].connections
    }

    /// A connection joins a node, or leaves it.
    pub(crate) fn count_connection(&mut self, node: u16, joins: bool) {
        count(&mut self.queues[usize::from(node)].connections, joins);
    }

    /// A connection of a node has opened, or ended.
    pub(crate) fn count_ready(&mut self, node: u16, opened: bool) {
        count(&mut self.queues[usize::from(node)].ready, opened);
        self.update(node);
    }

    /// Keeps the counts true after a change of one queue.
    #[inline]
    pub(crate) fn update(&mut self, node: u16) {
        let queue = &mut self.queues[usize::from(node)];
        let hungry =
            !queue.idle.is_empty() && queue.waiting.len() < queue.idle.len() * self.appetite;
        let capacity = if queue.ready == 0 { self.capacity_large } else { self.capacity };
        let full = queue.waiting.len() >= capacity;
        if hungry != queue.hungry {
            queue.hungry = hungry;
            count(&mut self.hungry, hungry);
        }
        if full != queue.full {
            queue.full = full;
            count(&mut self.full, full);
        }
        if !queue.listed && !queue.idle.is_empty() && !queue.waiting.is_empty() {
            queue.listed = true;
            self.sendable.push_back(node);
        }
    }
}

fn count(number: &mut usize, up: bool) {
    *number = if up { *number + 1 } else { number.saturating_sub(1) };
}
