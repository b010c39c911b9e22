//! Servers that receivers and probes connect to: the only one, or nodes of a cluster.
//!
//! A place in a hash slot is served by the master that owns the slot. Any master serves the other places, and
//! receivers take masters in turn. A node names the new owner of a slot that has moved
//! ([`Homes::elsewhere`]), and a replaced server has a successor ([`Homes::successors`]).

use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Address;
use wire::cluster::{Redirect, Role, Topology, slot_of};
use workload::Delivery;

use super::stops::Stop;
use crate::destination::Destination;
use crate::route::cluster::TopologyWatch;

/// The servers of a run.
pub(crate) struct Homes<'r> {
    destination: &'r Destination,
    /// Separate addresses for receivers, if there are some: replica after replica.
    receivers_at: &'r [Address],
    /// Watch of the cluster's topology; `None` outside a cluster.
    watch: Option<&'r TopologyWatch>,
    known: Mutex<Whereabouts>,
}

/// Current servers of the places, as far as known.
#[derive(Debug, Default)]
struct Whereabouts {
    /// Version of the watch or the destination up to which changes are applied.
    version: u64,
    /// Masters of the cluster; empty for a single server.
    masters: Vec<Master>,
    /// Address of a single server.
    address: Option<Address>,
    /// Replaced servers and their successors, in order of discovery.
    successors: Vec<(Address, Address)>,
}

/// Changes of `Whereabouts` that a thread has seen.
#[derive(Debug, Default)]
pub(super) struct Replacements {
    version: u64,
    successors: usize,
}

#[derive(Debug, Clone)]
struct Master {
    host: String,
    address: Address,
    slots: Vec<RangeInclusive<u16>>,
}

impl Master {
    fn has(&self, slot: u16) -> bool {
        self.slots.iter().any(|range| range.contains(&slot))
    }
}

fn masters(topology: &Topology) -> Vec<Master> {
    let nodes = topology.nodes.iter();
    let masters = nodes.filter(|node| node.role == Role::Master && !node.slots.is_empty());
    let master = |node: &wire::cluster::Node| {
        Some(Master {
            host: node.host.clone(),
            address: Address::Tcp(node.address?),
            slots: node.slots.clone(),
        })
    };
    masters.filter_map(master).collect()
}

