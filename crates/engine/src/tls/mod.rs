//! TLS: an engine around an engine.
//!
//! [`Tls`] speaks TLS over any engine. OpenSSL never sees a socket: bytes that the inner engine received are
//! put where OpenSSL reads, and bytes that it writes go to the inner engine. Readiness and completion,
//! partial reads and full sockets remain the inner engine's concern.
//!
//! A connection counts as opened when its handshake has ended. Stamps are the inner engine's: a request's
//! time begins when its ciphertext is handed over and ends when the ciphertext of its reply was read, so it
//! excludes the client's own encryption and decryption.
//!
//! [`TlsContext`] in `context` decides which certificates are trusted; `cause` words failures.

mod blocking;
mod cause;
mod context;
mod credentials;
mod error;
mod pem;
mod pipe;
mod rejected;
mod resume;
mod roots;
mod settings;

use std::collections::VecDeque;
use std::io;

use openssl::ssl::{ErrorCode, ShutdownState, Ssl, SslStream};

use crate::{Address, ConnId, ConnectOptions, Engine, Event, Reason, Socket};
pub use blocking::TlsStream;
pub use context::TlsContext;
pub use error::TlsError;
pub use pem::PemFile;
use pipe::Pipe;
use resume::Sessions;
pub use settings::{TlsSettings, Verify};

/// Maximum number of plaintext bytes of one record (RFC 8446, section 5.1).
const RECORD_MAX: usize = 1 << 14;
/// Room for the plaintext of one read of the inner engine.
const PLAIN_PREPARED: usize = 160 * 1024;

/// Result of a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsHandshake {
    /// Time from the opening of the connection below to the end of the handshake.
    pub took_ns: u64,
    /// Set if an earlier session was resumed (`--tls-resume`).
    pub resumed: bool,
    /// The version, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher, by OpenSSL's name.
    pub cipher: &'static str,
}

/// An engine that encrypts what its inner engine carries.
///
/// The inner engine is called through a pointer, so that workers are compiled once for all engines under TLS.
pub struct Tls {
    inner: Box<dyn Engine>,
    context: TlsContext,
    connections: Vec<Slot>,
    sessions: Option<Sessions>,
    /// Connections that may have decrypted bytes although nothing new arrives, with their generation.
    again: VecDeque<(ConnId, u32)>,
    /// Connections that ended, or could not begin, without an event of the inner engine.
    ended: VecDeque<(ConnId, u32, Reason)>,
    /// The unconsumed bytes of the current connection, followed by the last decrypted ones.
    plain: Vec<u8>,
    /// Connection whose bytes are in `plain`, and their range.
    current: Option<(ConnId, usize, usize)>,
    /// Time at which their ciphertext arrived in the kernel.
    arrived_ns: Option<u64>,
}

#[derive(Default)]
struct Slot {
    stream: Option<SslStream<Pipe>>,
    /// Number of openings of this id.
    generation: u32,
    /// Time at which the connection below was open.
    began_ns: u64,
    /// Result of the handshake, once it has ended.
    handshake: Option<TlsHandshake>,
    /// Bytes received and not consumed.
    kept: Vec<u8>,
}

impl Tls {
    /// TLS over this engine.
    pub fn new(inner: Box<dyn Engine>, context: TlsContext) -> Self {
        let sessions = context.resumes().then(|| Sessions::new(&context));
        Self {
            inner,
            context,
            connections: Vec::new(),
            sessions,
            again: VecDeque::new(),
            ended: VecDeque::new(),
            plain: vec![0; PLAIN_PREPARED],
            current: None,
            arrived_ns: None,
        }
    }

