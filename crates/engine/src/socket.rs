//! Sockets: addresses, options, and connecting.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// An address to connect to, with names resolved.
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

/// Options of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConnectOptions {
    /// Multipath TCP (Linux; RFC 8684).
    pub mptcp: bool,
    /// The local address to connect from.
    pub source: Option<IpAddr>,
    /// The local port to try first. The kernel looks for a free port by trying one after another, which for
    /// the ten thousandth connection to one address takes longer than the rest of connecting. A connection
    /// with a given port is closed by a reset, so that the port is free at once.
    pub port: Option<u16>,
    /// Closes the connection with a reset, so that its local port is free at once.
    pub reset: bool,
    /// Fails at once if a unix socket's backlog is full, like TCP, instead of waiting for room.
    pub no_wait: bool,
    /// Asks the kernel for the arrival times of bytes ([`Engine::arrived_ns`](crate::Engine::arrived_ns)).
    /// Linux stamps TCP; elsewhere this has no effect.
    pub kernel_stamps: bool,
}

/// Asks the kernel to stamp received bytes, if the options want it; returns whether it does.
#[cfg(unix)]
pub(crate) fn stamped(socket: &Socket, to: &Address, options: &ConnectOptions) -> bool {
    options.kernel_stamps && matches!(to, Address::Tcp(_)) && crate::stamps::enable(socket)
}

/// Longest wait for room in the server's backlog when connecting to a unix socket.
const UNIX_CONNECT_MAX: Duration = Duration::from_secs(5);

/// Creates a non-blocking socket and begins to connect; returns whether it is connected already.
pub(crate) fn connect(to: &Address, options: &ConnectOptions) -> io::Result<(Socket, bool)> {
    match to {
        Address::Unix(path) => {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
            // A unix socket connects at once unless the backlog is full, and then it has no way
            // to say when there is room: waiting is left to the kernel.
            if options.no_wait {
                socket.set_nonblocking(true)?
            } else {
                socket.set_write_timeout(Some(UNIX_CONNECT_MAX))?
            }
            socket.connect(&unix_address(path)?)?;
            socket.set_nonblocking(true)?;
            Ok((socket, true))
        }
        Address::Tcp(address) => {
            let from_port = options.port.map(|port| connect_tcp(*address, options, Some(port)));
            match from_port {
                Some(Ok(begun)) => Ok(begun),
                // Somebody else has that port.
                Some(Err(_)) | None => connect_tcp(*address, options, None),
            }
        }
    }
}

/// The address of a unix socket. A name after `@` is an abstract one, as Linux shows them, unless there is
/// such a file.
///
/// # Errors
/// Returns an error if the path is too long.
pub fn unix_address(path: &Path) -> io::Result<SockAddr> {
    match path.as_os_str().as_bytes() {
        [b'@', name @ ..] if cfg!(target_os = "linux") && !path.exists() => {
            SockAddr::unix(OsStr::from_bytes(&[&[0], name].concat()))
        }
        _ => SockAddr::unix(path),
    }
}

fn connect_tcp(
    to: SocketAddr,
    options: &ConnectOptions,
    port: Option<u16>,
) -> io::Result<(Socket, bool)> {
    let protocol = if options.mptcp { mptcp()? } else { Protocol::TCP };
    let socket = non_blocking(Domain::for_address(to), protocol)?;
    socket.set_tcp_nodelay(true)?;
    if options.source.is_some() || port.is_some() {
        let anywhere = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        // A port that rests after an earlier connection may be had at once.
        socket.set_reuse_address(port.is_some())?;
        let from = SocketAddr::new(options.source.unwrap_or(anywhere), port.unwrap_or(0));
        socket.bind(&from.into())?;
    }
    if options.reset || port.is_some() {
        // Closed by a reset: tens of thousands of ports would rest for a minute otherwise, and
        // the next test would have none.
        socket.set_linger(Some(Duration::ZERO))?;
    }
    match socket.connect(&to.into()) {
        Ok(()) => Ok((socket, true)),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INPROGRESS) => {
            Ok((socket, false))
        }
        Err(error) => Err(error),
    }
}

/// Creates a socket that is non-blocking from the start, where the kernel can: this saves two calls for each
/// of many thousands.
#[cfg(target_os = "linux")]
fn non_blocking(domain: Domain, protocol: Protocol) -> io::Result<Socket> {
    Socket::new(domain, Type::STREAM.nonblocking(), Some(protocol))
}

#[cfg(not(target_os = "linux"))]
fn non_blocking(domain: Domain, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::STREAM, Some(protocol))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(target_os = "linux")]
fn mptcp() -> io::Result<Protocol> {
    Ok(Protocol::MPTCP)
}

#[cfg(not(target_os = "linux"))]
fn mptcp() -> io::Result<Protocol> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "MPTCP is a feature of Linux"))
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
