//! The node of each command.
//!
//! Owns a worker's map of the hash slots. A new topology replaces it; a redirect in between changes it at
//! once.

use std::net::{IpAddr, SocketAddr};

use wire::cluster::{Node, Role, SLOTS, Topology};
use workload::{ClusterOptions, ReadFrom, ReplicaFallback};

use super::nearest::{self, AnswerTime};

/// Number of no known node.
const NOBODY: u16 = u16::MAX;

/// Maps each hash slot to its node. A node keeps its number for the whole run.
#[derive(Debug)]
pub(crate) struct SlotMap {
    nodes: Vec<NodeSlots>,
    owner: Vec<u16>,
    /// Last owner of each slot, even if it has none now.
    last_owner: Vec<u16>,
    /// Nodes that own slots.
    masters: Vec<u16>,
    turn: usize,
    options: ClusterOptions,
    /// Set if masters get any of the load, and if replicas do.
    uses: [bool; 2],
}

/// A known node.
#[derive(Debug)]
pub(crate) struct NodeSlots {
    /// `host:port`
    pub(crate) name: String,
    host: String,
    pub(crate) address: SocketAddr,
    /// Number of its slots.
    pub(crate) slots: u32,
    /// Master, if it is a replica.
    copies: Option<u16>,
    /// Replicas that may be read from.
    replicas: Vec<u16>,
    /// The last of its replicas, kept when it has none left.
    last_replica: Option<u16>,
    turn: usize,
    answers: AnswerTime,
}

impl SlotMap {
    /// Returns the map. `uses` says whether commands go to masters, and whether to replicas.
    pub(crate) fn new(topology: &Topology, options: ClusterOptions, uses: [bool; 2]) -> Self {
        let mut map = Self {
            nodes: Vec::new(),
            owner: vec![NOBODY; usize::from(SLOTS)],
            last_owner: vec![NOBODY; usize::from(SLOTS)],
            masters: Vec::new(),
            turn: 0,
            options,
            uses,
        };
        map.apply(topology);
        map
    }

    /// Takes in a new topology.
    pub(crate) fn apply(&mut self, topology: &Topology) {
        let numbers: Vec<Option<u16>> =
            topology.nodes.iter().map(|node| Some(self.number(node, node.address?))).collect();
        self.owner.fill(NOBODY);
        for known in &mut self.nodes {
            known.slots = 0;
            known.copies = None;
            known.replicas.clear();
        }
        for (node, number) in topology.nodes.iter().zip(&numbers) {
            let Some(number) = *number else { continue };
            match node.role {
                Role::Master => {
                    for slot in node.slots.iter().cloned().flatten() {
                        self.owner[usize::from(slot)] = number;
                    }
                }
                Role::Replica { of } => {
                    if let Some(master) = numbers.get(of).copied().flatten() {
                        self.nodes[usize::from(number)].copies = Some(master);
                        self.nodes[usize::from(master)].replicas.push(number);
                    }
                }
            }
        }
        let most = self.options.replicas_max.map_or(usize::MAX, |most| most as usize);
        for known in &mut self.nodes {
            // The first replica stays first, in whatever order the cluster names them.
            known.replicas.sort();
            known.replicas.truncate(most);
            known.last_replica = known.replicas.last().copied().or(known.last_replica);
        }
        for owner in self.owner.iter().filter(|owner| **owner != NOBODY) {
            self.nodes[usize::from(*owner)].slots += 1;
        }
        for (last, owner) in self.last_owner.iter_mut().zip(&self.owner) {
            *last = if *owner == NOBODY { *last } else { *owner };
        }
        self.list_masters();
    }

    fn list_masters(&mut self) {
        self.masters =
            (0..).zip(&self.nodes).filter(|(_, n)| n.slots > 0).map(|(n, _)| n).collect();
    }

    /// Returns the number of a node, a new one if it is unknown.
    fn number(&mut self, node: &Node, address: SocketAddr) -> u16 {
        match self.nodes.iter().position(|known| known.address == address) {
            Some(number) => number as u16,
            None => self.add(node.name(), node.host.clone(), address),
        }
    }

    fn add(&mut self, name: String, host: String, address: SocketAddr) -> u16 {
        self.nodes.push(NodeSlots {
            name,
            host,
            address,
            slots: 0,
            copies: None,
            replicas: Vec::new(),
            last_replica: None,
            turn: 0,
            answers: AnswerTime::default(),
        });
        (self.nodes.len() - 1) as u16
    }

    /// All known nodes, by number.
    pub(crate) fn nodes(&self) -> &[NodeSlots] {
        &self.nodes
    }

    /// A node.
    pub(crate) fn node(&self, number: u16) -> &NodeSlots {
        &self.nodes[usize::from(number)]
    }

    /// Returns whether a node gets any of the load.
    pub(crate) fn is_used(&self, number: u16) -> bool {
        let node = self.node(number);
        let [masters, replicas] = self.uses;
        match node.copies {
            _ if node.slots > 0 => {
                let alone = node.replicas.is_empty();
                masters || alone && self.reader_without_replica(number) == number
            }
            Some(master) => {
                let master = self.node(master);
                replicas && master.slots > 0 && master.replicas.contains(&number)
            }
            None => false,
        }
    }

    /// Returns the nodes that get load.
    pub(crate) fn used(&self) -> Vec<u16> {
        (0..self.nodes.len() as u16).filter(|node| self.is_used(*node)).collect()
    }

    /// Returns whether a node is a master, and a number of slots: its own, or a replica's those of its master.
    pub(crate) fn role(&self, number: u16) -> (bool, u32) {
        let node = self.node(number);
        match node.copies {
            Some(master) if node.slots == 0 => (false, self.node(master).slots),
            _ => (node.slots > 0, node.slots),
        }
    }

