//! `-u`: a server address as a URI.
//!
//! A group of sentinels, and memcached servers that share out keys, are several hosts, which no URI of
//! the standard has: [`sentinel`] and [`ring`] read them.

mod ring;
mod sentinel;

pub(crate) use ring::servers;

use naming::{Text, URI, text};
use percent_encoding::percent_decode_str;
use url::{Host, Url};
use workload::Endpoint;

/// The parts of a URI that are used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UriParts {
    pub(crate) endpoint: Endpoint,
    /// The port, where one is named.
    pub(crate) port: Option<u16>,
    pub(crate) tls: bool,
    /// Set if the scheme is memcached's; `None` where it leaves that open.
    pub(crate) memcache: Option<bool>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) db: Option<u32>,
}

/// Reads `redis://`, `valkey://`, `memcache://`, those with an s more, and `unix://` addresses. As with the
/// peers, a single word before the `@` is a password.
///
/// # Errors
/// Returns an error if it is invalid. The error never quotes the URI, which may contain a password.
pub(crate) fn parse(text: &str) -> Result<UriParts, Text> {
    if let Some(rest) = sentinel::rest(text) {
        return sentinel::parse(rest);
    }
    if let Some((tls, authority)) = ring::authority(text) {
        return ring::parse(tls, authority);
    }
    let url = Url::parse(text).map_err(|e| text!("{URI}: {e}"))?;
    let unix = match url.scheme() {
        "redis" | "valkey" | "rediss" | "valkeys" | "memcache" | "memcaches" => false,
        "unix" | "redis+unix" | "valkey+unix" | "redis-socket" | "valkey-socket" => true,
        other => {
            return Err(text!(
                "{URI}: unknown scheme {other:?}; expected redis, valkey, rediss, valkeys, \
                 memcache, memcaches, unix or redis-sentinel"
            ));
        }
    };
    let tls = matches!(url.scheme(), "rediss" | "valkeys" | "memcaches");
    let memcache = match url.scheme() {
        "memcache" | "memcaches" => Some(true),
        "unix" => None,
        _ => Some(false),
    };
    let port_default = if memcache == Some(true) { 11211 } else { 6379 };
    let user = decoded(url.username())?;
    let (user, password) = match url.password() {
        Some(password) => (Some(user).filter(|u| !u.is_empty()), Some(decoded(password)?)),
        None => (None, Some(user).filter(|u| !u.is_empty())),
    };
    let db = if unix {
        url.query_pairs().find(|(name, _)| name == "db").map(|(_, db)| db.into_owned())
    } else {
        Some(url.path().trim_matches('/').to_owned()).filter(|db| !db.is_empty())
    };
    let db = db.map(|db| db.parse().map_err(|_| no_database()));
    let endpoint = if unix {
        if url.host().is_some_and(|h| h.to_string() != "localhost") {
            return Err(text!(
                "{URI}: the path of a unix socket starts with a third slash: unix:///path"
            ));
        }
        Endpoint::Unix(decoded(url.path())?.into())
    } else {
        Endpoint::Tcp { host: host(&url)?, port: url.port().unwrap_or(port_default) }
    };
    let port = url.port();
    Ok(UriParts { endpoint, port, tls, memcache, user, password, db: db.transpose()? })
}

/// The error for a path that is no database number. It does not quote the path: with a slash too few or too many, the
/// login is in it.
fn no_database() -> Text {
    text!(
        "{URI}: a path that is not a database number; expected redis://[[user]:password@]host[:port][/db]"
    )
}

fn host(url: &Url) -> Result<String, Text> {
    Ok(match url.host() {
        Some(Host::Ipv6(address)) => address.to_string(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Domain(name)) if !name.is_empty() => decoded(name)?,
        _ => "127.0.0.1".to_owned(),
    })
}

/// Splits a list into the login before the hosts, and the hosts. A word alone is a password.
fn login(authority: &str) -> Result<(Option<String>, Option<String>, &str), Text> {
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (Some(login), hosts),
        None => (None, authority),
    };
    let (user, password) = match login.map(|login| login.split_once(':').ok_or(login)) {
        None => (None, None),
        Some(Ok((user, password))) => (Some(decoded(user)?), Some(decoded(password)?)),
        Some(Err(password)) => (None, Some(decoded(password)?)),
    };
    Ok((user.filter(|user| !user.is_empty()), password, hosts))
}

