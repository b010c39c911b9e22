//! The server that options name, and who logs in there.
//!
//! `-u` may contradict `-h`, `-p`, `--user`, `-a` and `--dbnum`. In the imitated tools the later one counts, and a
//! URI changes nothing that it leaves out. By keystorm's own name a contradiction is refused: a load on the wrong
//! server is worse than a command line that has to be typed again.

use naming::advice::USER_AND_PASSWORD;
use naming::{
    CLUSTER, DBNUM, HASH, HOST, MPTCP, OptionId, PASSWORD, PASSWORD_COMMAND, PORT, PROTOCOL,
    REPLICAS, SERVER_CPUS, SOCKET, SPAWN, SPAWN_ARGS, SPAWN_UNIX, Text, URI, USER, text,
};
use workload::secret::PASSWORD_VARIABLE;
use workload::{Credentials, Endpoint, ProtocolKind, Secret, Target, TlsOptions};

use crate::address::{host_and_port, one_port};
use crate::dialect::Dialect;
use crate::server::{OptionsAfterUri, Program, ServerArgs, ServerOptions, Uri};
use crate::uri::{self, UriParts};
use crate::values::{Count, Cpus, ProtocolArg};
use crate::{memcache, pool};

const HOST_DEFAULT: &str = "127.0.0.1";

/// The port that servers of a protocol listen on.
fn port_default(protocol: ProtocolKind) -> u16 {
    if protocol.is_memcache() { 11211 } else { 6379 }
}

/// Rule for which one counts where `-u` and another option are about the same thing.
#[derive(Debug, Clone, Copy)]
enum UriPrecedence {
    /// Neither: they must agree.
    Agree,
    /// The last one typed, as in the peers; holds the options after `-u`.
    Last(OptionsAfterUri),
}

impl UriPrecedence {
    /// Chooses between the value of an option and that of a URI. `after` says whether the option follows the
    /// URI; `differ` makes the error for two different values.
    fn choose<T: PartialEq>(
        self,
        option: Option<T>,
        of_uri: Option<T>,
        after: fn(OptionsAfterUri) -> bool,
        differ: impl FnOnce(&T, &T) -> Text,
    ) -> Result<Option<T>, Text> {
        match (self, option, of_uri) {
            (_, option, None) => Ok(option),
            (_, None, of_uri) => Ok(of_uri),
            (Self::Agree, Some(option), Some(of_uri)) if option != of_uri => {
                Err(differ(&option, &of_uri))
            }
            (Self::Agree, option, _) => Ok(option),
            (Self::Last(at), option, of_uri) => Ok(if after(at) { option } else { of_uri }),
        }
    }
}

/// The protocol of the server that options name.
///
/// # Errors
/// Returns an error if two of them contradict each other.
pub fn protocol(server: &ServerOptions) -> Result<ProtocolKind, Text> {
    let of_uri = match server.uri.as_ref().map(|Uri(uri)| uri::parse(uri)).transpose()? {
        Some(parsed) => parsed.memcache,
        None => None,
    };
    let program = server.spawn.as_ref().and_then(|Program(program)| program.as_deref());
    let program = program.and_then(|path| std::path::Path::new(path).file_name()?.to_str());
    let spawned = program.is_some_and(|name| name.starts_with("memcached")).then_some(true);
    let resp = if server.resp3 { ProtocolKind::Resp3 } else { ProtocolKind::Resp2 };
    let asked = match server.protocol {
        None if of_uri.or(spawned) == Some(true) => return Ok(ProtocolKind::MemcacheText),
        None | Some(ProtocolArg::Resp) => resp,
        Some(ProtocolArg::Memcache) => ProtocolKind::MemcacheText,
        Some(ProtocolArg::MemcacheMeta) => ProtocolKind::MemcacheMeta,
        Some(ProtocolArg::MemcacheBinary) => ProtocolKind::MemcacheBinary,
    };
    let named = [(URI, of_uri), (SPAWN, spawned)];
    if let Some((option, is_memcache)) =
        named.into_iter().find(|(_, is)| is.is_some_and(|is| is != asked.is_memcache()))
    {
        let named =
            if is_memcache == Some(true) { "memcached" } else { "a server that speaks RESP" };
        return Err(text!("{PROTOCOL}: {option} names {named}; remove one of the two"));
    }
    Ok(asked)
}

