//! The listener of a sink: a port or a unix socket, polled now and then.

use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use engine::{Address, Socket};
use socket2::{Domain, Protocol, SockAddr, Type};

/// Connections that may wait to be accepted; the kernel lowers it to its own limit (`somaxconn`).
const BACKLOG: i32 = 65_535;

/// A listening socket. The file of a unix socket is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
}

impl Listener {
    /// Listens on a TCP address. Port 0 takes a free port, which [`address`](Self::address) returns.
    ///
    /// # Errors
    /// Returns an error if the address is taken or not this machine's.
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        // Or a port rests for a minute after each use.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        let socket = listening(socket)?;
        let bound = socket.local_addr()?.as_socket().unwrap_or(address);
        Ok(Self { socket, address: Address::Tcp(bound) })
    }

    /// Listens on a unix socket. Replaces a socket that an ended server left behind.
    ///
    /// # Errors
    /// Returns an error if a server listens there, another file is there, or the path is too long for a
    /// socket.
    pub fn unix(path: PathBuf) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let address = SockAddr::unix(&path)?;
        if is_left_behind(&path) {
            std::fs::remove_file(&path)?;
        }
        socket.bind(&address)?;
        let socket = listening(socket)?;
        Ok(Self { socket, address: Address::Unix(path) })
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Accepts the next waiting connection, if there is one.
    ///
    /// # Errors
    /// Returns an error if the process has no file descriptors left.
    pub(crate) fn accept(&self) -> io::Result<Option<Socket>> {
        loop {
            match self.socket.accept() {
                Ok((socket, _)) => {
                    if matches!(self.address, Address::Tcp(_)) {
                        socket.set_tcp_nodelay(true)?;
                    }
                    return Ok(Some(socket));
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(None),
                    // It went away while it waited.
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return Err(error),
                },
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn listening(socket: Socket) -> io::Result<Socket> {
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Returns whether the socket exists but has no listener.
fn is_left_behind(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    is_socket && UnixStream::connect(path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
}

/// Sends the reason for a refusal, if that needs no waiting, and closes the connection.
pub(crate) fn turn_away(mut socket: Socket, reply: &[u8]) {
    let _ = socket.set_nonblocking(true).and_then(|()| socket.write_all(reply));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_left_behind_is_replaced_and_one_in_use_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let first = Listener::unix(path.clone()).unwrap();
        assert_eq!(Listener::unix(path.clone()).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(first);
        assert!(!path.exists());
        std::fs::write(&path, "mine").unwrap();
        assert_eq!(Listener::unix(path.clone()).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn nobody_waiting_is_no_error() {
        let listener = Listener::tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        assert!(listener.accept().unwrap().is_none());
    }
}
