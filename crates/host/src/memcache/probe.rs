//! Probe of memcached before load runs.

use std::time::Duration;

use naming::advice::{MEMCACHE_TEXT, USER_AND_PASSWORD};
use naming::{Text, text};
use workload::ProtocolKind;

use super::{Dialect, MemcacheClient};
use crate::client_error::FailureKind;
use crate::probe::{self, NO_KEY, SECOND_PATIENCE, connected};
use crate::{
    Address, Client, ClientError, Login, Patience, ProbeError, ProbeResult, Questions, ServerFacts,
    Transport,
};

/// Logs in and asks for the server's identity, if that is among the questions. Takes at most as long as
/// [`crate::probe()`]. A server that hides its version is no error.
///
/// # Errors
/// Returns an error if the server is missing, refuses the login, answers nothing, or does not speak that
/// protocol.
pub fn probe(
    address: &Address,
    login: Login<'_>,
    protocol: ProtocolKind,
    questions: Questions,
) -> Result<ProbeResult, ProbeError> {
    if questions != Questions::All && login.password.is_none() {
        return probe::is_there(address, login).map(|()| ProbeResult::default());
    }
    let (mut client, version) = match begin(address, login, protocol, Patience::default()) {
        Err(ProbeError::Broken(why)) if why.is_silence() && login.password.is_none() => {
            if !answers_a_get(address, login, protocol)? {
                return Err(ProbeError::Broken(why));
            }
            return Ok(ProbeResult {
                silence: Some(why.text.to_string()),
                ..ProbeResult::default()
            });
        }
        begun => begun?,
    };
    if protocol == ProtocolKind::MemcacheMeta && questions == Questions::All {
        for words in [&[&b"mn"[..]][..], &[b"mg", NO_KEY.as_bytes(), b"v"]] {
            let asked = client.ask(words)?;
            asked.map_err(|reply| {
                let command = if words.len() == 1 { "mn" } else { "mg" };
                let hint =
                    text!(". Meta commands need memcached 1.6.10 or newer; use {MEMCACHE_TEXT}");
                ProbeError::refused(address, command, &reply, &hint)
            })?;
        }
    }
    Ok(ProbeResult { facts: version.map(facts).unwrap_or_default(), silence: None })
}

/// Checks whether a server that hides its version answers a `get`.
fn answers_a_get(
    address: &Address,
    login: Login<'_>,
    protocol: ProtocolKind,
) -> Result<bool, ProbeError> {
    let client = connected(address, login, SECOND_PATIENCE)?;
    let mut client = MemcacheClient::new(client, Dialect::from_protocol(protocol));
    let word: &[u8] = if protocol == ProtocolKind::MemcacheMeta { b"mg" } else { b"get" };
    match client.ask(&[word, NO_KEY.as_bytes()]) {
        Err(why) if why.is_silence() => Ok(false),
        answered => Ok(answered.map(|_| true)?),
    }
}

/// Connects and logs in within these time limits, for callers with further questions.
///
/// # Errors
/// Returns the errors of [`probe`].
pub fn log_in(
    address: &Address,
    login: Login<'_>,
    protocol: ProtocolKind,
    patience: Patience,
) -> Result<MemcacheClient, ProbeError> {
    begin(address, login, protocol, patience).map(|(client, _)| client)
}

/// Returns the facts about a server that has just been started, if it has this pid. A server that requires a
/// login, or speaks only the binary protocol, counts as started without an answer.
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

/// Longest wait for a binary answer before the server is asked in lines, as other servers than memcached wait
/// for a line end.
const BINARY_PATIENCE: Duration = Duration::from_millis(300);

/// Connects and logs in. Returns the server's version, if it reports it.
fn begin(
    address: &Address,
    login: Login<'_>,
    protocol: ProtocolKind,
    patience: Patience,
) -> Result<(MemcacheClient, Option<String>), ProbeError> {
    let dialect = Dialect::from_protocol(protocol);
    // A handshake of TLS takes its time.
    if dialect == Dialect::Text || login.tls.is_some() {
        return converse(address, login, dialect, patience);
    }
    let brief = Patience { reply: BINARY_PATIENCE, ..patience };
    let server = converse(address, login, dialect, brief).map(|(mut client, version)| {
        client.wait_for(patience.reply);
        (client, version)
    });
    match server {
        Err(error) if is_silent(&error) => {
            match in_lines(address, login, brief) {
                Some(LineGreeting::Stranger(error)) => Err(ProbeError::Broken(error)),
                Some(LineGreeting::Memcached { wants_login }) => {
                    // A server that was slow to answer in binary may do so now.
                    let again = converse(address, login, dialect, brief);
                    if !again.as_ref().is_err_and(is_silent) {
                        return again.map(|(mut client, version)| {
                            client.wait_for(patience.reply);
                            (client, version)
                        });
                    }
                    let too = match (wants_login, login.password) {
                        (true, None) => text!("; it also requires a login: {USER_AND_PASSWORD}"),
                        _ => Text::default(),
                    };
                    let hint = text!(". Use {MEMCACHE_TEXT}{too}");
                    let reply = "it answers in the text protocol";
                    Err(ProbeError::refused(address, "the binary protocol", reply, &hint))
                }
                // It is only slow.
                None => converse(address, login, dialect, patience),
            }
        }
        server => server,
    }
}

