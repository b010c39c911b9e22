//! Receivers at the nodes of a cluster: of keyspace events and invalidations, which each master publishes for its own
//! keys alone, one at each master that has places; of writes, one for each place at each replica of its shard.

use std::borrow::Cow;

use anyhow::{Context, Result, bail};
use console::diagnostics;
use wire::cluster::{Role, Topology, slot_of};
use workload::{Delivery, DeliveryKind, Plan, PlanParts, Station};

use crate::test_bed::TestBed;

/// A plan with its receivers at the nodes of the cluster, where they are at several.
///
/// # Errors
/// Nobody has a slot, or a shard has no replica to read at.
pub(crate) fn placed<'p>(bed: &TestBed<'_>, plan: Cow<'p, Plan>) -> Result<Cow<'p, Plan>> {
    let wants = |delivery: &&Delivery| {
        delivery.kind.is_at_each_node() && delivery.stations.is_empty() && plan.target.is_cluster()
    };
    let (Some(topology), Some(delivery)) =
        (&bed.server.cluster, plan.delivery.as_ref().filter(wants))
    else {
        return Ok(plan);
    };
    let owners = owners(topology, delivery)?;
    let mut placed = delivery.clone();
    match delivery.kind {
        DeliveryKind::Replica => at_replicas(topology, &owners, &mut placed)?,
        _ => placed.stations = at_masters(delivery, &owners),
    }
    placed.receivers = u32::try_from(placed.stations.len()).unwrap_or(u32::MAX);
    let mut parts: PlanParts = (**plan).clone();
    parts.delivery = Some(placed);
    let plan = parts.build()?;
    bed.allow_connections(plan.all_connections())?;
    Ok(Cow::Owned(plan))
}

/// The master of each place, by its number among the nodes.
fn owners(topology: &Topology, delivery: &Delivery) -> Result<Vec<usize>> {
    let owner = |place: u32| {
        let slot = slot_of(delivery.place_name(place).as_bytes());
        let has = |range: &std::ops::RangeInclusive<u16>| range.contains(&slot);
        let mut nodes = topology.nodes.iter();
        let owner = nodes.position(|node| node.role == Role::Master && node.slots.iter().any(has));
        owner.with_context(|| format!("no node of the cluster has slot {slot}"))
    };
    (0..delivery.places).map(owner).collect()
}

/// Each receiver at each master that has places of its.
fn at_masters(delivery: &Delivery, owners: &[usize]) -> Vec<Station> {
    let mut stations = Vec::new();
    for receiver in 0..delivery.receivers {
        let first = stations.len();
        let mut nodes: Vec<usize> = Vec::new();
        for place in delivery.places_of(receiver) {
            let node = owners[place as usize];
            let at = nodes.iter().position(|known| *known == node).unwrap_or_else(|| {
                nodes.push(node);
                stations.push(Station { receiver, places: Vec::new(), at: None });
                nodes.len() - 1
            });
            stations[first + at].places.push(place);
        }
    }
    stations
}

/// Each place at so many replicas of its shard as every shard has.
fn at_replicas(topology: &Topology, owners: &[usize], placed: &mut Delivery) -> Result<()> {
    let replicas_of = |master: usize| -> Vec<(String, u16)> {
        let copies = |role: Role| matches!(role, Role::Replica { of } if of == master);
        let replicas = topology.nodes.iter().filter(|node| copies(node.role));
        replicas.map(|node| (node.host.clone(), node.port)).collect()
    };
    let mut masters = owners.to_vec();
    workload::sort::sort_by(&mut masters, Ord::cmp);
    masters.dedup();
    let shards: Vec<(usize, Vec<(String, u16)>)> =
        masters.into_iter().map(|master| (master, replicas_of(master))).collect();
    let counts = shards.iter().map(|(_, replicas)| replicas.len());
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    if let Some((master, _)) = shards.iter().find(|(_, replicas)| replicas.is_empty()) {
        let node = &topology.nodes[*master];
        bail!("{}:{} has no replicas, so that nothing can be read there", node.host, node.port);
    }
    if least < most {
        diagnostics::say(format_args!(
            "note: shards have {least} to {most} replicas; {least} of each shard is read"
        ))?;
    }
    for number in 0..least {
        for (place, master) in (0..).zip(owners) {
            let Some((_, replicas)) = shards.iter().find(|(of, _)| of == master) else { continue };
            let address = &replicas[number];
            let known = placed.at.iter().position(|known| known == address);
            let at = known.unwrap_or_else(|| {
                placed.at.push(address.clone());
                placed.at.len() - 1
            });
            let at = u32::try_from(at).ok();
            let receiver = (number as u32) * placed.places + place;
            placed.stations.push(Station { receiver, places: vec![place], at });
        }
    }
    Ok(())
}
