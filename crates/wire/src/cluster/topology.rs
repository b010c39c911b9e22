//! Owners of slots: the replies to `CLUSTER SHARDS` and `CLUSTER SLOTS`.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use super::SLOTS;
use crate::resp::Value;

/// The usable nodes of a cluster. Masters come first, in the order of their slots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Id of forty characters; empty if the server gives none.
    pub id: String,
    /// Host name or address that it announces; without one, that of the node that was asked.
    pub host: String,
    /// Announced name, if any; its certificate is checked for that name at any address.
    pub hostname: Option<String>,
    /// Port, for TLS if that was asked for.
    pub port: u16,
    /// Address to connect to, once the host is resolved.
    pub address: Option<SocketAddr>,
    /// Role in the cluster.
    pub role: Role,
    /// Slots that it, or its master, owns.
    pub slots: Vec<RangeInclusive<u16>>,
}

/// Role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The node owns slots.
    Master,
    /// The node copies the master at this place in the list of nodes.
    Replica {
        /// Index of the master in [`Topology::nodes`].
        of: usize,
    },
}

impl Node {
    /// Returns the name: `host:port`.
    pub fn name(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Returns the number of slots that the node owns or copies.
    pub fn slot_count(&self) -> u32 {
        self.slots.iter().map(|range| u32::from(*range.end() - *range.start()) + 1).sum()
    }
}

/// A shard in a reply.
#[derive(Debug, Default)]
struct Shard {
    slots: Vec<RangeInclusive<u16>>,
    master: Option<ShardNode>,
    replicas: Vec<ShardNode>,
}

#[derive(Debug)]
struct ShardNode {
    id: String,
    host: String,
    hostname: Option<String>,
    port: u16,
}

impl Topology {
    /// Parses the reply to `CLUSTER SHARDS` from the node at host `asked`; with `tls` the ports are for TLS.
    /// Failing or loading nodes are left out, unless they are masters with slots. `None` if the reply has
    /// another shape.
    pub fn of_shards(reply: &Value, asked: &str, tls: bool) -> Option<Self> {
        let shards = reply.items()?.iter().map(|shard| read_shard(shard, asked, tls));
        Some(Self::from_shards(shards.collect::<Option<Vec<_>>>()?))
    }

    /// Parses the reply to `CLUSTER SLOTS`. Its ports are for the kind of connection that carried the
    /// question.
    pub fn of_slots(reply: &Value, asked: &str) -> Option<Self> {
        let mut shards: Vec<Shard> = Vec::new();
        for range in reply.items()? {
            let [first, last, nodes @ ..] = range.items()? else { return None };
            let range = slot(first)?..=slot(last)?;
            let mut nodes = nodes.iter().map(|node| read_slot_node(node, asked));
            let master = nodes.next()??;
            let known = shards.iter_mut().find(|s| {
                s.master.as_ref().is_some_and(|m| (&m.host, m.port) == (&master.host, master.port))
            });
            match known {
                Some(shard) => shard.slots.push(range),
                None => shards.push(Shard {
                    slots: vec![range],
                    master: Some(master),
                    replicas: nodes.collect::<Option<_>>()?,
                }),
            }
        }
        Some(Self::from_shards(shards))
    }

    /// Builds the topology, without shards that own nothing or have no master.
    fn from_shards(mut shards: Vec<Shard>) -> Self {
        shards.retain(|shard| shard.master.is_some() && !shard.slots.is_empty());
        shards.iter_mut().for_each(|s| s.slots.sort_by_key(|range| *range.start()));
        shards.sort_by_key(|shard| *shard.slots[0].start());
        let node = |found: ShardNode, role, slots: &[RangeInclusive<u16>]| {
            let ShardNode { id, host, hostname, port } = found;
            let slots = slots.to_vec();
            Node { id, host, hostname, port, address: None, role, slots }
        };
        let mut nodes = Vec::new();
        for shard in &mut shards {
            nodes.extend(shard.master.take().map(|found| node(found, Role::Master, &shard.slots)));
        }
        for (of, shard) in shards.into_iter().enumerate() {
            let Shard { slots, replicas, .. } = shard;
            nodes.extend(
                replicas.into_iter().map(|found| node(found, Role::Replica { of }, &slots)),
            );
        }
        Self { nodes }
    }

