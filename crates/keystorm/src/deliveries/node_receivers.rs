//! Receivers at the nodes of a cluster. For keyspace events and invalidations, which each master publishes
//! for its own keys alone, there is one at each master with places; for replication, one for each place at
//! each replica of its shard.

use std::borrow::Cow;

use anyhow::{Context, Result, anyhow, bail};
use cli::console::diagnostics;
use host::Address;
use wire::cluster::{Role, Topology, slot_of};
use wire::resp::Value;
use workload::{Delivery, DeliveryKind, Endpoint, NodeReceiver, Plan};

use crate::server::resolve;
use crate::test_bed::TestBed;

/// A plan with its receivers assigned to the nodes of the cluster, if they are at several.
///
/// # Errors Returns an error if no node has a slot, or a shard has no replica to read from.
pub(crate) fn placed<'p>(bed: &TestBed<'_>, plan: Cow<'p, Plan>) -> Result<Cow<'p, Plan>> {
    let delivery = plan.delivery.as_ref().filter(|delivery| {
        delivery.kind.is_at_each_node()
            && delivery.node_receivers.is_empty()
            && plan.target.is_cluster()
    });
    let (Some(topology), Some(delivery)) = (&bed.server.cluster, delivery) else {
        return Ok(plan);
    };
    let owners = owners(topology, delivery)?;
    let mut placed = delivery.clone();
    match delivery.kind {
        DeliveryKind::Replica => at_replicas(bed, &plan, topology, &owners, &mut placed)?,
        _ => {
            let slotless = slotless_masters(bed, &plan)?;
            at_masters(topology, &owners, &slotless, delivery, &mut placed);
        }
    }
    placed.receivers = u32::try_from(placed.node_receivers.len()).unwrap_or(u32::MAX);
    let plan = plan.with(|parts| parts.delivery = Some(placed))?;
    bed.allow_connections(plan.all_connections())?;
    Ok(Cow::Owned(plan))
}

/// The master of each place, by its number among the nodes.
fn owners(topology: &Topology, delivery: &Delivery) -> Result<Vec<usize>> {
    let owners = (0..delivery.places).map(|place: u32| {
        let slot = slot_of(delivery.place_name(place).as_bytes());
        let mut nodes = topology.nodes.iter();
        let owner = nodes.position(|node| {
            node.role == Role::Master && node.slots.iter().any(|range| range.contains(&slot))
        });
        owner.with_context(|| format!("no node of the cluster has slot {slot}"))
    });
    owners.collect()
}

/// Each receiver at each master, including those without a place, as a slot may move there.
fn at_masters(
    topology: &Topology,
    owners: &[usize],
    slotless: &[(String, u16)],
    delivery: &Delivery,
    placed: &mut Delivery,
) {
    for receiver in 0..delivery.receivers {
        let own: Vec<u32> = delivery.places_of(receiver).collect();
        for (master, node) in topology.nodes.iter().take(topology.masters()).enumerate() {
            let there = own.iter().copied().filter(|place| owners[*place as usize] == master);
            let places: Vec<u32> = there.collect();
            let address = || address_of(&mut placed.at, (node.host.clone(), node.port));
            let at = places.is_empty().then(address).flatten();
            placed.node_receivers.push(NodeReceiver { receiver, places, at });
        }
        for node in slotless {
            let at = address_of(&mut placed.at, node.clone());
            placed.node_receivers.push(NodeReceiver { receiver, places: Vec::new(), at });
        }
    }
}

/// Masters without slots, which the list of slot owners leaves out. Empty if the server does not report them.
fn slotless_masters(bed: &TestBed<'_>, plan: &Plan) -> Result<Vec<(String, u16)>> {
    let server = &bed.server;
    let nodes = server.client(&plan.target)?.ask(&[b"CLUSTER", b"NODES"])?;
    let nodes = nodes.text().unwrap_or_default();
    let host = match &server.address {
        Address::Tcp(address) => address.ip().to_string(),
        Address::Unix(_) => "127.0.0.1".to_owned(),
    };
    Ok(nodes.lines().filter_map(|line| slotless(line, &host)).collect())
}

/// Host and port of a node in a line from the node at host `asked`, if it is a reachable master without
/// slots.
fn slotless(line: &str, asked: &str) -> Option<(String, u16)> {
    let mut words = line.split(' ');
    let (_, address, flags) = (words.next()?, words.next()?, words.next()?);
    let (link, slots) = (words.nth(4)?, words.next());
    let is_master = flags.split(',').any(|flag| flag == "master");
    let is_there = !flags.contains("fail") && !flags.contains("handshake") && link == "connected";
    if !is_master || !is_there || slots.is_some() {
        return None;
    }
    let (host, port) = address.split('@').next()?.rsplit_once(':')?;
    let host = if host.is_empty() { asked } else { host };
    Some((host.to_owned(), port.parse().ok().filter(|port| *port > 0)?))
}

/// Number of an address in the list, to which it is added if necessary.
fn address_of(all: &mut Vec<(String, u16)>, address: (String, u16)) -> Option<u32> {
    let at = all.iter().position(|known| *known == address).unwrap_or_else(|| {
        all.push(address);
        all.len() - 1
    });
    u32::try_from(at).ok()
}

