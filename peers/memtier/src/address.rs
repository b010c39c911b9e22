//! The server that options name, in the words of keystorm.

use std::net::{IpAddr, ToSocketAddrs};

use workload::typed_login::shown_address;

use super::fault::{Fault, check_error};
use super::options::Options;

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
    let fault = |why| check_error(format!("Invalid URI format: {why}: {}", shown_address(text)));
    let uri = uri(text).map_err(fault)?;
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
        let why = check_error("database selection not supported in cluster mode.");
        return Err(why.behind(&given_options));
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

const PORT: u16 = 6379;
const BAD_PORT: &str = "invalid port number";

fn uri(text: &str) -> Result<Uri, &'static str> {
    let (tls, rest) = match (text.strip_prefix("redis://"), text.strip_prefix("rediss://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err("unsupported URI scheme, which must be redis:// or rediss://"),
    };
    let (login, rest) = match rest.split_once('@') {
        Some((login, rest)) => (Some(login), rest),
        None => (None, rest),
    };
    let (user, password) = match login.map(|login| login.split_once(':')) {
        None => (None, None),
        Some(Some((user, password))) => (Some(user.to_owned()), Some(password.to_owned())),
        Some(None) => (None, login.map(str::to_owned)),
    };
    let (address, db) = match rest.split_once('/') {
        Some((address, "")) => (address, None),
        Some((address, db)) => (address, Some(db.parse().map_err(|_| "invalid database number")?)),
        None => (rest, None),
    };
    // An address in brackets has colons of its own.
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or(BAD_PORT)?)),
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = match port {
        Some(port) => Some(port.parse().ok().filter(|port| *port > 0).ok_or(BAD_PORT)?),
        None => None,
    };
    let host = (!host.is_empty()).then(|| host.to_owned());
    Ok(Uri { tls, user, password, host, port, db })
}

/// The words of keystorm that name the server; one that is `spawned` has no address unless one is given.
pub(super) fn words(options: &Options, spawned: bool) -> Result<Vec<String>, Fault> {
    let mut words = Vec::new();
    let mut say = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
    let protocol = match options.protocol.as_str() {
        "memcache_text" => "memcache",
        "memcache_binary" => "memcache-binary",
        _ => "resp",
    };
    say("--protocol", protocol);
    match &options.unix_socket {
        Some(path) => say("-s", path),
        None if spawned && options.host.is_none() && options.port.is_none() => {}
        None => {
            let port = options.port.unwrap_or(PORT);
            say("-h", &host(options, port)?);
            say("-p", &port.to_string());
        }
    }
    if let Some(login) = &options.authenticate {
        let (user, password) = login.split_once(':').unwrap_or(("", login));
        if !user.is_empty() {
            say("--user", user);
        }
        say("-a", password);
    }
    if let Some(db) = options.select_db.filter(|db| *db > 0) {
        say("--dbnum", &db.to_string());
    }
    if options.tls {
        let files =
            [("--cert", &options.cert), ("--cacert", &options.cacert), ("--sni", &options.sni)];
        files.into_iter().for_each(|(option, value)| {
            value.iter().for_each(|value| say(option, value));
        });
        // A file may hold both.
        let key = options.key.as_ref().or(options.cert.as_ref());
        key.iter().for_each(|key| say("--key", key));
        // Its defaults.
        say("--tls-protocols", options.tls_protocols.as_deref().unwrap_or("TLSv1.2,TLSv1.3"));
    }
    let flags = [
        (options.protocol == "resp3", "-3"),
        (options.tls, "--tls"),
        (options.tls && options.tls_skip_verify, "--insecure"),
        (options.cluster, "--cluster"),
        (options.has_clients(), "--per-node"),
        (options.no_touch, "--no-touch"),
    ];
    words.extend(flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_owned()));
    words.extend(options.reading.words(options));
    Ok(words)
}

/// The host; an address of the asked for family, if one was.
fn host(options: &Options, port: u16) -> Result<String, Fault> {
    let host = options.host.as_deref().unwrap_or("localhost");
    let Some(version) = options.ip_version else { return Ok(host.to_owned()) };
    let fits = |ip: &IpAddr| ip.is_ipv4() == (version == 4);
    let found = (host, port).to_socket_addrs().ok();
    let found = found.and_then(|all| all.map(|address| address.ip()).find(fits));
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
        let words = words(&options, false).unwrap().join(" ");
        assert_eq!(words, "--protocol resp -h 127.0.0.1 -p 6380 -a pw --dbnum 3");
    }
}