    /// Prepares the TLS side of a connection to this address, which the inner engine opens next.
    fn begin(&mut self, conn: ConnId, to: Option<&Address>) -> bool {
        let index = conn.0 as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, Slot::default);
        }
        let slot = &mut self.connections[index];
        slot.generation = slot.generation.wrapping_add(1);
        slot.handshake = None;
        slot.kept.clear();
        let prepared = self.context.ssl(to).and_then(|mut ssl: Ssl| {
            if let Some(sessions) = &self.sessions {
                sessions.offer(conn, &mut ssl)?;
            }
            ssl.set_connect_state();
            SslStream::new(ssl, Pipe::default())
        });
        match prepared {
            Ok(stream) => slot.stream = Some(stream),
            Err(error) => {
                let reason = Reason::Failed(io::Error::other(error::setup(&error)));
                self.ended.push_back((conn, slot.generation, reason));
            }
        }
        self.connections[index].stream.is_some()
    }

    fn slot(&mut self, conn: ConnId) -> Option<&mut Slot> {
        self.connections.get_mut(conn.0 as usize).filter(|slot| slot.stream.is_some())
    }

    /// Hands OpenSSL's output to the inner engine.
    fn flush(&mut self, conn: ConnId) -> u64 {
        let slot = self.connections.get_mut(conn.0 as usize);
        let Some(stream) = slot.and_then(|slot| slot.stream.as_mut()) else {
            return self.inner.now_ns();
        };
        let outgoing = &mut stream.get_mut().outgoing;
        if outgoing.is_empty() {
            return self.inner.now_ns();
        }
        let sent_ns = self.inner.send(conn, outgoing);
        outgoing.clear();
        sent_ns
    }

    fn lose(&mut self, conn: ConnId, reason: Reason) -> Option<Event> {
        // The alert that says why; what of it does not leave at once is lost with the connection.
        self.flush(conn);
        self.close(conn);
        Some(Event::Closed(conn, reason))
    }

    fn handle(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Opened(conn) => {
                let now_ns = self.inner.now_ns();
                self.slot(conn)?.began_ns = now_ns;
                self.shake_hands(conn)
            }
            Event::Received(conn) => {
                self.arrived_ns = self.inner.arrived_ns();
                let inbox = self.inner.inbox();
                let len = inbox.len();
                if let Some(slot) = self.connections.get_mut(conn.0 as usize)
                    && let Some(stream) = &mut slot.stream
                {
                    stream.get_mut().receive(inbox);
                }
                self.inner.consume(len);
                self.proceed(conn)
            }
            Event::Closed(conn, reason) => self.cut_off(conn, reason),
        }
    }

    /// Continues with the bytes that have arrived.
    #[inline]
    fn proceed(&mut self, conn: ConnId) -> Option<Event> {
        match self.slot(conn)?.handshake {
            Some(_) => self.decrypt(conn),
            None => self.shake_hands(conn),
        }
    }

    fn shake_hands(&mut self, conn: ConnId) -> Option<Event> {
        let stream = self.slot(conn)?.stream.as_mut()?;
        let outcome = stream.do_handshake();
        match outcome {
            Ok(()) => {
                let ended_ns = self.flush(conn);
                self.shook_hands(conn, ended_ns)
            }
            Err(error) if error.code() == ErrorCode::WANT_READ => {
                self.flush(conn);
                None
            }
            Err(error) => {
                let words = {
                    let stream = self.connections[conn.0 as usize].stream.as_ref()?;
                    cause::failed(&self.context, stream.ssl(), &error, stream.get_ref().spoke_tls())
                };
                self.lose(conn, Reason::Failed(io::Error::other(words)))
            }
        }
    }

    fn shook_hands(&mut self, conn: ConnId, ended_ns: u64) -> Option<Event> {
        let slot = self.connections.get_mut(conn.0 as usize)?;
        let ssl = slot.stream.as_ref()?.ssl();
        slot.handshake = Some(TlsHandshake {
            took_ns: ended_ns.saturating_sub(slot.began_ns),
            resumed: ssl.session_reused(),
            version: ssl.version_str(),
            cipher: ssl.current_cipher().map_or("none", |cipher| cipher.name()),
        });
        // Data may have come with the last flight.
        self.again.push_back((conn, slot.generation));
        Some(Event::Opened(conn))
    }

    /// Decrypts the bytes that are there.
    fn decrypt(&mut self, conn: ConnId) -> Option<Event> {
        let slot = self.connections.get_mut(conn.0 as usize)?;
        let stream = slot.stream.as_mut()?;
        let kept = slot.kept.len();
        let mut end = kept;
        let stopped = loop {
            if self.plain.len() < end + RECORD_MAX {
                self.plain.resize(2 * (end + RECORD_MAX), 0);
            }
            match stream.ssl_read(&mut self.plain[end..]) {
                Ok(read) => end += read,
                Err(error) => break error,
            }
        };
        let words = (stopped.code() != ErrorCode::WANT_READ
            && stopped.code() != ErrorCode::ZERO_RETURN)
            .then(|| {
                let spoke_tls = stream.get_ref().spoke_tls();
                cause::failed(&self.context, stream.ssl(), &stopped, spoke_tls)
            });
        let generation = slot.generation;
        let end_of_stream = match (stopped.code(), words) {
            (_, Some(words)) => Some(Reason::Failed(io::Error::other(words))),
            (ErrorCode::ZERO_RETURN, _) => Some(Reason::ByPeer),
            _ => None,
        };
        if end == kept {
            let reason = match end_of_stream {
                Some(reason) => reason,
                None => {
                    self.flush(conn);
                    return None;
                }
            };
            return self.lose(conn, reason);
        }
        self.plain[..kept].copy_from_slice(&slot.kept);
        slot.kept.clear();
        if let Some(reason) = end_of_stream {
            self.ended.push_back((conn, generation, reason));
        }
        // What the protocol has to say for itself, such as a new key.
        self.flush(conn);
        self.current = Some((conn, 0, end));
        Some(Event::Received(conn))
    }

    /// Handles the end of the connection below. Without a TLS close before it, anybody on the way may have
    /// cut it (RFC 8446, section 6.1).
    fn cut_off(&mut self, conn: ConnId, reason: Reason) -> Option<Event> {
        let slot = self.connections.get_mut(conn.0 as usize)?;
        let shaking = slot.handshake.is_none();
        let reason = match (reason, slot.stream.as_ref()) {
            (reason @ Reason::Failed(_), _) if !shaking => reason,
            (Reason::ByPeer, Some(_)) if !shaking => {
                Reason::Failed(io::Error::other(cause::TRUNCATED))
            }
            (Reason::ByPeer, Some(stream)) => {
                let words = cause::closed_early(stream.get_ref().spoke_tls());
                Reason::Failed(io::Error::other(words))
            }
            (reason, _) => reason,
        };
        self.forget(conn);
        Some(Event::Closed(conn, reason))
    }

    /// Ends the TLS side of a connection.
    fn forget(&mut self, conn: ConnId) {
        if self.current.is_some_and(|(current, ..)| current == conn) {
            self.current = None;
        }
        let Some(slot) = self.connections.get_mut(conn.0 as usize) else {
            return;
        };
        slot.generation = slot.generation.wrapping_add(1);
        slot.kept.clear();
        let secure = slot.handshake.take().is_some();
        if let Some(mut stream) = slot.stream.take()
            && secure
            && let Some(sessions) = &mut self.sessions
        {
            // OpenSSL takes a session for broken if its connection goes without a goodbye.
            stream.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
            sessions.keep(conn, stream.ssl());
        }
    }

    /// Keeps unconsumed bytes with their connection.
    #[inline]
    fn put_away(&mut self) {
        let Some((conn, start, end)) = self.current.take() else {
            return;
        };
        if start < end
            && let Some(slot) = self.connections.get_mut(conn.0 as usize)
        {
            slot.kept.extend_from_slice(&self.plain[start..end]);
        }
    }

    fn is_current(&self, conn: ConnId, generation: u32) -> bool {
        self.connections.get(conn.0 as usize).is_some_and(|slot| slot.generation == generation)
    }
}