/// Each place at the number of replicas of its shard that every shard has: those named by the plan, or else
/// by the cluster.
fn at_replicas(
    bed: &TestBed<'_>,
    plan: &Plan,
    topology: &Topology,
    owners: &[usize],
    placed: &mut Delivery,
) -> Result<()> {
    let named = if placed.at.is_empty() {
        topology
            .nodes
            .iter()
            .filter_map(|node| match node.role {
                Role::Replica { of } => Some((of, (node.host.clone(), node.port))),
                Role::Master => None,
            })
            .collect()
    } else {
        owners_of(bed, plan, topology, &placed.at)?
    };
    let mut masters = owners.to_vec();
    masters.sort();
    masters.dedup();
    let of = |master: usize| -> Vec<(String, u16)> {
        let its = named.iter().filter(|(of, _)| *of == master);
        its.map(|(_, address)| address.clone()).collect()
    };
    let shards: Vec<(usize, Vec<(String, u16)>)> =
        masters.into_iter().map(|master| (master, of(master))).collect();
    let counts = shards.iter().map(|(_, replicas)| replicas.len());
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    if let Some((master, _)) = shards.iter().find(|(_, replicas)| replicas.is_empty()) {
        let name = topology.nodes[*master].name();
        if placed.at.is_empty() {
            bail!("{name} has no replicas, so that nothing can be read there")
        } else {
            bail!("--at: no address is that of a replica of {name}; name one of each shard")
        }
    }
    if least < most {
        diagnostics::say(format_args!(
            "note: shards have {least} to {most} replicas; {least} of each shard is read"
        ))?;
    }
    let is_found = placed.at.is_empty();
    for number in 0..least {
        for (place, master) in (0..).zip(owners) {
            let Some((_, replicas)) = shards.iter().find(|(of, _)| of == master) else { continue };
            let at = address_of(&mut placed.at, replicas[number].clone());
            let receiver = (number as u32) * placed.places + place;
            placed.node_receivers.push(NodeReceiver { receiver, places: vec![place], at });
        }
    }
    if is_found {
        // A slot may move to a shard that has no key yet, and is then read at its replicas.
        for (_, address) in named {
            address_of(&mut placed.at, address);
        }
    }
    Ok(())
}

/// The shard of each of these addresses, as the number of its master, according to the nodes there.
fn owners_of(
    bed: &TestBed<'_>,
    plan: &Plan,
    topology: &Topology,
    at: &[(String, u16)],
) -> Result<Vec<(usize, (String, u16))>> {
    let owners = at.iter().map(|named| {
        let endpoint = Endpoint::from(named);
        let fault = |why: anyhow::Error| anyhow!("--at {endpoint}: {why:#}");
        let found = resolve(&endpoint).map_err(fault)?;
        let first = found.first().with_context(|| format!("--at {endpoint} has no address"))?;
        let mut client = bed.server.client_at(&plan.target, first).map_err(fault)?;
        let id = master_of(&client.ask(&[b"CLUSTER", b"NODES"])?);
        let owner = id.and_then(|id| topology.nodes.iter().position(|node| node.id == id));
        let owner = owner.with_context(|| {
            format!("--at {endpoint}: this server is no node of the cluster, or of no shard of it")
        })?;
        Ok((owner, named.clone()))
    });
    owners.collect()
}

/// Id of the master that a node copies, according to its own list of nodes; its own id if it is a master.
fn master_of(nodes: &Value) -> Option<String> {
    let text = nodes.text()?;
    let own = text.lines().find(|line| {
        line.split(' ').nth(2).is_some_and(|flags| flags.split(',').any(|flag| flag == "myself"))
    })?;
    let mut words = own.split(' ');
    let (id, _, flags, master) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_master = flags.split(',').any(|flag| flag == "master");
    Some(if is_master { id.to_owned() } else { master.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_without_slots_is_found_if_it_can_be_reached() {
        let of = |line: &str| slotless(line, "10.0.0.1");
        let node = |flags: &str, rest: &str| format!("aa :7001@17001 {flags} - 0 1 1 {rest}");
        let found = Some(("10.0.0.1".to_owned(), 7001));
        assert_eq!(of(&node("myself,master", "connected")), found);
        assert_eq!(
            of("bb 10.0.0.2:6379@16379,b.example master - 0 1 1 connected").unwrap().1,
            6379
        );
        for (flags, rest) in [
            ("master", "connected 0-5"),
            ("slave", "connected"),
            ("master,fail?", "disconnected"),
            ("master", "disconnected"),
            ("master,handshake", "connected"),
        ] {
            assert_eq!(of(&node(flags, rest)), None, "{flags} {rest}");
        }
    }

    #[test]
    fn a_node_says_whom_it_copies() {
        let nodes = "aa 127.0.0.1:1@10001 master - 0 1 1 connected 0-5\n\
                     bb 127.0.0.1:2@10002 myself,slave aa 0 1 1 connected\n";
        let of = |text: &str| master_of(&Value::Bulk(text.as_bytes().to_vec()));
        assert_eq!(of(nodes).as_deref(), Some("aa"));
        assert_eq!(of("cc :0@0 myself,master - 0 0 1 connected").as_deref(), Some("cc"));
        assert_eq!(of(""), None);
    }
}
