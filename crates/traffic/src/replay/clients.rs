//! Assignment of recorded clients to the connections that send their commands.

use std::collections::{HashMap, HashSet};

/// Maximum number of connections without a given number: a connection for each client up to here.
const OWN_MAX: usize = 1_000;

/// The recorded clients that the first reading found.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientList {
    /// Numbers of clients, in order of appearance.
    numbers: HashMap<u64, u32>,
    /// Clients whose commands depend on their earlier commands.
    sessions: HashSet<u64>,
    /// Clients with commands that may block: these go to a second connection with a number of its own.
    waiting: HashSet<u64>,
}

impl ClientList {
    pub(crate) fn see(&mut self, client: u64, is_of_session: bool) {
        let next = self.numbers.len() as u32;
        self.numbers.entry(client).or_insert(next);
        if is_of_session {
            self.sessions.insert(client);
        }
    }

    /// Records that a client blocks, so that it needs a second connection.
    pub(crate) fn see_waiting(&mut self, client: u64) {
        self.waiting.insert(client);
    }

    /// Number of clients, without their second connections.
    pub(crate) fn len(&self) -> u64 {
        let twice = self.waiting.iter().filter(|client| self.numbers.contains_key(client));
        (self.numbers.len() - twice.count()) as u64
    }

    /// Assigns clients to `connections`; with `None`, each client has its own. A client in a transaction, or
    /// with commands that may block, has a connection to itself.
    pub(crate) fn on(self, connections: Option<u32>) -> Clients {
        let shared = connections.map_or(OWN_MAX, |connections| connections as usize);
        if self.numbers.len() <= shared {
            let connections = self.numbers.len().max(1) as u32;
            return Clients { of: self.numbers, connections, own: connections };
        }
        let (mut of, mut own) = (self.numbers, 0);
        let sharing = (of.len() - self.sessions.len()).min(shared) as u32;
        for (client, connection) in &mut of {
            if self.sessions.contains(client) {
                *connection = sharing + own;
                own += 1;
            } else {
                *connection %= sharing.max(1);
            }
        }
        Clients { of, connections: (sharing + own).max(1), own }
    }
}

/// Assignment of clients to connections.
#[derive(Debug, Clone)]
pub struct Clients {
    of: HashMap<u64, u32>,
    connections: u32,
    own: u32,
}

impl Clients {
    /// Number of connections.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// Number of clients with a connection to themselves.
    pub fn own(&self) -> u32 {
        self.own
    }

    /// The connection of a client. A client that the first reading did not see shares the first client's.
    pub fn connection(&self, client: u64) -> u32 {
        self.of.get(&client).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(clients: u64, sessions: &[u64]) -> ClientList {
        let mut list = ClientList::default();
        (0..clients).for_each(|client| list.see(client * 7, sessions.contains(&client)));
        list
    }

    #[test]
    fn each_client_has_a_connection_of_its_own_where_there_are_enough() {
        let clients = list(3, &[]).on(None);
        let all: HashSet<u32> = (0..3).map(|client| clients.connection(client * 7)).collect();
        assert_eq!((clients.connections(), all.len()), (3, 3));
        assert_eq!(list(0, &[]).on(None).connections(), 1);
        assert_eq!(list(5000, &[]).on(None).connections(), OWN_MAX as u32);
    }

    #[test]
    fn who_depends_on_what_it_sent_shares_with_nobody() {
        let clients = list(100, &[3, 50]).on(Some(4));
        let mut sharers: HashMap<u32, usize> = HashMap::new();
        for client in 0..100 {
            *sharers.entry(clients.connection(client * 7)).or_default() += 1;
        }
        assert_eq!(clients.connections(), 6);
        assert!(sharers.keys().all(|connection| *connection < 6));
        for client in [3, 50] {
            assert_eq!(sharers[&clients.connection(client * 7)], 1);
        }
        assert_eq!(list(2, &[0, 1]).on(Some(1)).connections(), 2);
    }
}
