//! `--pool`: servers that are interchangeable with the one that is named.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use naming::{HOST, POOL, PORT, SOCKET, Text, text};
use workload::Endpoint;

use crate::address::Address;
use crate::text::as_text;
use crate::values::written;

/// Server of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server(
    /// Address of the server.
    pub Endpoint,
);

written! {
    Server Self(endpoint) => match endpoint {
        Endpoint::Unix(path) => path.display().to_string(),
        other => other.to_string(),
    };
}

/// `HOST:PORT`, or a path, which has a slash.
impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Self(Endpoint::Unix(PathBuf::from(text))));
        }
        let read = text.parse();
        let Address(host, port) = read.map_err(|why: String| {
            format!("{why}; the path of a unix socket contains a slash, such as ./redis.sock")
        })?;
        Ok(Self(Endpoint::Tcp { host, port }))
    }
}

/// All servers, beginning with the named one; only that one if there is no other.
///
/// # Errors
/// Returns an error if connections cannot take turns there.
pub(crate) fn with_others(first: Endpoint, others: &[Server]) -> Result<Endpoint, Text> {
    if others.is_empty() {
        return Ok(first);
    }
    if !matches!(first, Endpoint::Tcp { .. } | Endpoint::Unix(_)) {
        return Err(text!(
            "{POOL}: {first} is not a single server; name one with {HOST} and {PORT}, or {SOCKET}"
        ));
    }
    let others = others.iter().map(|Server(endpoint)| endpoint.clone());
    Ok(Endpoint::Pool { servers: std::iter::once(first).chain(others).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_hosts_and_sockets() {
        let tcp = |host: &str, port| Endpoint::Tcp { host: host.to_owned(), port };
        assert_eq!("b:7000".parse(), Ok(Server(tcp("b", 7000))));
        assert_eq!("/s.sock".parse(), Ok(Server(Endpoint::Unix("/s.sock".into()))));
        assert!("s.sock".parse::<Server>().unwrap_err().to_string().contains("./redis.sock"));
        let pool = with_others(tcp("a", 1), &["b:2".parse().unwrap()]).unwrap();
        assert_eq!(pool, Endpoint::Pool { servers: vec![tcp("a", 1), tcp("b", 2)] });
        let sentinel = Endpoint::Sentinel { sentinels: vec![("s".into(), 1)], name: "m".into() };
        assert!(with_others(sentinel.clone(), &["b:2".parse().unwrap()]).is_err());
        assert_eq!(with_others(sentinel.clone(), &[]), Ok(sentinel));
    }
}