impl<'r> Homes<'r> {
    /// Creates the homes of a run: one server, followed by `destination`, or the nodes of a cluster, watched
    /// by `watch`.
    pub(crate) fn new(
        destination: &'r Destination,
        receivers_at: &'r [Address],
        cluster: Option<(&Topology, &'r TopologyWatch)>,
    ) -> Self {
        let known = Whereabouts {
            masters: cluster.map(|(topology, _)| masters(topology)).unwrap_or_default(),
            address: Some(destination.address()),
            ..Whereabouts::default()
        };
        let watch = cluster.map(|(_, watch)| watch);
        Self { destination, receivers_at, watch, known: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, Whereabouts> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether receivers go to the nodes of a cluster.
    pub(super) fn is_cluster(&self) -> bool {
        self.watch.is_some()
    }

    /// The server's address as people write it.
    pub(super) fn name(&self) -> Address {
        self.destination.address()
    }

    /// Returns the number of times that server addresses were resolved anew.
    #[inline]
    fn version(&self) -> u64 {
        match self.watch {
            Some(watch) => watch.version(),
            None => self.destination.generation().into(),
        }
    }

    /// Returns the servers replaced since the last call, with their successors.
    pub(super) fn successors(&self, seen: &mut Replacements) -> Vec<(Address, Address)> {
        let version = self.version();
        if seen.version == version {
            return Vec::new();
        }
        seen.version = version;
        let mut known = self.known();
        if known.version != version {
            known.version = version;
            match self.watch {
                Some(watch) => {
                    let mut before = 0;
                    watch.news(&mut before).iter().for_each(|news| known.take(masters(news)));
                }
                None => known.move_to(self.destination.address()),
            }
        }
        let new = known.successors.get(seen.successors..).unwrap_or_default().to_vec();
        seen.successors += new.len();
        new
    }

    /// Returns whether an address is known as a master's. Brings `seen` up to date.
    pub(super) fn is_master(&self, address: &Address, seen: &Replacements) -> bool {
        let is_it = |master: &Master| master.address == *address;
        seen.version == self.version() && self.known().masters.iter().any(is_it)
    }

    /// Requests the current address of the server.
    pub(super) fn ask(&self) {
        match self.watch {
            Some(watch) => watch.ask(),
            None => self.destination.ask(),
        }
    }

    /// Returns the server that a receiver connects to.
    pub(super) fn of_receiver(&self, delivery: &Delivery, receiver: u32) -> Address {
        let replica = match delivery.node_receivers.get(receiver as usize) {
            Some(node_receiver) => node_receiver.at.unwrap_or(u32::MAX),
            None => receiver / delivery.places.max(1),
        };
        if let Some(address) = self.receivers_at.get(replica as usize) {
            return address.clone();
        }
        match delivery.places_of(receiver).next() {
            Some(place) if delivery.kind.has_slots() => self.of_place(delivery, place),
            _ => self.nth(receiver as usize),
        }
    }

    /// Returns the server that gets the messages of a place.
    pub(super) fn of_place(&self, delivery: &Delivery, place: u32) -> Address {
        if !delivery.kind.has_slots() {
            return self.nth(0);
        }
        let slot = slot_of(delivery.place_name(place).as_bytes());
        let owner = self.known().masters.iter().find(|master| master.has(slot)).cloned();
        owner.map_or_else(|| self.nth(0), |master| master.address)
    }

    /// Returns one of the masters, in turn by number: if one is gone, the next knows who has its slots.
    pub(super) fn nth(&self, n: usize) -> Address {
        let known = self.known();
        let master = known.masters.get(n % known.masters.len().max(1));
        master.map_or_else(|| self.name(), |master| master.address.clone())
    }

    /// Returns the replica after this one, if receivers read at several.
    pub(super) fn next_replica(&self, home: &Address) -> Option<Address> {
        let mut all = self.receivers_at.iter().cycle().skip_while(|at| *at != home);
        self.receivers_at.contains(home).then(|| all.nth(1).cloned()).flatten()
    }

    /// Returns the node that an error permanently refers a receiver at `home` to; `None` if there is none.
    pub(super) fn redirected(&self, text: &str, home: &Address) -> Option<Address> {
        self.elsewhere(text, home).filter(|stop| !stop.asking).map(|stop| stop.address)
    }

    /// Returns the node that a redirection names for a command sent to `home`: permanently, or for this
    /// command while the slot moves.
    pub(super) fn elsewhere(&self, text: &str, home: &Address) -> Option<Stop> {
        match Redirect::parse(text).filter(|_| self.is_cluster())? {
            Redirect::Moved { host, port, .. } => {
                Some(Stop { address: self.node(host, port, home)?, asking: false })
            }
            Redirect::Ask { host, port } => {
                Some(Stop { address: self.node(host, port, home)?, asking: true })
            }
            Redirect::TryAgain | Redirect::ClusterDown => None,
        }
    }

    /// Returns whether an error says that a slot has no known server at present.
    pub(super) fn is_passing(&self, text: &str) -> bool {
        self.is_cluster() && Redirect::parse(text).is_some()
    }

    /// Resolves a node that the node at `home` names by this host and port.
    fn node(&self, host: &str, port: u16, home: &Address) -> Option<Address> {
        let is_it = |master: &&Master| match &master.address {
            Address::Tcp(address) => master.host == host && address.port() == port,
            Address::Unix(_) => false,
        };
        if let Some(known) = self.known().masters.iter().find(is_it) {
            return Some(known.address.clone());
        }
        let ip = match home {
            Address::Tcp(address) if host.is_empty() => address.ip(),
            _ => host.parse().ok()?,
        };
        Some(Address::Tcp((ip, port).into()))
    }
}

impl Whereabouts {
    /// Stores the current masters. The successor of a former master is the one that now has its slots. While no
    /// node owns them, as in the middle of a failover, there is no successor yet.
    fn take(&mut self, mut masters: Vec<Master>) {
        let is_in = |all: &[Master], one: &Master| all.iter().any(|m| m.address == one.address);
        let has_heir = |former: &Master| {
            former
                .slots
                .first()
                .is_none_or(|slots| masters.iter().any(|new| new.has(*slots.start())))
        };
        let orphans: Vec<Master> = self
            .masters
            .iter()
            .filter(|former| !is_in(&masters, former) && !has_heir(former))
            .cloned()
            .collect();
        masters.extend(orphans);
        let former = self.masters.iter().filter(|former| !is_in(&masters, former));
        let successor = |former: &Master| {
            let slot = *former.slots.first()?.start();
            let new = masters.iter().filter(|new| !is_in(&self.masters, new));
            let successor = new.clone().find(|new| new.has(slot))?;
            Some((former.address.clone(), successor.address.clone()))
        };
        let successors: Vec<_> = former.filter_map(successor).collect();
        self.successors.extend(successors);
        self.masters = masters;
    }

    /// Stores the new address of a single server.
    fn move_to(&mut self, address: Address) {
        match self.address.replace(address.clone()) {
            Some(former) if former != address => self.successors.push((former, address)),
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use wire::cluster::{Node, Topology};
    use workload::{DeliveryKind, Subscription};

    fn tcp(port: u16) -> Address {
        Address::Tcp(([127, 0, 0, 1], port).into())
    }

    pub(in crate::delivery) fn topology() -> Topology {
        let node = |port: u16, slots: RangeInclusive<u16>| Node {
            id: String::new(),
            host: "127.0.0.1".to_owned(),
            hostname: None,
            port,
            address: Some(([127, 0, 0, 1], port).into()),
            role: Role::Master,
            slots: vec![slots],
        };
        Topology { nodes: vec![node(1, 0..=8_191), node(2, 8_192..=16_383)] }
    }

    pub(in crate::delivery) fn delivery(subscription: Subscription) -> Delivery {
        let kind = DeliveryKind::Pubsub { subscription };
        let prefix = "p:".to_owned();
        Delivery {
            kind,
            receivers: 10,
            threads: 1,
            prefix,
            places: 50,
            places_each: 1,
            drain_ns: 0,
            node_receivers: Vec::new(),
            at: Vec::new(),
            exchange: None,
            wait: None,
        }
    }

    #[test]
    fn a_place_of_a_slot_is_with_its_owner_and_others_are_shared_out() {
        let (topology, address) = (topology(), tcp(9));
        let (destination, watch) =
            (Destination::new(&address, false), TopologyWatch::new(&topology));
        let homes = Homes::new(&destination, &[], Some((&topology, &watch)));
        let sharded = delivery(Subscription::Shards);
        for receiver in 0..50 {
            let slot = slot_of(sharded.place_name(receiver).as_bytes());
            let owner = tcp(if slot < 8_192 { 1 } else { 2 });
            assert_eq!(homes.of_place(&sharded, receiver), owner);
            assert_eq!(homes.of_receiver(&sharded, receiver), owner);
        }
        let plain = delivery(Subscription::Channels);
        assert_eq!([0, 1, 2].map(|n| homes.of_receiver(&plain, n)), [tcp(1), tcp(2), tcp(1)]);
        let moved = |text: &str| homes.redirected(text, &tcp(1));
        assert_eq!(moved("MOVED 3 127.0.0.1:2"), Some(tcp(2)));
        assert_eq!(moved("MOVED 3 :7"), Some(tcp(7)));
        assert_eq!(moved("CLUSTERDOWN no"), None);
        let asked = homes.elsewhere("ASK 3 127.0.0.1:2", &tcp(1));
        assert_eq!(asked, Some(Stop { address: tcp(2), asking: true }));
        assert!(homes.is_passing("TRYAGAIN later") && !homes.is_passing("ERR no"));
        let replicas = [tcp(5), tcp(6), tcp(7)];
        let homes = Homes::new(&destination, &replicas, Some((&topology, &watch)));
        assert_eq!([5, 7].map(|n| homes.next_replica(&tcp(n))), [Some(tcp(6)), Some(tcp(5))]);
        assert_eq!(homes.next_replica(&tcp(1)), None);
        let single = Homes::new(&destination, &[], None);
        assert_eq!(single.redirected("MOVED 3 127.0.0.1:2", &tcp(1)), None);
        assert_eq!(
            (single.of_receiver(&sharded, 3), single.nth(7)),
            (address.clone(), address.clone())
        );
    }

    #[test]
    fn a_master_that_is_replaced_has_a_successor_and_one_that_is_emptied_has_none() {
        let (mut topology, address) = (topology(), tcp(9));
        let (destination, watch) =
            (Destination::new(&address, false), TopologyWatch::new(&topology));
        let homes = Homes::new(&destination, &[], Some((&topology, &watch)));
        let (mut seen, mut late) = (Replacements::default(), Replacements::default());
        assert_eq!(homes.successors(&mut seen), []);
        topology.nodes[0].address = Some(([127, 0, 0, 1], 3).into());
        watch.publish(topology.clone());
        assert!(!homes.is_master(&tcp(3), &seen));
        assert_eq!(homes.successors(&mut seen), [(tcp(1), tcp(3))]);
        assert!(homes.is_master(&tcp(3), &seen) && !homes.is_master(&tcp(1), &seen));
        assert_eq!((homes.successors(&mut seen), homes.nth(0)), (Vec::new(), tcp(3)));
        topology.nodes[0].address = Some(([127, 0, 0, 1], 1).into());
        watch.publish(topology.clone());
        assert_eq!(homes.successors(&mut seen), [(tcp(3), tcp(1))], "and back");
        let served = topology.nodes.remove(0);
        watch.publish(topology.clone());
        assert_eq!(homes.successors(&mut seen), [], "nobody has its slots yet");
        topology.nodes.insert(0, served);
        topology.nodes[0].address = Some(([127, 0, 0, 1], 3).into());
        watch.publish(topology.clone());
        assert_eq!(homes.successors(&mut seen), [(tcp(1), tcp(3))], "now somebody has");
        let emptied = topology.nodes.remove(1);
        topology.nodes[0].slots.extend(emptied.slots);
        watch.publish(topology);
        assert_eq!(homes.successors(&mut seen), []);
        assert_eq!(homes.successors(&mut late).len(), 3, "another thread looks later");
    }
}
