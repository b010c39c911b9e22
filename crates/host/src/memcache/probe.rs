//! One look at memcached before load runs.

use workload::ProtocolKind;

use super::{Dialect, MemcacheClient};
use crate::probe::connected;
use crate::{Address, Client, ClientError, Login, Patience, ProbeError, ServerFacts, Transport};

/// Logs in and asks what the server is. Takes as long as [`crate::probe()`] at most.
///
/// # Errors
/// The server is not there, does not let us in, or does not speak that protocol.
pub fn probe(
    address: &Address,
    login: Login<'_>,
    protocol: ProtocolKind,
) -> Result<ServerFacts, ProbeError> {
    let (mut client, version) = begin(address, login, protocol)?;
    if protocol == ProtocolKind::MemcacheMeta {
        for words in [&[&b"mn"[..]][..], &[b"mg", b"keystorm-probe", b"v"]] {
            let asked = client.ask(words).map_err(ProbeError::Broken)?;
            asked.map_err(|reply| ProbeError::Refused {
                address: address.clone(),
                command: if words.len() == 1 { "mn" } else { "mg" },
                reply,
                hint: ". Meta commands take memcached 1.6.10 or newer; use --protocol memcache",
            })?;
        }
    }
    Ok(facts(version))
}

/// A connection that is logged in, for whoever has more to ask.
///
/// # Errors
/// As [`probe`].
pub fn log_in(
    address: &Address,
    login: Login<'_>,
    protocol: ProtocolKind,
) -> Result<MemcacheClient, ProbeError> {
    begin(address, login, protocol).map(|(client, _)| client)
}

/// What a server that has just been started says, if it is the one with this pid. One that asks for a
/// login, or speaks only the binary protocol, says nothing to strangers and is there all the same.
pub(crate) fn is_there(address: &Address, pid: u32, patience: Patience) -> Option<ServerFacts> {
    let client = Client::<Transport>::reach(address, None, &[], patience).ok()?;
    let mut client = MemcacheClient::new(client, Dialect::Text);
    let Ok(Ok(version)) = client.version() else { return Some(ServerFacts::default()) };
    let stats = client.stats(None).ok()?;
    let is_it = stats.iter().any(|(name, value)| name == "pid" && *value == pid.to_string());
    is_it.then(|| facts(version))
}

fn facts(version: String) -> ServerFacts {
    ServerFacts {
        product: Some("memcached".to_owned()),
        version: Some(version),
        ..ServerFacts::default()
    }
}

/// Connects and logs in; the server's version.
fn begin(
    address: &Address,
    login: Login<'_>,
    protocol: ProtocolKind,
) -> Result<(MemcacheClient, String), ProbeError> {
    let dialect = Dialect::of(protocol);
    let mut client = MemcacheClient::new(connected(address, login, Patience::default())?, dialect);
    let refused = |command, reply: String, hint| {
        let address = address.clone();
        if reply.contains("Too many open connections") {
            return ProbeError::TooManyClients { address, reply };
        }
        ProbeError::Refused { address, command, reply, hint }
    };
    let credentials = login.password.map(|password| (login.user.unwrap_or_default(), password));
    let log_in = |client: &mut MemcacheClient, words: &[&[u8]]| {
        let answer = client.ask(words).map_err(ProbeError::Broken)?;
        answer.map_err(|reply| {
            let hint = match reply.starts_with("UNKNOWN_COMMAND") {
                true => ". It asks for none: leave out --user and -a",
                false => ". Check --user and -a",
            };
            refused("the login", reply, hint)
        })
    };
    if let (Dialect::Binary, Some((user, password))) = (dialect, credentials) {
        let plain = format!("\0{user}\0{password}");
        log_in(&mut client, &[b"sasl_auth", b"PLAIN", plain.as_bytes()])?;
    }
    let mut version = client.version().map_err(|error| match dialect {
        Dialect::Text => ProbeError::Broken(error),
        Dialect::Binary => ProbeError::Broken(in_lines(address, login).unwrap_or(error)),
    })?;
    match (dialect, credentials, &version) {
        // What logs in to a server with a password would store the password in one without.
        (Dialect::Text, Some(_), Ok(_)) => {
            let said = "it answers without a login".to_owned();
            return Err(refused("the login", said, ". Leave out --user and -a"));
        }
        (Dialect::Text, Some((user, password)), Err(reply))
            if reply.contains("unauthenticated") =>
        {
            let line = format!("{user} {password}");
            log_in(&mut client, &[b"set", b"login", b"0", b"0", line.as_bytes()])?;
            version = client.version().map_err(ProbeError::Broken)?;
        }
        _ => {}
    }
    let version = version.map_err(|reply| {
        let wants = reply.contains("unauthenticated") || reply.starts_with("AUTH_ERROR");
        let hint = if wants { ". It asks for a login: use --user and -a" } else { "" };
        refused("version", reply, hint)
    })?;
    Ok((client, version))
}

/// What a server says that does not answer in binary: others than memcached wait for the end of a line.
fn in_lines(address: &Address, login: Login<'_>) -> Option<ClientError> {
    let client = connected(address, login, Patience::default()).ok()?;
    let error = MemcacheClient::new(client, Dialect::Text).version().err()?;
    matches!(error, ClientError::NotMemcache { .. }).then_some(error)
}
