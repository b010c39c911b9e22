//! Topology of a cluster, and positions of keys in commands, as far as a node must be asked.
//!
//! Owns the questions and the words for a server that cannot answer them. `wire::cluster` parses the answers;
//! `runner` distributes the load.

mod keys;

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use naming::{CLUSTER, text};
use wire::cluster::{Node, Topology};
use wire::resp::Value;

use crate::text::printable;
use crate::{Address, Login, Patience, ProbeError, log_in_within};

pub use keys::routings;

/// Asks a node for the nodes of its cluster, and resolves their addresses. TLS then checks each for the name
/// that it announces.
///
/// # Errors
/// Returns an error if the node does not answer, is in no cluster, or announces a name that cannot be
/// resolved.
pub fn discover(
    address: &Address,
    login: Login<'_>,
    tls: bool,
    patience: Patience,
) -> Result<Topology, ProbeError> {
    let mut client = log_in_within(address, login, patience)?;
    let asked = match address {
        Address::Tcp(address) => address.ip().to_string(),
        Address::Unix(_) => "127.0.0.1".to_owned(),
    };
    let mut command = "CLUSTER SHARDS";
    let mut reply = client.ask(&[b"CLUSTER", b"SHARDS"])?;
    if matches!(reply, Value::Error(_)) {
        // Servers before Redis 7 do not know it, and a user may be allowed only the other.
        command = "CLUSTER SLOTS";
        reply = client.ask(&[b"CLUSTER", b"SLOTS"])?;
    }
    if let Value::Error(text) = &reply {
        return Err(refused(address, command, text));
    }
    let topology = match command {
        "CLUSTER SHARDS" => Topology::of_shards(&reply, &asked, tls),
        _ => Topology::of_slots(&reply, &asked),
    };
    let mut topology = topology.ok_or_else(|| {
        ProbeError::Refused(text!("the reply of {address} to {command} is not a list of nodes"))
    })?;
    if topology.masters() == 0 {
        return Err(ProbeError::Refused(text!(
            "{address} is a node of a cluster without assigned slots. Assign them first, for example with redis-cli \
             --cluster create"
        )));
    }
    for node in &mut topology.nodes {
        let found = resolve(node, address)?;
        node.address = Some(found);
        if let Some(tls) = login.tls {
            tls.announce(found, node.hostname.as_deref());
        }
    }
    Ok(topology)
}

/// Time limits for a node that is asked during a run, as others can be asked.
const REFRESH_PATIENCE: Patience =
    Patience { connect: Duration::from_millis(300), reply: Duration::from_millis(300) };

/// Asks the first of these nodes that answers for the current topology; `None` if none does.
pub fn refresh(nodes: &[SocketAddr], login: Login<'_>, tls: bool) -> Option<Topology> {
    nodes.iter().find_map(|node| discover(&Address::Tcp(*node), login, tls, REFRESH_PATIENCE).ok())
}

fn refused(address: &Address, command: &str, text: &[u8]) -> ProbeError {
    let reply = printable(text.strip_suffix(b".").unwrap_or(text));
    if reply.contains("cluster support disabled") || reply.contains("unknown command") {
        return ProbeError::Refused(text!(
            "Failed to fetch cluster configuration from {address}, which is not a cluster node: {reply}. Remove \
             {CLUSTER}"
        ));
    }
    let hint = if reply.starts_with("NOPERM") {
        ". The user needs the permissions +cluster|shards or +cluster|slots, and +command"
    } else {
        ""
    };
    ProbeError::Refused(text!("{address} refused {command}, which {CLUSTER} needs: {reply}{hint}"))
}

/// Resolves the address of a node. Of several addresses, returns one of the family with which the first node
/// was reached.
fn resolve(node: &Node, asked: &Address) -> Result<SocketAddr, ProbeError> {
    let name = printable(node.name());
    let fault = |reason: String| {
        ProbeError::Refused(text!(
            "the cluster announces the node {name}, but this machine cannot resolve its host: {reason}"
        ))
    };
    let found: Vec<SocketAddr> = (node.host.as_str(), node.port)
        .to_socket_addrs()
        .map_err(|error| fault(error.to_string()))?
        .collect();
    let same_family = found.iter().find(|address| match asked {
        Address::Tcp(asked) => asked.is_ipv4() == address.is_ipv4(),
        Address::Unix(_) => true,
    });
    let chosen = same_family.or(found.first());
    chosen.copied().ok_or_else(|| fault("it does not resolve to an address".to_owned()))
}