    /// Returns the number of masters, which come first in the list.
    pub fn masters(&self) -> usize {
        self.nodes.iter().take_while(|node| node.role == Role::Master).count()
    }

    /// Returns the number of slots without an owner.
    pub fn slots_without_owner(&self) -> u32 {
        let owned: u32 = self.nodes[..self.masters()].iter().map(Node::slot_count).sum();
        u32::from(SLOTS).saturating_sub(owned)
    }

    /// Returns the number of masters with slots that have no healthy replica.
    pub fn masters_without_replica(&self) -> usize {
        let (masters, replicas) = self.nodes.split_at(self.masters());
        let alone = masters.iter().enumerate().filter(|(n, m)| {
            m.slot_count() > 0 && !replicas.iter().any(|node| node.role == Role::Replica { of: *n })
        });
        alone.count()
    }
}

fn read_shard(reply: &Value, asked: &str, tls: bool) -> Option<Shard> {
    let bounds: Option<Vec<u16>> = field(reply, "slots")?.items()?.iter().map(slot).collect();
    let slots: Vec<_> = bounds?.chunks_exact(2).map(|pair| pair[0]..=pair[1]).collect();
    let mut shard = Shard { slots, ..Shard::default() };
    for node in field(reply, "nodes")?.items()? {
        let text = |name| field(node, name).and_then(Value::text).unwrap_or_default();
        let is_master = text("role") == "master";
        let online = text("health") == "online";
        let port = match (field(node, "tls-port"), field(node, "port")) {
            (Some(port), _) if tls => port,
            (_, Some(port)) => port,
            // A node that takes only TLS says no other port.
            (Some(port), None) => port,
            (None, None) => continue,
        };
        let endpoint = field(node, "endpoint").and_then(Value::text).unwrap_or_default();
        let found = ShardNode {
            id: text("id"),
            hostname: hostname([text("hostname"), endpoint.clone()]),
            // `?` stands for a host name that is asked for and not set.
            host: [endpoint, text("ip")]
                .into_iter()
                .find(|host| !host.is_empty() && host != "?")
                .unwrap_or_else(|| asked.to_owned()),
            port: port_number(port)?,
        };
        // While a replica takes over, a shard has the failed master and the new one.
        match (is_master, online) {
            (true, true) => shard.master = Some(found),
            (true, false) => shard.master = shard.master.or(Some(found)),
            (false, true) => shard.replicas.push(found),
            (false, false) => {}
        }
    }
    Some(shard)
}

/// `[endpoint or null, port, id, metadata]`
fn read_slot_node(reply: &Value, asked: &str) -> Option<ShardNode> {
    let [endpoint, port, rest @ ..] = reply.items()? else { return None };
    let metadata = |name| rest.get(1).and_then(|m| field(m, name)).and_then(Value::text);
    let endpoint = endpoint.text().unwrap_or_default();
    let announced = hostname([metadata("hostname").unwrap_or_default(), endpoint.clone()]);
    let host = [endpoint, metadata("ip").unwrap_or_default()];
    Some(ShardNode {
        id: rest.first().and_then(Value::text).unwrap_or_default(),
        hostname: announced,
        host: host
            .into_iter()
            .find(|host| !host.is_empty() && host != "?")
            .unwrap_or_else(|| asked.to_owned()),
        port: port_number(port)?,
    })
}

/// The first of these that is a name rather than an address.
fn hostname(lines: [String; 2]) -> Option<String> {
    lines
        .into_iter()
        .find(|host| !host.is_empty() && host != "?" && host.parse::<IpAddr>().is_err())
}

/// A field of a map.
fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let it =
        value.pairs()?.into_iter().find(|(key, _)| key.text().is_some_and(|text| text == name));
    it.map(|(_, value)| value)
}

fn slot(value: &Value) -> Option<u16> {
    value.text()?.parse().ok().filter(|slot| *slot < SLOTS)
}

