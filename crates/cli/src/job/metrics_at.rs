//! The address of `--metrics`, as typed. Listening is in `console`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// A host and a port to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsAt {
    /// A name or an address, without brackets.
    pub host: String,
    /// Port; 0 for a free one.
    pub port: u16,
}

impl MetricsAt {
    /// Parses `PORT`, `:PORT`, `HOST:PORT` or `[IPv6]:PORT`. The default host is the loopback address, so
    /// that nobody else can read the figures unless the user says so.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fault =
            || "expected PORT or ADDR:PORT, with IPv6 in brackets, such as [::1]:9121".to_owned();
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let port = port.parse().map_err(|_| fault())?;
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = match bare {
            Some(bare) if bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6()) => bare.to_owned(),
            Some(_) => return Err(fault()),
            None if host.is_empty() => Ipv4Addr::LOCALHOST.to_string(),
            None if host.contains([':', '/', '[', ']']) => return Err(fault()),
            None => host.to_owned(),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for MetricsAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::MetricsAt;

    #[test]
    fn an_address_is_read_and_written_alike() {
        for (text, read) in [
            ("9121", "127.0.0.1:9121"),
            (":0", "127.0.0.1:0"),
            ("0.0.0.0:9121", "0.0.0.0:9121"),
            ("localhost:1", "localhost:1"),
            ("[::1]:9121", "[::1]:9121"),
        ] {
            assert_eq!(MetricsAt::parse(text).unwrap().to_string(), read);
        }
        for text in ["", "x", ":", "::1:9121", "[::1]", "[x]:1", "a:70000", "-1", "http://a:1"] {
            assert!(MetricsAt::parse(text).is_err(), "{text}");
        }
    }
}
