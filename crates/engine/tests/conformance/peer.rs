//! A real server of known behaviour, on a thread for each connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use engine::Address;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream};

use crate::certificates::Identity;

/// Behaviour of the other side.
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
    /// Does not listen at all.
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

/// A stream in TLS that ends in order.
struct TlsPeer<S: Read + Write>(SslStream<S>);

impl<S: Read + Write> Read for TlsPeer<S> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into)
    }
}

impl<S: Read + Write> Write for TlsPeer<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl<S: Stream> Stream for TlsPeer<S> {
    fn reset(&self) {
        self.0.get_ref().reset();
    }
}

impl<S: Read + Write> Drop for TlsPeer<S> {
    fn drop(&mut self) {
        let _ = self.0.shutdown();
    }
}

/// Kinds of transport over which a server takes its connections.
#[derive(Clone)]
pub(crate) enum Transport {
    Plain,
    Tls(SslContext),
}

impl Transport {
    /// TLS with this certificate.
    pub(crate) fn tls(identity: &Identity) -> Self {
        let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
        context.set_certificate(&identity.certificate).unwrap();
        context.set_private_key(&identity.key).unwrap();
        Self::Tls(context.build())
    }

    fn serve(&self, stream: impl Stream + 'static, behaviour: Behaviour) {
        match self {
            Self::Plain => behave(Box::new(stream), behaviour),
            Self::Tls(context) => {
                let ssl = Ssl::new(context).unwrap();
                let mut stream = SslStream::new(ssl, stream).unwrap();
                if stream.accept().is_ok() {
                    behave(Box::new(TlsPeer(stream)), behaviour);
                }
            }
        }
    }
}

impl Stream for TcpStream {
    fn reset(&self) {
        socket2::SockRef::from(self).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

impl Peer {
    pub(crate) fn tcp(behaviour: Behaviour, over: Transport) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        if !matches!(behaviour, Behaviour::Refuse) {
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    stream.set_nodelay(true).unwrap();
                    let over = over.clone();
                    thread::spawn(move || over.serve(stream, behaviour));
                }
            });
        }
        Self { address, _directory: None }
    }

    pub(crate) fn unix(behaviour: Behaviour, over: Transport) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path: PathBuf = directory.path().join("peer.sock");
        if !matches!(behaviour, Behaviour::Refuse) {
            let listener = UnixListener::bind(&path).unwrap();
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let over = over.clone();
                    thread::spawn(move || over.serve(stream, behaviour));
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
