//! A blocking socket without TLS, connected and read within time limits.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::Address;

/// Time limits for a server.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Time to accept the connection.
    pub connect: Duration,
    /// Time to answer a command in full.
    pub reply: Duration,
}

impl Default for Patience {
    /// Five seconds for each, as a slower server is of no use for a measurement.
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), reply: Duration::from_secs(5) }
    }
}

/// A socket without TLS, TCP or unix.
pub type PlainSocket = Socket;

/// Connects, over TCP from the address `source` if there is one, and sets the reply's time limit for every
/// later read and write.
pub(crate) fn connect(
    address: &Address,
    source: Option<IpAddr>,
    patience: Patience,
) -> io::Result<PlainSocket> {
    let socket = match address {
        Address::Tcp(address) => {
            let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
            if let Some(source) = source {
                socket.bind(&SocketAddr::new(source, 0).into())?;
            }
            socket.connect_timeout(&(*address).into(), patience.connect)?;
            socket.set_tcp_nodelay(true)?;
            socket
        }
        Address::Unix(path) => connect_unix(path, patience.connect)?,
    };
    // A timeout of zero means none at all to the kernel.
    let timeout = Some(patience.reply.max(Duration::from_millis(1)));
    socket.set_read_timeout(timeout)?;
    socket.set_write_timeout(timeout)?;
    Ok(socket)
}

/// Connects to a unix socket without waiting for ever, unlike the standard library, for a server that has
/// stopped accepting: a non-blocking socket gets `EAGAIN` for its full queue.
fn connect_unix(path: &Path, patience: Duration) -> io::Result<Socket> {
    let deadline = Instant::now() + patience;
    let address = engine::unix_address(path)?;
    loop {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address) {
            Ok(()) => {
                socket.set_nonblocking(false)?;
                return Ok(socket);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use socket2::SockAddr;

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
