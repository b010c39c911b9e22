//! Names of queues, and the order in which clients draw their requests.

use std::collections::VecDeque;

/// Name of a queue: requests for a node, or, where clients are distinguished, one client's requests for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) node: u16,
    /// Number of the client, from 0; 0 where clients are not distinguished.
    pub(crate) client: u32,
}

impl From<u16> for Lane {
    fn from(node: u16) -> Self {
        Self { node, client: 0 }
    }
}

/// Clients that draw for themselves, in turn.
#[derive(Debug)]
pub(super) struct Turns {
    /// Queues whose idle connections lacked requests, the longest first.
    pub(super) hungry: VecDeque<Lane>,
    pub(super) clients: Vec<Client>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Client {
    /// Number of its overfull queues.
    pub(super) full: usize,
    /// Set once it has nothing left to draw.
    pub(super) spent: bool,
}

impl Turns {
    pub(super) fn new(clients: u32) -> Self {
        let clients = vec![Client::default(); clients.max(1) as usize];
        Self { hungry: VecDeque::new(), clients }
    }

    pub(super) fn may_draw(&self, lane: Lane) -> bool {
        let client = &self.clients[lane.client as usize];
        client.full == 0 && !client.spent
    }
}
