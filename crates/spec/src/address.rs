//! Hosts and ports as they are typed.

use std::fmt;
use std::str::FromStr;

use naming::{HOST, PORT, Text, text};
use workload::Endpoint;

use crate::text::as_text;
use crate::values::written;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(
    /// The host.
    pub String,
    /// The port.
    pub u16,
);

written! {
    Address Self(host, port) => Endpoint::from(&(host.clone(), *port)).to_string();
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once(':').and_then(|(host, port)| {
            let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let host = bare.unwrap_or(host);
            let port = port.parse().ok().filter(|port| *port > 0)?;
            let is_one = !host.is_empty() && (bare.is_some() || !host.contains(':'));
            is_one.then(|| Self(host.to_owned(), port))
        });
        parts.ok_or_else(|| "expected HOST:PORT; write an IPv6 address in brackets".to_owned())
    }
}

/// Returns the host of `-h`, and the port if one follows. An IPv6 address may be in brackets, as in a URI.
/// Lists of servers are split elsewhere.
pub fn host_and_port(text: &str) -> (String, Option<u16>) {
    if let Some(Address(host, port)) = text.parse().ok().filter(|_| !text.contains(',')) {
        return (host, Some(port));
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    (bare.unwrap_or(text).to_owned(), None)
}

/// The port of `-p`, or the one behind the host of `-h`.
pub(crate) fn one_port(typed: Option<u16>, of_host: Option<u16>) -> Result<Option<u16>, Text> {
    match (typed, of_host) {
        (Some(typed), Some(of_host)) if typed != of_host => {
            Err(text!("{PORT} {typed}: {HOST} names port {of_host}; remove one of the two"))
        }
        (typed, of_host) => Ok(typed.or(of_host)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_may_have_its_port_behind_it() {
        for (text, host, port) in [
            ("a", "a", None),
            ("a:7", "a", Some(7)),
            ("::1", "::1", None),
            ("[::1]", "::1", None),
            ("[::1]:7", "::1", Some(7)),
            ("a:x", "a:x", None),
            // memcached's lists are read elsewhere.
            ("a,b:7", "a,b:7", None),
        ] {
            assert_eq!(host_and_port(text), (host.to_owned(), port), "{text}");
        }
        assert_eq!(one_port(Some(1), Some(1)), Ok(Some(1)));
        assert!(one_port(Some(1), Some(2)).is_err());
    }
}
