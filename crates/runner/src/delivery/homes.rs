//! Where receivers and probes go: to the one server, or to the nodes of a cluster.
//!
//! A place that belongs to a hash slot is served by the master that owns it; of others any master will do, and
//! receivers take them in turn. A node names the new owner of what has moved since ([`Homes::redirected`]).

use std::ops::RangeInclusive;

use engine::Address;
use wire::cluster::{Redirect, Role, slot_of};
use workload::Delivery;

use crate::route::cluster::ClusterJob;

/// The servers of a run.
#[derive(Debug)]
pub(crate) struct Homes<'r> {
    address: &'r Address,
    /// Where receivers connect to, if elsewhere: replica after replica.
    receivers_at: &'r [Address],
    /// The masters of a cluster; empty of a single server.
    masters: Vec<Master>,
}

#[derive(Debug)]
struct Master {
    host: String,
    address: Address,
    slots: Vec<RangeInclusive<u16>>,
}

impl<'r> Homes<'r> {
    pub(crate) fn new(
        address: &'r Address,
        receivers_at: &'r [Address],
        cluster: Option<ClusterJob<'_>>,
    ) -> Self {
        let nodes = cluster.iter().flat_map(|cluster| &cluster.topology.nodes);
        let masters = nodes.filter(|node| node.role == Role::Master && !node.slots.is_empty());
        let master = |node: &wire::cluster::Node| {
            Some(Master {
                host: node.host.clone(),
                address: Address::Tcp(node.address?),
                slots: node.slots.clone(),
            })
        };
        Self { address, receivers_at, masters: masters.filter_map(master).collect() }
    }

    /// Whether they are the nodes of a cluster.
    pub(super) fn is_cluster(&self) -> bool {
        !self.masters.is_empty()
    }

    /// The server as people write it.
    pub(super) fn name(&self) -> &Address {
        self.address
    }

    /// Where a receiver connects.
    pub(super) fn of_receiver(&self, delivery: &Delivery, receiver: u32) -> Address {
        let replica = match delivery.stations.get(receiver as usize) {
            Some(station) => station.at.unwrap_or(u32::MAX),
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

    /// Where a message through a place is sent.
    pub(super) fn of_place(&self, delivery: &Delivery, place: u32) -> Address {
        if !delivery.kind.has_slots() {
            return self.nth(0);
        }
        let slot = slot_of(delivery.place_name(place).as_bytes());
        let owner =
            self.masters.iter().find(|master| master.slots.iter().any(|s| s.contains(&slot)));
        owner.map_or_else(|| self.nth(0), |master| master.address.clone())
    }

    /// Some master, another for each number: where one is gone, the next knows who has its slots.
    pub(super) fn nth(&self, n: usize) -> Address {
        let count = self.masters.len().max(1);
        self.masters.get(n % count).map_or(self.address, |master| &master.address).clone()
    }

    /// The replica behind this one, where receivers read at several.
    pub(super) fn next_replica(&self, home: &Address) -> Option<Address> {
        let mut all = self.receivers_at.iter().cycle().skip_while(|at| *at != home);
        self.receivers_at.contains(home).then(|| all.nth(1).cloned()).flatten()
    }

    /// The node that an error refers a receiver at `home` to for good; `None` if it refers to none.
    pub(super) fn redirected(&self, text: &str, home: &Address) -> Option<Address> {
        let Some(Redirect::Moved { host, port, .. }) = Redirect::parse(text) else { return None };
        self.node(host, port, home)
    }

    /// The node that an error from `home` refers a single command to, as the slot is on its way there.
    pub(super) fn asked(&self, text: &str, home: &Address) -> Option<Address> {
        let Some(Redirect::Ask { host, port }) = Redirect::parse(text) else { return None };
        self.node(host, port, home)
    }

    /// The node that another at `home` names so.
    fn node(&self, host: &str, port: u16, home: &Address) -> Option<Address> {
        let known = self.masters.iter().find(|master| match &master.address {
            Address::Tcp(address) => master.host == host && address.port() == port,
            Address::Unix(_) => false,
        });
        if let Some(known) = known {
            return Some(known.address.clone());
        }
        let ip = match home {
            Address::Tcp(address) if host.is_empty() => address.ip(),
            _ => host.parse().ok()?,
        };
        Some(Address::Tcp((ip, port).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::cluster::{Node, Topology};
    use workload::{DeliveryKind, Subscription};

    fn topology() -> Topology {
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

    fn delivery(subscription: Subscription) -> Delivery {
        let kind = DeliveryKind::Pubsub { subscription, slow: 0 };
        let prefix = "p:".to_owned();
        Delivery {
            kind,
            receivers: 10,
            threads: 1,
            prefix,
            places: 50,
            places_each: 1,
            drain_ns: 0,
            stations: Vec::new(),
            at: Vec::new(),
            exchange: None,
            wait: None,
        }
    }

    #[test]
    fn a_place_of_a_slot_is_with_its_owner_and_others_are_shared_out() {
        let (topology, address) = (topology(), Address::Tcp(([127, 0, 0, 1], 9).into()));
        let cluster = ClusterJob { topology: &topology, routings: &[], refresh: &|_| None };
        let homes = Homes::new(&address, &[], Some(cluster));
        let tcp = |port: u16| Address::Tcp(([127, 0, 0, 1], port).into());
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
        let replicas = [tcp(5), tcp(6), tcp(7)];
        let homes = Homes::new(&address, &replicas, Some(cluster));
        assert_eq!([5, 7].map(|n| homes.next_replica(&tcp(n))), [Some(tcp(6)), Some(tcp(5))]);
        assert_eq!(homes.next_replica(&tcp(1)), None);
        let single = Homes::new(&address, &[], None);
        assert_eq!(
            (single.of_receiver(&sharded, 3), single.nth(7)),
            (address.clone(), address.clone())
        );
    }
}
