//! Where a server listens, once names are resolved.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// One place to connect to. Resolving a name to one is left to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_people_write_them() {
        let v6 = Address::Tcp("[::1]:6379".parse().unwrap());
        assert_eq!(v6.to_string(), "[::1]:6379");
        assert_eq!(Address::Unix("/tmp/s".into()).to_string(), "/tmp/s");
    }
}