    /// Returns the node that answers reads for a master without replicas.
    fn reader_without_replica(&self, master: u16) -> u16 {
        match self.options.without_replica {
            ReplicaFallback::Primary => master,
            // One that never had any is no cluster to wait for: a run does not begin there.
            ReplicaFallback::Wait => self.node(master).last_replica.unwrap_or(master),
        }
    }

    /// Returns whether a node has to answer reads, of its own slots or of a master's.
    pub(crate) fn answers_reads(&self, number: u16) -> bool {
        let masters_too = match self.options.read_from {
            ReadFrom::Masters => return false,
            ReadFrom::Nearest | ReadFrom::All => true,
            ReadFrom::Replicas => false,
        };
        self.uses[1]
            && self.masters.iter().any(|master| match &self.node(*master).replicas[..] {
                [] => self.reader_without_replica(*master) == number,
                replicas => replicas.contains(&number) || masters_too && *master == number,
            })
    }

    /// Returns whether answer times matter.
    #[inline]
    pub(crate) fn compares_answers(&self) -> bool {
        self.options.read_from == ReadFrom::Nearest
    }

    /// Notes the time that a node took to answer.
    #[inline]
    pub(crate) fn answered(&mut self, number: u16, took_ns: u64) {
        self.nodes[usize::from(number)].answers.add(took_ns);
    }

    /// Weight of a node in the distribution of connections.
    pub(crate) fn weight(&self, number: u16) -> u32 {
        let (is_master, _) = self.role(number);
        match self.options.connections {
            None => 1,
            Some(shares) if is_master => shares.primary,
            Some(shares) => shares.replica,
        }
    }

    /// Last known owner of a slot.
    pub(crate) fn last_owner(&self, slot: Option<u16>) -> Option<u16> {
        Some(self.last_owner[usize::from(slot?)]).filter(|owner| *owner != NOBODY)
    }

    /// The owner of each slot.
    pub(crate) fn owners(&self) -> impl Iterator<Item = Option<u16>> {
        self.owner.iter().map(|owner| Some(*owner).filter(|owner| *owner != NOBODY))
    }

    /// Returns whether masters get any of the load for being masters.
    pub(crate) fn uses_masters(&self) -> bool {
        self.uses[0]
    }

    /// Returns the node for a command with this slot. Commands without a key, or with a slot that has no
    /// owner, go to the masters in turn or to their readers; the answer will report a missing owner.
    #[inline]
    pub(crate) fn route(&mut self, slot: Option<u16>, read_only: bool) -> u16 {
        let mut master = slot.map_or(NOBODY, |slot| self.owner[usize::from(slot)]);
        if master == NOBODY {
            self.turn = (self.turn + 1) % self.masters.len().max(1);
            let Some(next) = self.masters.get(self.turn) else { return 0 };
            master = *next;
        }
        if !read_only || self.options.read_from == ReadFrom::Masters {
            return master;
        }
        self.reader(master)
    }

    /// Returns the node that answers the next read for a master.
    #[inline]
    fn reader(&mut self, master: u16) -> u16 {
        let node = &mut self.nodes[usize::from(master)];
        if node.replicas.is_empty() {
            return self.reader_without_replica(master);
        }
        let masters_too = match self.options.read_from {
            ReadFrom::Nearest => {
                node.turn = node.turn.wrapping_add(1);
                let node = &self.nodes[usize::from(master)];
                return nearest::choose(master, &node.replicas, node.turn, |number: u16| {
                    &self.nodes[usize::from(number)].answers
                });
            }
            ReadFrom::All => 1,
            ReadFrom::Replicas | ReadFrom::Masters => 0,
        };
        node.turn = (node.turn + 1) % (node.replicas.len() + masters_too);
        node.replicas.get(node.turn).copied().unwrap_or(master)
    }

    /// Returns the node at a host and port named by node `from`; an empty host is its own. `None` if the host
    /// name is unknown.
    pub(crate) fn find(&mut self, host: &str, port: u16, from: u16) -> Option<u16> {
        let from = self.node(from);
        let host = if host.is_empty() { from.host.as_str() } else { host };
        if let Some(number) =
            self.nodes.iter().position(|known| known.host == host && known.address.port() == port)
        {
            return Some(number as u16);
        }
        let ip: IpAddr = match host.parse() {
            Ok(ip) => ip,
            Err(_) if host == from.host => from.address.ip(),
            Err(_) => return None,
        };
        let address = SocketAddr::new(ip, port);
        if let Some(number) = self.nodes.iter().position(|known| known.address == address) {
            return Some(number as u16);
        }
        let host = host.to_owned();
        Some(self.add(address.to_string(), host, address))
    }

    /// Takes in that a slot has another owner from now on. Returns whether that changes which nodes get load.
    pub(crate) fn moved(&mut self, slot: u16, to: u16) -> bool {
        let before = std::mem::replace(&mut self.owner[usize::from(slot)], to);
        self.last_owner[usize::from(slot)] = to;
        if before == to {
            return false;
        }
        let mut changed = false;
        if before != NOBODY {
            let node = &mut self.nodes[usize::from(before)];
            node.slots -= 1;
            changed |= node.slots == 0;
            node.replicas.retain(|replica| *replica != to);
        }
        let node = &mut self.nodes[usize::from(to)];
        node.slots += 1;
        if before != NOBODY && node.copies == Some(before) {
            // A replica that answers for its master has been promoted.
            node.copies = None;
        }
        let node = self.node(to);
        changed |= node.slots == 1;
        if changed {
            self.list_masters();
        }
        changed
    }
}

#[cfg(test)]
#[path = "slot_map_tests.rs"]
mod tests;
