//! Bytes to the kernel and back, and the clock.
//!
//! An [`Engine`] moves bytes over many connections for one thread. It owns every buffer that the
//! kernel may touch, and it is the only place that time comes from: with [`ScriptedEngine`] a whole run
//! replays on a clock that the test turns.
//!
//! Knows no protocol, plan or histogram. A new engine is one file here, one row in the runner's
//! `concrete`, and must pass `tests/conformance`.

mod boxed;
#[cfg(unix)]
mod discard;
#[cfg(unix)]
mod epoll;
mod scripted;
mod socket;
#[cfg(unix)]
mod stamps;
#[cfg(unix)]
mod thread_clock;
#[cfg(unix)]
mod timer;
mod tls;
#[cfg(target_os = "linux")]
mod uring;

use std::{fmt, io};

#[cfg(unix)]
pub use epoll::Epoll;
pub use scripted::{Script, ScriptedEngine, ScriptedEvent};
pub use socket::{Address, ConnectOptions, unix_address};
pub use socket2::Socket;
#[cfg(unix)]
pub use stamps::KernelStamps;
#[cfg(unix)]
pub use thread_clock::{run_delay_ns, thread_cpu, thread_ticks};
pub use tls::{PemFile, Tls, TlsContext, TlsError, TlsHandshake, TlsSettings, TlsStream, Verify};
#[cfg(target_os = "linux")]
pub use uring::Uring;

/// A connection of one engine. The caller chooses small numbers without gaps, since they index the engine's
/// tables. May be reopened after it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u32);

/// Moves bytes over connections, for the thread that owns it.
///
/// In each turn a worker calls [`wait`](Self::wait) once, then [`next`](Self::next) until it yields nothing.
/// The [`inbox`](Self::inbox) holds a connection's bytes from its event to the next call of `next`; bytes not
/// [`consume`](Self::consume)d by then come again, before those that arrive later.
pub trait Engine {
    /// The engine's name, for reports.
    fn name(&self) -> &'static str;

    /// The engine's latest clock reading, in nanoseconds since the instant that all engines of a run share.
    /// Costs nothing: it was taken when the current event's bytes were read, when the last send was made, or
    /// when the last wait ended.
    fn now_ns(&self) -> u64;

    /// Begins to connect. Later yields either [`Event::Opened`] or [`Event::Closed`].
    fn open(&mut self, conn: ConnId, to: &Address, options: &ConnectOptions);

    /// Takes over an open connection, such as one that a listener accepted. Later yields either
    /// [`Event::Opened`] or [`Event::Closed`], like [`open`](Self::open).
    fn adopt(&mut self, conn: ConnId, socket: Socket);

    /// Sends bytes on an open connection, after all bytes sent before. Returns the time just before they were
    /// handed to the kernel, or were queued to be handed over together within the turn. The engine keeps
    /// bytes that the kernel does not take at once, and sends them later. A failure arrives as
    /// [`Event::Closed`]. Does nothing on a connection that is not open.
    fn send(&mut self, conn: ConnId, bytes: &[u8]) -> u64;

    /// Sends like [`send`](Self::send) the bytes of a vector whose content the caller no longer needs: an engine may
    /// keep it and leave another in its place.
    fn send_vec(&mut self, conn: ConnId, bytes: &mut Vec<u8>) -> u64 {
        self.send(conn, bytes)
    }

    /// Returns the bytes that the connection of the current [`Event::Received`] has received and not consumed; empty at
    /// any other time.
    fn inbox(&self) -> &[u8];

    /// Marks the first `bytes` of the inbox as done with.
    ///
    /// # Panics
    /// When the inbox is shorter than that.
    fn consume(&mut self, bytes: usize);

    /// Drops the next `bytes` of the current event's connection unseen as they arrive, after an inbox that
    /// was consumed whole. Returns the number that it will drop: `bytes`, fewer, or 0 if it cannot. Later
    /// bytes are received as usual, so a caller that waits for more leaves some.
    fn discard(&mut self, conn: ConnId, bytes: u64) -> u64 {
        let _ = (conn, bytes);
        0
    }

    /// Closes a connection and discards its unsent bytes. No event of it is yielded after that.
    fn close(&mut self, conn: ConnId);

    /// Hands everything sent so far to the kernel and waits until something has happened or `until_ns` has
    /// come; without `until_ns`, for ever. May return early with nothing.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to wait, which no caller can mend.
    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()>;

    /// The next event, or `None` when it is time to wait again.
    fn next(&mut self) -> Option<Event>;

    /// Returns the time on the engine's clock at which the last bytes of the current [`Event::Received`]
    /// arrived in this machine's kernel. `None` if the kernel does not say: the connection was opened without
    /// [`ConnectOptions::kernel_stamps`], or is not TCP.
    fn arrived_ns(&self) -> Option<u64> {
        None
    }

    /// Boxes the engine, for code that is compiled once for all engines.
    fn boxed(self) -> Box<dyn Engine>
    where
        Self: Sized + 'static,
    {
        Box::new(self)
    }

    /// The TLS handshake of an open connection; `None` without TLS.
    fn handshake(&self, conn: ConnId) -> Option<TlsHandshake> {
        let _ = conn;
        None
    }
}

/// An event of a connection.
#[derive(Debug)]
pub enum Event {
    /// The connection is open and can send.
    Opened(ConnId),
    /// Bytes are in the inbox.
    Received(ConnId),
    /// The connection ended without the caller closing it. All bytes that arrived before have been reported.
    Closed(ConnId, Reason),
}

/// Reason why a connection ended without the caller closing it.
#[derive(Debug)]
pub enum Reason {
    /// The other side closed it in an orderly way.
    ByPeer,
    /// The connection could not be opened, or broke.
    Failed(io::Error),
}

/// Text of an error for a person, without the ` (os error N)` that Rust appends.
pub fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByPeer => f.write_str("the server closed the connection"),
            Self::Failed(error) => f.write_str(&error_text(error)),
        }
    }
}