impl Engine for Tls {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    fn open(&mut self, conn: ConnId, to: &Address, options: &ConnectOptions) {
        if self.begin(conn, Some(to)) {
            self.inner.open(conn, to, options);
        }
    }

    fn adopt(&mut self, conn: ConnId, socket: Socket) {
        if self.begin(conn, None) {
            self.inner.adopt(conn, socket);
        }
    }

    #[inline]
    fn send(&mut self, conn: ConnId, bytes: &[u8]) -> u64 {
        let now_ns = self.inner.now_ns();
        let Some(slot) = self.connections.get_mut(conn.0 as usize) else {
            return now_ns;
        };
        let (Some(_), Some(stream)) = (&slot.handshake, &mut slot.stream) else {
            return now_ns;
        };
        let mut left = bytes;
        while !left.is_empty() {
            // Memory takes everything, so only a connection that is beyond help refuses.
            match stream.ssl_write(left) {
                Ok(written) => left = &left[written..],
                Err(error) => {
                    let spoke_tls = stream.get_ref().spoke_tls();
                    let words = cause::failed(&self.context, stream.ssl(), &error, spoke_tls);
                    let reason = Reason::Failed(io::Error::other(words));
                    self.ended.push_back((conn, slot.generation, reason));
                    break;
                }
            }
        }
        self.flush(conn)
    }

    #[inline]
    fn arrived_ns(&self) -> Option<u64> {
        self.arrived_ns
    }

    #[inline]
    fn inbox(&self) -> &[u8] {
        self.current.map_or(&[], |(_, start, end)| &self.plain[start..end])
    }

    #[inline]
    fn consume(&mut self, bytes: usize) {
        if let Some((_, start, end)) = &mut self.current {
            *start += bytes;
            assert!(*start <= *end, "no more is consumed than there is");
        }
    }

    fn close(&mut self, conn: ConnId) {
        self.forget(conn);
        self.inner.close(conn);
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.put_away();
        let busy = !self.again.is_empty() || !self.ended.is_empty();
        self.inner.wait(if busy { Some(0) } else { until_ns })
    }

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.put_away();
        self.arrived_ns = None;
        while let Some((conn, generation, reason)) = self.ended.pop_front() {
            if self.is_current(conn, generation) {
                return self.lose(conn, reason);
            }
        }
        while let Some((conn, generation)) = self.again.pop_front() {
            if self.is_current(conn, generation)
                && let Some(event) = self.proceed(conn)
            {
                return Some(event);
            }
        }
        while let Some(event) = self.inner.next() {
            if let Some(event) = self.handle(event) {
                return Some(event);
            }
        }
        None
    }

    fn handshake(&self, conn: ConnId) -> Option<TlsHandshake> {
        self.connections.get(conn.0 as usize)?.handshake
    }
}
