//! A primary and its replicas, named by the user outside of a cluster: the topology of the load.
//!
//! All slots are the primary's, so that the route of a cluster serves here too. The user vouches that a
//! replica copies this primary; this file checks that it answers.

use std::net::SocketAddr;

use anyhow::{Result, anyhow};
use engine::TlsContext;
use host::{Address, Questions};
use naming::REPLICAS;
use wire::cluster::{Node, Role, SLOTS, Topology};
use workload::{Endpoint, ProtocolKind, Target};

use crate::server::{first_that_answers, login, resolve};
use crate::tls;

/// The nodes: a primary at a resolved address, and its replicas.
pub(crate) fn topology(
    primary: &(String, u16),
    address: &Address,
    replicas: &[(String, u16)],
    target: &Target,
    protocol: ProtocolKind,
    questions: Questions,
    tls: &mut Option<TlsContext>,
) -> Result<Topology> {
    let mut nodes = vec![node(primary, address, Role::Master)];
    for named in replicas {
        let endpoint = Endpoint::from(named);
        let fault = |why: anyhow::Error| anyhow!("{REPLICAS} {endpoint}: {why}");
        let addresses = resolve(&endpoint).map_err(fault)?;
        *tls = tls.take().map(|known| tls::named(known, &endpoint, &addresses));
        let login = login(target, tls.as_ref());
        let (address, _) = first_that_answers(&endpoint, addresses, (login, protocol, questions))
            .map_err(fault)?;
        nodes.push(node(named, &address, Role::Replica { of: 0 }));
    }
    Ok(Topology { nodes })
}

fn node((host, port): &(String, u16), address: &Address, role: Role) -> Node {
    let address: Option<SocketAddr> = match address {
        Address::Tcp(address) => Some(*address),
        Address::Unix(_) => None,
    };
    Node {
        id: String::new(),
        host: host.clone(),
        hostname: None,
        port: *port,
        address,
        role,
        slots: vec![0..=SLOTS - 1],
    }
}
