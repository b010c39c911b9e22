//! A real server of known behaviour, on a thread for each connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use engine::Address;

/// What the other side does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behaviour {
    /// Sends back what it gets.
    Echo,
    /// Reads nothing for this long, then echoes.
    EchoAfter(Duration),
    /// Sends back what it gets, a byte at a time.
    EchoBytewise,
    /// Reads and says nothing.
    Silent,
    /// Says this and closes.
    SayAndClose(&'static [u8]),
    /// Closes after so many bytes.
    CloseAfter(usize),
    /// Resets after so many bytes.
    ResetAfter(usize),
    /// Is not there.
    Refuse,
}

pub(crate) struct Peer {
    address: Address,
    _directory: Option<tempfile::TempDir>,
}

/// A stream of either kind.
trait Stream: Read + Write + Send {
    fn reset(&self) {}
}

impl Stream for UnixStream {}

impl Stream for TcpStream {
    fn reset(&self) {
        socket2::SockRef::from(self).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

impl Peer {
    pub(crate) fn tcp(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        if !matches!(behaviour, Behaviour::Refuse) {
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    stream.set_nodelay(true).unwrap();
                    thread::spawn(move || behave(Box::new(stream), behaviour));
                }
            });
        }
        Self { address, _directory: None }
    }

    pub(crate) fn unix(behaviour: Behaviour) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path: PathBuf = directory.path().join("peer.sock");
        if !matches!(behaviour, Behaviour::Refuse) {
            let listener = UnixListener::bind(&path).unwrap();
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    thread::spawn(move || behave(Box::new(stream), behaviour));
                }
            });
        }
        Self { address: Address::Unix(path), _directory: Some(directory) }
    }

    pub(crate) fn address(&self) -> Address {
        self.address.clone()
    }
}

/// Plays until the client is gone; its going is how a test ends.
fn behave(mut stream: Box<dyn Stream>, behaviour: Behaviour) {
    let mut buffer = vec![0; 1 << 16];
    let mut received = 0;
    match behaviour {
        Behaviour::SayAndClose(words) => {
            let _ = stream.write_all(words);
            return;
        }
        Behaviour::EchoAfter(pause) => thread::sleep(pause),
        _ => {}
    }
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        received += n;
        let written = match behaviour {
            Behaviour::Echo | Behaviour::EchoAfter(_) => stream.write_all(&buffer[..n]),
            Behaviour::EchoBytewise => buffer[..n].chunks(1).try_for_each(|byte| {
                thread::sleep(Duration::from_millis(1));
                stream.write_all(byte)
            }),
            Behaviour::CloseAfter(limit) if received >= limit => return,
            Behaviour::ResetAfter(limit) if received >= limit => return stream.reset(),
            _ => Ok(()),
        };
        if written.is_err() {
            return;
        }
    }
}