fn is_silent(error: &ProbeError) -> bool {
    matches!(error, ProbeError::Broken(why) if why.kind == FailureKind::Silent)
}

/// Asks in this dialect, with this patience.
fn converse(
    address: &Address,
    login: Login<'_>,
    dialect: Dialect,
    patience: Patience,
) -> Result<(MemcacheClient, Option<String>), ProbeError> {
    let mut client = MemcacheClient::new(connected(address, login, patience)?, dialect);
    let refused = |command, reply: String, hint| {
        if reply.contains("Too many open connections") {
            return ProbeError::too_many_clients(address, &reply);
        }
        ProbeError::refused(address, command, &reply, &hint)
    };
    let credentials = login.password.map(|password| (login.user.unwrap_or_default(), password));
    let log_in = |client: &mut MemcacheClient, words: &[&[u8]]| {
        let answer = client.ask(words)?;
        answer.map_err(|reply| {
            let hint = if reply.starts_with("UNKNOWN_COMMAND") {
                text!(". It has no authentication: remove {USER_AND_PASSWORD}")
            } else {
                text!(". Check {USER_AND_PASSWORD}")
            };
            refused("the login", reply, hint)
        })
    };
    if let (Dialect::Binary, Some((user, password))) = (dialect, credentials) {
        let plain = format!("\0{user}\0{password}");
        log_in(&mut client, &[b"sasl_auth", b"PLAIN", plain.as_bytes()])?;
    }
    let mut version = client.version()?;
    match (dialect, credentials, &version) {
        // What logs in to a server with a password would store the password in one without.
        (Dialect::Text, Some(_), Ok(_)) => {
            let description = "it does not require a login".to_owned();
            return Err(refused("the login", description, text!(". Remove {USER_AND_PASSWORD}")));
        }
        (Dialect::Text, Some((user, password)), Err(reply))
            if reply.contains("unauthenticated") =>
        {
            let line = format!("{user} {password}");
            log_in(&mut client, &[b"set", b"login", b"0", b"0", line.as_bytes()])?;
            version = client.version()?;
        }
        _ => {}
    }
    match version {
        Ok(version) => Ok((client, Some(version))),
        Err(reply) if reply.contains("unauthenticated") || reply.starts_with("AUTH_ERROR") => {
            Err(refused("version", reply, text!(". It requires a login: use {USER_AND_PASSWORD}")))
        }
        Err(reply) if reply.contains("Too many open connections") => {
            Err(refused("version", reply, Text::default()))
        }
        // It does not say what it is.
        Err(_) => Ok((client, None)),
    }
}

/// A server that answers in lines.
enum LineGreeting {
    /// Another server than memcached, according to this error.
    Stranger(ClientError),
    Memcached {
        /// Set if it requires a login first.
        wants_login: bool,
    },
}

/// Asks in lines a server that does not answer in binary; `None` if it is silent there too.
fn in_lines(address: &Address, login: Login<'_>, patience: Patience) -> Option<LineGreeting> {
    let client = connected(address, login, patience).ok()?;
    match MemcacheClient::new(client, Dialect::Text).version() {
        Ok(Ok(_)) => Some(LineGreeting::Memcached { wants_login: false }),
        Ok(Err(reply)) => {
            Some(LineGreeting::Memcached { wants_login: reply.contains("unauthenticated") })
        }
        Err(error) if error.kind == FailureKind::Stranger => Some(LineGreeting::Stranger(error)),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// A server that waits for the end of a line, like Redis, and so never answers the binary protocol. It
    /// answers every line with this.
    fn in_lines(answer: &'static [u8]) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let (mut held, mut piece) = (Vec::new(), [0; 256]);
                    while let Ok(read @ 1..) = stream.read(&mut piece) {
                        held.extend_from_slice(&piece[..read]);
                        if held.ends_with(b"\r\n") {
                            stream.write_all(answer).unwrap();
                        }
                    }
                });
            }
        });
        address
    }

    #[test]
    fn who_waits_for_a_line_is_named_before_patience_ends() {
        let nobody = Login { user: None, password: None, db: 0, tls: None, sources: &[] };
        for (answer, says) in [
            (&b"-ERR unknown command\r\n"[..], "this server speaks RESP"),
            (b"VERSION 1.6.18\r\n", "it answers in the text protocol. Use --protocol memcache"),
            (
                b"CLIENT_ERROR unauthenticated\r\n",
                "memcache; it also requires a login: --user and -a",
            ),
        ] {
            let address = in_lines(answer);
            let began = Instant::now();
            let error = probe(&address, nobody, ProtocolKind::MemcacheBinary, Questions::All)
                .unwrap_err()
                .to_string();
            assert!(error.contains(says), "{error}");
            assert!(began.elapsed() < Patience::default().reply, "{:?}", began.elapsed());
        }
    }
}