/// The server that options name, and who logs in there.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if the options make no sense.
pub fn target(server: &ServerOptions, dialect: Dialect) -> Result<Target, Text> {
    let rule = if dialect.uri_must_agree {
        UriPrecedence::Agree
    } else {
        UriPrecedence::Last(server.after_uri)
    };
    // Checked here, because the parser waives a requirement that conflicts with another option.
    for (option, given) in [
        (SPAWN_ARGS, server.spawn_args.is_some()),
        (SPAWN_UNIX, server.spawn_unix),
        (SERVER_CPUS, server.server_cpus.is_some()),
    ] {
        if given && server.spawn.is_none() {
            return Err(text!("{option} requires {SPAWN}"));
        }
    }
    // A command line is refused by its parser; another tool's words come here as they are.
    for (option, given) in [
        (HOST, server.host.is_some()),
        (PORT, server.port.is_some()),
        (SOCKET, server.socket.is_some()),
        (CLUSTER, server.cluster),
        (REPLICAS, !server.replicas.replicas.is_empty()),
    ] {
        if given && server.spawn.is_some() {
            return Err(text!("{option} cannot be used with {SPAWN}"));
        }
    }
    let uri = server.uri.as_ref().map(|Uri(uri)| uri::parse(uri)).transpose()?;
    let protocol = protocol(server)?;
    if protocol.is_memcache() {
        memcache::refuse(server, uri.as_ref().is_some_and(|uri| uri.db.is_some()))?;
    }
    let port_default = port_default(protocol);
    let endpoint = endpoint(server, uri.as_ref(), rule, port_default)?;
    let endpoint = shared_out(endpoint, server, protocol)?;
    if server.mptcp && !matches!(endpoint, Endpoint::Tcp { .. }) {
        return Err(text!("Options {MPTCP} is only supported by TCP"));
    }
    let cluster = server.replicas.nodes(server.cluster)?;
    let endpoint = server.replicas.with_named(endpoint)?;
    let endpoint = pool::with_others(endpoint, &server.pool)?;
    let (secure, of_uri) = match uri {
        Some(UriParts { tls, user, password, db, .. }) => (tls, (user, password, db)),
        None => (false, (None, None, None)),
    };
    let (user, password, db) = of_uri;
    let db = rule.choose(
        server.dbnum.map(|Count(db)| db),
        db,
        |at| at.db,
        |option, of_uri| {
            text!("{DBNUM} {option}: {URI} names database {of_uri}; remove one of the two")
        },
    )?;
    Ok(Target {
        endpoint,
        credentials: credentials(server, user, password, rule, dialect, protocol)?,
        password_command: server.password_command.clone(),
        // Its details are in the options of TLS, which are read elsewhere.
        tls: secure.then(TlsOptions::default),
        db: db.unwrap_or(0),
        tracking: server.enable_tracking,
        no_touch: server.no_touch,
        mptcp: server.mptcp,
        sources: server.source_ip.clone(),
        cluster,
    })
}

/// The endpoint of memcached, whose -h is a list of servers that share the keys; a list of one is that server.
fn shared_out(
    endpoint: Endpoint,
    server: &ServerOptions,
    protocol: ProtocolKind,
) -> Result<Endpoint, Text> {
    let hash = server.hash.unwrap_or_default();
    let endpoint = match endpoint {
        Endpoint::Tcp { host, port } if protocol.is_memcache() => {
            let named = uri::servers(&host, port, hash).map_err(|why| text!("{HOST}: {why}"))?;
            match (&named, server.port) {
                (Endpoint::Tcp { port: own, .. }, Some(typed)) if *own != port => {
                    return Err(text!(
                        "{PORT} {typed}: {HOST} names port {own}; remove one of the two"
                    ));
                }
                _ => named,
            }
        }
        Endpoint::Ring { servers, .. } => Endpoint::Ring { servers, hash },
        one => one,
    };
    match endpoint {
        Endpoint::Ring { .. } => Ok(endpoint),
        _ if server.hash.is_some() => {
            Err(text!("{HASH} requires several memcached servers: {HOST} a,b:11212,c"))
        }
        one => Ok(one),
    }
}

