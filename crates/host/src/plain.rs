//! A blocking socket without TLS, connected and read with a bound on time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::{Address, Patience};

/// A socket without TLS.
#[derive(Debug)]
pub enum PlainSocket {
    /// TCP.
    Tcp(TcpStream),
    /// A unix socket.
    Unix(UnixStream),
}

impl PlainSocket {
    /// Connects, over TCP from the address `source` if there is one, and bounds every later read
    /// and write by the patience for a reply.
    pub(crate) fn connect(
        address: &Address,
        source: Option<IpAddr>,
        patience: Patience,
    ) -> io::Result<Self> {
        // A timeout of zero means none at all to the kernel.
        let timeout = Some(patience.reply.max(Duration::from_millis(1)));
        match address {
            Address::Tcp(address) => {
                let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
                if let Some(source) = source {
                    socket.bind(&SocketAddr::new(source, 0).into())?;
                }
                socket.connect_timeout(&(*address).into(), patience.connect)?;
                let stream = TcpStream::from(OwnedFd::from(socket));
                stream.set_nodelay(true)?;
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)?;
                Ok(Self::Tcp(stream))
            }
            Address::Unix(path) => {
                let stream = connect_unix(path, patience.connect)?;
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)?;
                Ok(Self::Unix(stream))
            }
        }
    }

    /// Another handle of the same socket.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Bounds every later read by this time, by whichever handle.
    pub(crate) fn wait_for(&self, patience: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(patience)),
            Self::Unix(stream) => stream.set_read_timeout(Some(patience)),
        }
    }
}

/// Connects to a unix socket, and unlike the standard library does not wait for ever for a server
/// that has stopped accepting: its full queue is `EAGAIN` to a socket that does not block.
fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let deadline = Instant::now() + patience;
    let address = SockAddr::unix(path)?;
    loop {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address) {
            Ok(()) => {
                socket.set_nonblocking(false)?;
                return Ok(UnixStream::from(OwnedFd::from(socket)));
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => return Err(e),
        }
    }
}

impl AsFd for PlainSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for PlainSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for PlainSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    #[test]
    fn a_unix_server_that_accepts_nobody_does_not_hang_us() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        listener.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        listener.listen(1).unwrap();
        let patience =
            Patience { connect: Duration::from_millis(50), reply: Duration::from_millis(50) };
        let mut held = Vec::new();
        let error = loop {
            match Client::connect(&Address::Unix(path.clone()), patience) {
                Ok(client) => held.push(client),
                Err(e) => break e.to_string(),
            }
            assert!(held.len() < 100, "the queue of a listener holds any number");
        };
        assert!(error.contains("no answer within 0.05 s"), "{error}");
        let silent = held[0].ask(&[b"PING"]).unwrap_err().to_string();
        assert!(silent.contains("did not answer PING"), "{silent}");
    }
}