fn port_number(value: &Value) -> Option<u16> {
    value.text()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.as_bytes().to_vec())
    }

    fn list(items: impl IntoIterator<Item = Value>) -> Value {
        Value::Array(items.into_iter().collect())
    }

    fn node(id: &str, endpoint: Value, ip: &str, role: &str, health: &str) -> Value {
        let port = Value::Integer(7000 + id.len() as i64);
        list([
            bulk("id"),
            bulk(id),
            bulk("port"),
            port,
            bulk("tls-port"),
            Value::Integer(8000),
            bulk("ip"),
            bulk(ip),
            bulk("endpoint"),
            endpoint,
            bulk("role"),
            bulk(role),
            bulk("health"),
            bulk(health),
        ])
    }

    fn shard(first: i64, last: i64, nodes: Vec<Value>) -> Value {
        let slots = list([Value::Integer(first), Value::Integer(last)]);
        list([bulk("slots"), slots, bulk("nodes"), list(nodes)])
    }

    #[test]
    fn shards_become_masters_by_slot_and_their_healthy_replicas() {
        let reply = list([
            shard(
                8192,
                16383,
                vec![
                    node("b", bulk("10.0.0.2"), "10.0.0.2", "master", "online"),
                    node("bb", bulk("10.0.0.3"), "10.0.0.3", "replica", "online"),
                    node("bbb", bulk("10.0.0.4"), "10.0.0.4", "replica", "fail"),
                ],
            ),
            shard(0, 8191, vec![node("a", bulk("one.example"), "10.0.0.1", "master", "online")]),
            list([bulk("slots"), list([]), bulk("nodes"), list([])]),
        ]);
        let topology = Topology::of_shards(&reply, "asked", false).unwrap();
        let names: Vec<_> = topology.nodes.iter().map(Node::name).collect();
        assert_eq!(names, ["one.example:7001", "10.0.0.2:7001", "10.0.0.3:7002"]);
        assert_eq!(topology.nodes[2].role, Role::Replica { of: 1 });
        let announced: Vec<_> = topology.nodes.iter().map(|n| n.hostname.as_deref()).collect();
        assert_eq!(announced, [Some("one.example"), None, None]);
        assert_eq!((topology.masters(), topology.slots_without_owner()), (2, 0));
        assert_eq!(topology.masters_without_replica(), 1);
        let tls = Topology::of_shards(&reply, "asked", true).unwrap();
        assert_eq!(tls.nodes[0].port, 8000);
    }

    #[test]
    fn a_node_that_does_not_know_its_host_is_where_it_was_asked() {
        for (endpoint, ip, expected) in [
            (Value::Null, "", "asked"),
            (bulk(""), "", "asked"),
            (bulk("?"), "", "asked"),
            (bulk("?"), "10.0.0.9", "10.0.0.9"),
        ] {
            let reply = list([shard(0, 16383, vec![node("a", endpoint, ip, "master", "online")])]);
            let topology = Topology::of_shards(&reply, "asked", false).unwrap();
            assert_eq!(topology.nodes[0].host, expected);
        }
    }

    #[test]
    fn the_new_master_of_a_shard_replaces_the_failed_one() {
        let reply = list([shard(
            0,
            16383,
            vec![
                node("a", bulk("h"), "h", "master", "fail"),
                node("aa", bulk("h"), "h", "master", "online"),
            ],
        )]);
        let topology = Topology::of_shards(&reply, "asked", false).unwrap();
        assert_eq!(topology.nodes.len(), 1);
        assert_eq!(topology.nodes[0].port, 7002);
    }

    #[test]
    fn slots_say_the_same_in_another_shape() {
        let node = |host: Value, port, id: &str| list([host, Value::Integer(port), bulk(id)]);
        let range = |first, last, nodes: Vec<Value>| {
            list([Value::Integer(first), Value::Integer(last)].into_iter().chain(nodes))
        };
        let reply = list([
            range(9000, 16383, vec![node(Value::Null, 7002, "b")]),
            range(0, 99, vec![node(bulk("h"), 7001, "a"), node(bulk("h"), 7003, "c")]),
            range(200, 8999, vec![node(bulk("h"), 7001, "a"), node(bulk("h"), 7003, "c")]),
        ]);
        let topology = Topology::of_slots(&reply, "asked").unwrap();
        let names: Vec<_> = topology.nodes.iter().map(Node::name).collect();
        assert_eq!(names, ["h:7001", "asked:7002", "h:7003"]);
        assert_eq!(topology.nodes[0].slots, [0..=99, 200..=8999]);
        assert_eq!(topology.slots_without_owner(), 100);
    }

    #[test]
    fn what_has_another_shape_is_refused() {
        assert_eq!(Topology::of_shards(&bulk("x"), "h", false), None);
        assert_eq!(Topology::of_slots(&list([bulk("x")]), "h"), None);
    }
}
