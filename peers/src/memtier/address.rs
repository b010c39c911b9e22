//! The server that options name.

use std::net::ToSocketAddrs;
use std::path::PathBuf;

use spec::LoadSpec;
use spec::values::{Count, ProtocolArg};
use workload::Secret;
use workload::typed_login::shown_address;

use super::fault::{Fault, check_error};
use super::options::{Options, PORT};
use super::reading;

/// The parts of a URI that are used.
#[derive(Debug, Default, PartialEq, Eq)]
struct Uri {
    tls: bool,
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    db: Option<u32>,
}

/// Applies a URI, whose parts override other options. Returns a note for each option overridden.
pub(super) fn apply_uri(options: &mut Options) -> Result<Vec<String>, Fault> {
    let Some(text) = &options.uri else { return Ok(Vec::new()) };
    let uri = uri(text).map_err(|why| {
        check_error(format!("Invalid URI format: {why}: {}", shown_address(text)))
    })?;
    let both = [
        (options.host.is_some() && uri.host.is_some(), "--host/--server"),
        (options.port.is_some() && uri.port.is_some(), "--port"),
        (options.authenticate.is_some() && uri.password.is_some(), "--authenticate"),
        (options.select_db.is_some_and(|db| db > 0) && uri.db.is_some(), "--select-db"),
        (options.tls && uri.tls, "--tls"),
    ];
    let given_options = both.into_iter().filter(|(given, _)| *given);
    let given_options = given_options.map(|(_, option)| {
        format!("warning: both URI and {option} specified, URI takes precedence")
    });
    let given_options: Vec<String> = given_options.collect();
    if options.cluster && uri.db.is_some_and(|db| db > 0) {
        let why = "error: database selection not supported in cluster mode.".to_owned();
        return Err(Fault::Check([given_options, vec![why]].concat().join("\n")));
    }
    options.host = uri.host.or(options.host.take());
    options.port = uri.port.or(options.port);
    if let Some(password) = uri.password {
        options.authenticate = Some(format!("{}:{password}", uri.user.unwrap_or_default()));
    }
    options.select_db = uri.db.or(options.select_db);
    options.tls |= uri.tls;
    Ok(given_options)
}

/// Versions that are offered by default.
const TLS_PROTOCOLS: &str = "TLSv1.2,TLSv1.3";
const BAD_PORT: &str = "invalid port number";

fn uri(text: &str) -> Result<Uri, &'static str> {
    let (tls, rest) = match (text.strip_prefix("redis://"), text.strip_prefix("rediss://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err("unsupported URI scheme, which must be redis:// or rediss://"),
    };
    let (login, rest) =
        rest.split_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
    let (user, password) = match login.map(|login| login.split_once(':').ok_or(login)) {
        None => (None, None),
        Some(Ok((user, password))) => (Some(user.to_owned()), Some(password.to_owned())),
        Some(Err(password)) => (None, Some(password.to_owned())),
    };
    let (address, db) = rest.split_once('/').unwrap_or((rest, ""));
    let db = Some(db).filter(|db| !db.is_empty());
    let db = db.map(|db| db.parse().map_err(|_| "invalid database number")).transpose()?;
    // An address in brackets has colons of its own.
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or(BAD_PORT)?)),
        None => address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map(|port| port.parse().ok().filter(|port| *port > 0).ok_or(BAD_PORT));
    let port = port.transpose()?;
    let host = (!host.is_empty()).then(|| host.to_owned());
    Ok(Uri { tls, user, password, host, port, db })
}

