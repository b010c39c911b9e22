//! Addresses of a server, and the first of them that answers a login.

use std::net::ToSocketAddrs;

use anyhow::{Result, anyhow};
use engine::TlsContext;
use host::{Login, ProbeError, ProbeResult, Questions};
use naming::HOST;
use workload::typed_login::shown_address;
use workload::{Credentials, Endpoint, ProtocolKind, Target};

use crate::password;

pub(crate) fn login<'t>(target: &'t Target, tls: Option<&'t TlsContext>) -> Login<'t> {
    let credentials = target.credentials.as_ref();
    // Without the password that cannot be had now, the server says what it lacks.
    let asked = password::for_target(target).map(|command| command.ask().unwrap_or_default());
    Login {
        user: credentials.and_then(|c| c.user.as_deref()),
        password: asked.or(credentials.map(|Credentials { password, .. }| password.reveal())),
        db: target.db,
        tls,
        sources: &target.sources,
    }
}

/// Login for asking a server, with the protocol and the questions.
type Inquiry<'a> = (Login<'a>, ProtocolKind, Questions);

/// Asks a server for its product and its facts.
fn look(
    address: &host::Address,
    (login, protocol, questions): Inquiry<'_>,
) -> Result<ProbeResult, ProbeError> {
    if protocol.is_memcache() {
        host::memcache::probe(address, login, protocol, questions)
    } else {
        host::probe(address, login, questions)
    }
}

/// The first of these addresses that answers, and the server's facts: a name may have several addresses.
pub(crate) fn first_that_answers(
    server: &Endpoint,
    addresses: Vec<host::Address>,
    asking: Inquiry<'_>,
) -> Result<(host::Address, ProbeResult)> {
    let mut failure = anyhow!("{server} does not resolve to an address");
    for address in addresses {
        match look(&address, asking) {
            Ok(probed) => return Ok((address, probed)),
            Err(error) => failure = error.into(),
        }
    }
    Err(failure)
}

/// Returns the name by which clients know a server when they distribute keys.
pub(super) fn known_as(server: &Endpoint) -> (String, u16) {
    match server {
        Endpoint::Tcp { host, port } => (host.clone(), *port),
        other => (other.to_string(), 0),
    }
}

/// The endpoint at an address.
pub(crate) fn endpoint_at(address: &host::Address) -> Endpoint {
    match address {
        host::Address::Tcp(address) => {
            Endpoint::Tcp { host: address.ip().to_string(), port: address.port() }
        }
        host::Address::Unix(path) => Endpoint::Unix(path.clone()),
    }
}

/// The addresses of a server.
pub(crate) fn resolve(server: &Endpoint) -> Result<Vec<host::Address>> {
    let (host, port) = match server {
        Endpoint::Tcp { host, port } => (host, *port),
        Endpoint::Unix(path) => return Ok(vec![host::Address::Unix(path.clone())]),
        _ => return Ok(Vec::new()),
    };
    let found = (host.as_str(), port).to_socket_addrs();
    let addresses: Vec<_> = found
        .map_err(|e| {
            anyhow!("Could not resolve the host {:?}: {e}. Check {HOST}", shown_address(host))
        })?
        .map(host::Address::Tcp)
        .collect();
    Ok(addresses)
}