/// Reads `host`, `host:port`, `[ipv6]` or `[ipv6]:port`; `None` for any other text.
pub(crate) fn host_and_port(text: &str, port_default: u16) -> Option<Result<(String, u16), Text>> {
    let (host, port) = match text.strip_prefix('[') {
        Some(v6) => v6.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok()?,
        None if port.is_empty() => port_default,
        None => return None,
    };
    (!host.is_empty()).then(|| Ok((decoded(host)?, port)))
}

fn decoded(text: &str) -> Result<String, Text> {
    let bytes = percent_decode_str(text).decode_utf8();
    bytes.map(|t| t.into_owned()).map_err(|_| text!("{URI}: a percent-encoded part is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp { host: host.into(), port }
    }

    #[test]
    fn every_part_is_read() {
        let got = parse("redis://us%40er:p%3Ass%2Fw@example.org:7000/3").unwrap();
        assert_eq!(got.endpoint, tcp("example.org", 7000));
        assert_eq!(got.user.as_deref(), Some("us@er"));
        assert_eq!(got.password.as_deref(), Some("p:ss/w"));
        assert_eq!(got.db, Some(3));
    }

    #[test]
    fn a_login_in_the_wrong_place_is_not_quoted() {
        let texts = [
            "redis:/:hunter2@h:1",
            "redis:///:hunter2@h",
            "redis://h/:hunter2@x",
            "redis:hunter2@h:1",
        ];
        for text in
            texts.into_iter().chain(["rediss:/hunter2@h", "redis-sentinel://h/name/hunter2@x"])
        {
            let why = parse(text).unwrap_err().to_string();
            assert!(
                !why.contains("hunter2") && why.contains("not a database number"),
                "{text}: {why}"
            );
        }
    }

    #[test]
    fn parts_may_be_left_out() {
        let bare = parse("valkey://10.0.0.1").unwrap();
        assert_eq!(
            bare,
            UriParts {
                endpoint: tcp("10.0.0.1", 6379),
                port: None,
                tls: false,
                memcache: Some(false),
                user: None,
                password: None,
                db: None
            }
        );
        assert_eq!(parse("redis://secret@h").unwrap().password.as_deref(), Some("secret"));
        let colon = parse("redis://:secret@h/").unwrap();
        assert_eq!((colon.user, colon.password.as_deref()), (None, Some("secret")));
        assert_eq!(parse("redis://:1").unwrap_err().to_string(), "-u: empty host");
    }

    #[test]
    fn an_s_more_is_tls() {
        for (scheme, tls) in [("redis", false), ("rediss", true), ("valkeys", true)] {
            let got = parse(&format!("{scheme}://h:7000/1")).unwrap();
            assert_eq!((got.tls, got.endpoint, got.db), (tls, tcp("h", 7000), Some(1)));
        }
    }

    #[test]
    fn memcached_has_schemes_and_a_port_of_its_own() {
        for (scheme, tls) in [("memcache", false), ("memcaches", true)] {
            let got = parse(&format!("{scheme}://u:p@h")).unwrap();
            assert_eq!((got.memcache, got.tls, got.endpoint), (Some(true), tls, tcp("h", 11211)));
            assert_eq!(got.user.as_deref(), Some("u"));
        }
        assert_eq!(parse("unix:///s").unwrap().memcache, None);
    }

    #[test]
    fn ipv6_stands_in_brackets_and_sockets_are_paths() {
        assert_eq!(parse("redis://[::1]:7001").unwrap().endpoint, tcp("::1", 7001));
        let socket = parse("unix:///run/my%20redis.sock?db=2").unwrap();
        assert_eq!(socket.endpoint, Endpoint::Unix("/run/my redis.sock".into()));
        assert_eq!(socket.db, Some(2));
    }

    #[test]
    fn errors_never_quote_the_uri() {
        for bad in
            ["rediss://:hunter2@h:x", "http://:hunter2@h", "redis://:hunter2@h:99999", "hunter2"]
        {
            assert!(!parse(bad).unwrap_err().to_string().contains("hunter2"), "{bad}");
        }
        assert!(parse("redis://h/abc").is_err());
    }
}