/// Says in `spec` where the server is, and how it is reached; one that is spawned has no address unless one is given.
pub(super) fn describe(options: &Options, spec: &mut LoadSpec) -> Result<(), Fault> {
    let server = &mut spec.server;
    server.protocol = Some(match options.protocol.as_str() {
        "memcache_text" => ProtocolArg::Memcache,
        "memcache_binary" => ProtocolArg::MemcacheBinary,
        _ => ProtocolArg::Resp,
    });
    let is_named = options.host.is_some() || options.port.is_some();
    if let Some(path) = &options.unix_socket {
        server.socket = Some(path.into());
    } else if is_named || server.spawn.is_none() {
        let port = options.port.unwrap_or(PORT);
        (server.host, server.port) = (Some(host(options, port)?), Some(port));
    }
    let login = options.authenticate.as_deref();
    let login = login.map(|login| login.split_once(':').unwrap_or(("", login)));
    server.user = login.map(|(user, _)| user.to_owned()).filter(|user| !user.is_empty());
    server.password = login.map(|(_, password)| Secret::new(password));
    server.pool = Vec::new();
    server.dbnum = options.select_db.filter(|db| *db > 0).map(Count);
    server.resp3 = options.protocol == "resp3";
    server.cluster = options.cluster;
    server.no_touch |= options.no_touch;
    server.replicas.per_node = options.has_clients();
    reading::describe(options, &mut server.replicas);
    let file = |file: &Option<String>| file.as_ref().filter(|_| options.tls).map(PathBuf::from);
    let tls = &mut spec.tls;
    (tls.tls, tls.insecure) = (options.tls, options.tls && options.tls_skip_verify);
    (tls.cert, tls.cacert) = (file(&options.cert), file(&options.cacert));
    // A file may hold both.
    tls.key = file(&options.key).or_else(|| tls.cert.clone());
    tls.sni = options.sni.clone().filter(|_| options.tls);
    if options.tls {
        let protocols = options.tls_protocols.as_deref().unwrap_or(TLS_PROTOCOLS);
        tls.tls_protocols.get_or_insert_with(|| protocols.to_owned());
    }
    Ok(())
}

/// The host; an address of the asked for family, if one was.
fn host(options: &Options, port: u16) -> Result<String, Fault> {
    let host = options.host.as_deref().unwrap_or("localhost");
    let Some(version) = options.ip_version else { return Ok(host.to_owned()) };
    let found = (host, port).to_socket_addrs().ok();
    let found = found
        .and_then(|all| all.map(|address| address.ip()).find(|ip| ip.is_ipv4() == (version == 4)));
    found
        .map(|ip| ip.to_string())
        .ok_or_else(|| check_error(format!("host {host} has no address of IP version {version}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_taken_apart() {
        let full = uri("rediss://me:a:b@host:7000/3").unwrap();
        assert_eq!(
            (full.tls, full.user.as_deref(), full.password.as_deref()),
            (true, Some("me"), Some("a:b"))
        );
        assert_eq!((full.host.as_deref(), full.port, full.db), (Some("host"), Some(7000), Some(3)));
        let short = uri("redis://pw@host").unwrap();
        assert_eq!((short.user, short.password.as_deref(), short.port), (None, Some("pw"), None));
        assert_eq!(uri("redis://[::1]:7000").unwrap().host.as_deref(), Some("::1"));
        assert_eq!(uri("redis://"), Ok(Uri::default()));
        for (bad, says) in [
            ("http://x", "unsupported URI scheme"),
            ("redis://localhost:99999", "invalid port number"),
            ("redis://p@h:1/x", "invalid database number"),
        ] {
            assert!(uri(bad).unwrap_err().starts_with(says), "{bad}");
        }
    }

    #[test]
    fn a_uri_takes_the_place_of_others_and_says_so() {
        let mut options = Options {
            uri: Some("redis://:pw@127.0.0.1:6380/3".into()),
            port: Some(1),
            ..Options::new()
        };
        let text = apply_uri(&mut options).unwrap();
        assert_eq!(text, ["warning: both URI and --port specified, URI takes precedence"]);
        let mut spec = LoadSpec::default();
        describe(&options, &mut spec).unwrap();
        let words = spec.words().unwrap().join(" ");
        assert_eq!(words, "-h 127.0.0.1 --protocol resp -p 6380 -a *** --dbnum 3");
        assert_eq!(spec.server.password.unwrap().reveal(), "pw");
    }
}