fn endpoint(
    server: &ServerOptions,
    uri: Option<&UriParts>,
    rule: UriPrecedence,
    port_default: u16,
) -> Result<Endpoint, Text> {
    if let Some(Program(program)) = &server.spawn {
        return Ok(Endpoint::Spawned {
            program: program.clone(),
            args: spawn_args(server).to_vec(),
            unix: server.spawn_unix,
            cpus: server.server_cpus.clone().map_or(Vec::new(), |Cpus(cpus)| cpus),
            counted: server.counted,
        });
    }
    if let Some(path) = &server.socket {
        let socket = Endpoint::Unix(path.clone());
        return match uri {
            Some(uri) if matches!(rule, UriPrecedence::Agree) && uri.endpoint != socket => {
                Err(contradicts(&text!("{SOCKET} {}", path.display()), uri, None))
            }
            _ => Ok(socket),
        };
    }
    let (host, port) = match &server.host {
        Some(text) => {
            let (host, of_host) = host_and_port(text);
            (Some(host), one_port(server.port, of_host)?)
        }
        None => (None, server.port),
    };
    let Some(uri) = uri else {
        let host = host.unwrap_or_else(|| HOST_DEFAULT.to_owned());
        return Ok(Endpoint::Tcp { host, port: port.unwrap_or(port_default) });
    };
    let Endpoint::Tcp { host: of_uri, .. } = &uri.endpoint else {
        return match (rule, &host, port) {
            (UriPrecedence::Agree, Some(host), _) => {
                Err(contradicts(&text!("{HOST} {host}"), uri, None))
            }
            (UriPrecedence::Agree, None, Some(port)) => {
                Err(contradicts(&text!("{PORT} {port}"), uri, None))
            }
            _ => Ok(uri.endpoint.clone()),
        };
    };
    let meant = |host: &str| (host.to_owned(), port.or(uri.port));
    let host = rule.choose(
        host,
        Some(of_uri.clone()),
        |at| at.host,
        |host, _| contradicts(&text!("{HOST} {host}"), uri, Some(meant(host))),
    )?;
    let port = rule.choose(
        port,
        uri.port,
        |at| at.port,
        |port, _| contradicts(&text!("{PORT} {port}"), uri, Some(meant(of_uri))),
    )?;
    let host = host.unwrap_or_else(|| HOST_DEFAULT.to_owned());
    Ok(Endpoint::Tcp { host, port: port.unwrap_or(port_default) })
}

/// The error of an option that contradicts `-u`, with the URI to write if `meant` is the right server. It shows no
/// login.
fn contradicts(option: &Text, uri: &UriParts, meant: Option<(String, Option<u16>)>) -> Text {
    let instead = meant.map_or(Text::default(), |(host, port)| {
        let (scheme, protocol) = match uri.memcache {
            Some(true) => ("memcache", ProtocolKind::MemcacheText),
            _ => ("redis", ProtocolKind::Resp2),
        };
        let meant = Endpoint::Tcp { host, port: port.unwrap_or(port_default(protocol)) };
        text!(", or write {URI} {scheme}{}://{meant}", if uri.tls { "s" } else { "" })
    });
    text!("{option}: {URI} names {}; remove one of the two{instead}", uri.endpoint)
}

fn credentials(
    server: &ServerOptions,
    user: Option<String>,
    password: Option<String>,
    rule: UriPrecedence,
    dialect: Dialect,
    protocol: ProtocolKind,
) -> Result<Option<Credentials>, Text> {
    let differ = |option: OptionId, what: &'static str| {
        move |_: &String, _: &String| text!("{option}: {URI} has another {what}; remove one")
    };
    let (own_user, own_password) =
        (server.user.clone(), server.password.as_ref().map(|it| it.reveal().to_owned()));
    let user = rule.choose(own_user, user, |at| at.user, differ(USER, "user"))?;
    let password =
        rule.choose(own_password, password, |at| at.password, differ(PASSWORD, "password"))?;
    if server.password_command.is_some() {
        if password.is_some() {
            let other = if server.password.is_some() { PASSWORD } else { URI };
            return Err(text!(
                "{PASSWORD_COMMAND}: {other} has a password already; remove one of the two"
            ));
        }
        if protocol.is_memcache() && user.is_none() {
            return Err(text!("{PASSWORD_COMMAND}: a memcached login also needs {USER}"));
        }
        // It is asked for when it is needed.
        return Ok(Some(Credentials { user, password: Secret::new("") }));
    }
    let from_environment = || {
        let password = std::env::var(PASSWORD_VARIABLE).ok();
        password.filter(|password| {
            let is_meant =
                dialect.password_from_environment && !is_spawned_without_password(server);
            !password.is_empty() && is_meant
        })
    };
    if protocol.is_memcache() {
        return match (user, password) {
            (Some(user), Some(password)) => {
                Ok(Some(Credentials { user: Some(user), password: Secret::new(password) }))
            }
            (None, None) => Ok(None),
            _ => Err(text!(
                "a memcached login needs both a user and a password: {USER_AND_PASSWORD}"
            )),
        };
    }
    match (user, password.or_else(from_environment)) {
        (user, Some(password)) => Ok(Some(Credentials { user, password: Secret::new(password) })),
        (Some(_), None) if !dialect.user_needs_password => Ok(None),
        (Some(_), None) => Err(text!("{USER} requires a password: {PASSWORD} or REDISCLI_AUTH")),
        (None, None) => Ok(None),
    }
}

/// Returns whether the server is started for the run, and without a password: the one in the environment is then
/// another server's.
fn is_spawned_without_password(server: &ServerOptions) -> bool {
    server.spawn.is_some()
        && !spawn_args(server)
            .iter()
            .any(|arg| ["requirepass", "aclfile", "user"].iter().any(|name| arg.contains(name)))
}

fn spawn_args(server: &ServerOptions) -> &[String] {
    server.spawn_args.as_ref().map_or(&[], |ServerArgs(args)| args)
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
