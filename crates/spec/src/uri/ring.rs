//! memcached servers as no URI of the standard has them: several,
//! `memcache://[user:password@]host[:port],host[:port]…`, or one that is a path, `memcache:///run/m.sock`.

use std::net::Ipv6Addr;

use naming::{Text, URI, text};
use workload::typed_login::shown_address;
use workload::{Endpoint, RingHash};

use super::{UriParts, decoded, host_and_port, login};

/// The port of memcached.
const PORT: u16 = 11211;

/// Returns whether TLS is used, and the text after the scheme, if the scheme is memcached's and several hosts
/// or a path follow.
pub(crate) fn authority(text: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let tls = match scheme {
        "memcache" => false,
        "memcaches" => true,
        _ => return None,
    };
    let rest = rest.trim_end_matches('/');
    let hosts = rest.rsplit_once('@').map_or(rest, |(_, hosts)| hosts);
    (hosts.contains(',') || hosts.starts_with('/')).then_some((tls, rest))
}

/// Parses what follows the scheme of such a URI.
///
/// # Errors
/// Returns an error if it is invalid. The error never quotes a possible password.
pub(crate) fn parse(tls: bool, authority: &str) -> Result<UriParts, Text> {
    let (user, password, hosts) = login(authority)?;
    let mut endpoint =
        servers(hosts, PORT, RingHash::default()).map_err(|why| text!("{URI}: {why}"))?;
    let all = match &mut endpoint {
        Endpoint::Ring { servers, .. } => &mut servers[..],
        one => std::slice::from_mut(one),
    };
    for server in all {
        if let Endpoint::Unix(path) = server {
            *path = decoded(&path.to_string_lossy())?.into();
        }
    }
    Ok(UriParts { endpoint, port: None, user, password, db: None, tls, memcache: Some(true) })
}

/// The servers of a list, or the only one: hosts and ports, and paths of unix sockets.
///
/// # Errors
/// Returns an error that quotes the first invalid server.
pub(in super::super) fn servers(
    list: &str,
    port_default: u16,
    hash: RingHash,
) -> Result<Endpoint, Text> {
    let servers = list.split(',').map(|text| match text {
        path if path.starts_with('/') => Ok(Endpoint::Unix(path.into())),
        // Without brackets, the last colon may belong to the address, so there is no port.
        host if is_ipv6(host) => Ok(Endpoint::Tcp { host: host.to_owned(), port: port_default }),
        text => {
            let found = host_and_port(text, port_default).transpose()?;
            found.map(|(host, port)| Endpoint::Tcp { host, port }).ok_or_else(|| {
                text!("{:?} is not a host and port of a server", shown_address(text))
            })
        }
    });
    let servers: Result<Vec<Endpoint>, Text> = servers.collect();
    let mut servers = servers?;
    match (servers.len(), servers.pop()) {
        (1, Some(one)) => Ok(one),
        (_, last) => {
            servers.extend(last);
            Ok(Endpoint::Ring { servers, hash })
        }
    }
}

/// Returns whether a host is an IPv6 address, with a zone behind it or without.
fn is_ipv6(host: &str) -> bool {
    host.split('%').next().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp { host: host.into(), port }
    }

    #[test]
    fn several_hosts_are_several_servers() {
        let got = parse("memcaches://ann:p%40w@a,b:7,[::1]:8").unwrap();
        let servers = vec![tcp("a", 11211), tcp("b", 7), tcp("::1", 8)];
        assert_eq!(got.endpoint, Endpoint::Ring { servers, hash: RingHash::Ketama });
        assert_eq!((got.user.as_deref(), got.password.as_deref()), (Some("ann"), Some("p@w")));
        assert_eq!((got.tls, got.memcache), (true, Some(true)));
        assert_eq!(got.endpoint.to_string(), "a:11211,b:7,[::1]:8");
        let one = parse("memcache://ann:a,b@h").unwrap();
        assert_eq!(one.endpoint, tcp("h", 11211), "a comma in a password");
    }

    #[test]
    fn a_list_may_have_sockets_and_must_have_servers() {
        let got = servers("/run/a,b,::1", 9, RingHash::Modulo).unwrap();
        let of = vec![Endpoint::Unix("/run/a".into()), tcp("b", 9), tcp("::1", 9)];
        assert_eq!(got, Endpoint::Ring { servers: of, hash: RingHash::Modulo });
        for bad in ["a,,b", "a:x,b", "a,[::1"] {
            assert!(servers(bad, 9, RingHash::Ketama).is_err(), "{bad}");
            assert!(
                !parse(&format!("memcache://u:hunter2@{bad}"))
                    .unwrap_err()
                    .to_string()
                    .contains("hunter2")
            );
        }
    }
}
