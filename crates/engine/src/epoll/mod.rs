//! The readiness engine: `epoll` (kqueue on macOS) through mio.
//!
//! Edge-triggered, and a socket is registered once: each request takes a write and a read, and each turn one
//! wait. Reads go into one buffer that all connections share. A connection keeps bytes of its own only while
//! a reply's line is split between reads, or while the kernel takes less than it was given.

mod sockets;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Instant;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use socket2::Socket;

use crate::discard::{DISCARD_MOST, SHORT_READS};
use crate::socket::{connect, stamped};
use crate::stamps::WallClock;
use crate::timer::Timer;
use crate::{Address, ConnId, ConnectOptions, Engine, Event, Reason};

/// Bytes requested by one read: a pipeline of 16 replies of 4 KiB and more.
const READ_MAX: usize = 128 * 1024;
/// Sockets reported by one wait.
const EVENTS_MAX: usize = 1024;

/// The engine on `epoll` or `kqueue`.
pub struct Epoll {
    poll: Poll,
    events: Events,
    /// Events of the last wait that are not yet handled.
    ready: VecDeque<Readiness>,
    /// Connections that failed immediately.
    failures: VecDeque<(ConnId, io::Error)>,
    connections: Vec<Option<Connection>>,
    /// Number of openings, which distinguishes reports about a socket from those about an earlier one with
    /// the same id.
    generation: u32,
    /// The unconsumed bytes of the current connection, followed by those of the last read.
    buffer: Vec<u8>,
    /// Connection whose bytes are in the buffer, and their range.
    current: Option<(ConnId, usize, usize)>,
    /// Time at which the bytes in the buffer arrived in the kernel.
    arrived_ns: Option<u64>,
    wall_clock: WallClock,
    timer: Timer,
    origin: Instant,
    now_ns: u64,
}

struct Connection {
    socket: Socket,
    generation: u32,
    state: State,
    /// Bytes that the kernel has not taken yet, after `outbox_sent` bytes that it has.
    outbox: Vec<u8>,
    outbox_sent: usize,
    /// Bytes received and not consumed.
    kept: Vec<u8>,
    /// Set if the socket is always watched for room to write, as for TCP, which reports room only after there
    /// was none. A unix socket reports it after each read of the other side, which would double the turns, so
    /// it is watched only while there are unsent bytes.
    always_watches_room: bool,
    /// Set if the kernel stamps received bytes.
    stamped: bool,
    /// Bytes to be dropped before anything is received.
    discard: u64,
    /// Reads that begin with few bytes, because the rest is likely to be dropped.
    short_reads: u8,
}

enum State {
    Opening,
    Open,
    /// A write failed; bytes received before that are still to be read.
    Broken(io::Error),
}

#[derive(Clone, Copy)]
struct Readiness {
    conn: ConnId,
    generation: u32,
    readable: bool,
    writable: bool,
    /// Set if the other side will send no more, or the socket has an error: read until that shows.
    closing: bool,
}

const TIMER: Token = Token(usize::MAX);

fn token(conn: ConnId, generation: u32) -> Token {
    Token((generation as usize) << 32 | conn.0 as usize)
}

fn interest(room: bool) -> Interest {
    if room { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE }
}

impl Epoll {
    /// Creates an engine whose clock begins at `origin`.
    ///
    /// # Errors
    /// Returns an error if the process has no file descriptors left.
    pub fn new(origin: Instant) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS_MAX),
            ready: VecDeque::with_capacity(2 * EVENTS_MAX),
            failures: VecDeque::new(),
            connections: Vec::new(),
            generation: 0,
            buffer: vec![0; READ_MAX],
            current: None,
            arrived_ns: None,
            wall_clock: WallClock::new(origin),
            timer,
            origin,
            now_ns: 0,
        })
    }

    #[inline]
    fn look_at_clock(&mut self) -> u64 {
        self.now_ns = self.origin.elapsed().as_nanos() as u64;
        self.now_ns
    }

    #[inline]
    fn slot(&mut self, conn: ConnId) -> Option<&mut Connection> {
        self.connections.get_mut(conn.0 as usize)?.as_mut()
    }

    fn try_open(&mut self, conn: ConnId, to: &Address, options: &ConnectOptions) -> io::Result<()> {
        let (socket, connected) = connect(to, options)?;
        let stamped = stamped(&socket, to, options);
        self.enrol(conn, socket, matches!(to, Address::Tcp(_)), connected)?;
        if let Some(connection) = self.slot(conn) {
            connection.stamped = stamped;
        }
        Ok(())
    }

    fn try_adopt(&mut self, conn: ConnId, socket: Socket) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        let always_watches_room = !socket.local_addr()?.is_unix();
        self.enrol(conn, socket, always_watches_room, true)
    }

    /// Registers a socket for events.
    fn enrol(
        &mut self,
        conn: ConnId,
        socket: Socket,
        always_watches_room: bool,
        connected: bool,
    ) -> io::Result<()> {
        self.generation = self.generation.wrapping_add(1) & (u32::MAX >> 1);
        let generation = self.generation;
        let fd = socket.as_raw_fd();
        let room = interest(always_watches_room);
        self.poll.registry().register(&mut SourceFd(&fd), token(conn, generation), room)?;
        let index = conn.0 as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.connections[index] = Some(Connection {
            socket,
            generation,
            state: State::Opening,
            outbox: Vec::new(),
            outbox_sent: 0,
            kept: Vec::new(),
            always_watches_room,
            stamped: false,
            discard: 0,
            short_reads: 0,
        });
        if connected {
            self.again(conn, generation, false);
        }
        Ok(())
    }
}

impl Engine for Epoll {
    fn name(&self) -> &'static str {
        "epoll"
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn open(&mut self, conn: ConnId, to: &Address, options: &ConnectOptions) {
        debug_assert!(
            self.slot(conn).is_none(),
            "an open connection is closed before it is opened"
        );
        if let Err(error) = self.try_open(conn, to, options) {
            self.failures.push_back((conn, error));
        }
    }

    fn adopt(&mut self, conn: ConnId, socket: Socket) {
        if let Err(error) = self.try_adopt(conn, socket) {
            self.failures.push_back((conn, error));
        }
    }

    #[inline]
    fn send(&mut self, conn: ConnId, bytes: &[u8]) -> u64 {
        let now_ns = self.look_at_clock();
        let Some(connection) = self.slot(conn) else {
            return now_ns;
        };
        if !matches!(connection.state, State::Open) {
            return now_ns;
        }
        if !connection.outbox.is_empty() {
            connection.outbox.extend_from_slice(bytes);
            return now_ns;
        }
        let unsent = self.give(conn, bytes);
        if unsent > 0
            && let Some(connection) = self.slot(conn)
        {
            connection.outbox.extend_from_slice(&bytes[bytes.len() - unsent..]);
            if !connection.always_watches_room {
                self.watch_room(conn, true);
            }
        }
        now_ns
    }

    #[inline]
    fn inbox(&self) -> &[u8] {
        self.current.map_or(&[], |(_, start, end)| &self.buffer[start..end])
    }

    #[inline]
    fn consume(&mut self, bytes: usize) {
        if let Some((_, start, end)) = &mut self.current {
            *start += bytes;
            assert!(*start <= *end, "no more is consumed than there is");
        }
    }

    #[inline]
    fn arrived_ns(&self) -> Option<u64> {
        self.arrived_ns
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) -> u64 {
        let Some(connection) = self.slot(conn).filter(|connection| !connection.stamped) else {
            return 0;
        };
        let bytes = bytes.min(DISCARD_MOST);
        (connection.discard, connection.short_reads) = (bytes, SHORT_READS);
        bytes
    }

    fn close(&mut self, conn: ConnId) {
        if self.current.is_some_and(|(current, ..)| current == conn) {
            self.current = None;
        }
        let gone = self.connections.get_mut(conn.0 as usize).and_then(Option::take);
        if let Some(gone) = gone {
            let fd = gone.socket.as_raw_fd();
            // Closing the descriptor takes it off the kernel's list anyway; mio requires it to be
            // deregistered first, and a failure leaves nothing to do.
            let _ = self.poll.registry().deregister(&mut SourceFd(&fd));
        }
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.put_away();
        let busy = !self.ready.is_empty() || !self.failures.is_empty();
        let timeout = self.timer.arm(if busy { Some(0) } else { until_ns }, self.origin)?;
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => other?,
        }
        self.look_at_clock();
        for event in &self.events {
            if event.token() == TIMER {
                self.timer.fired();
                continue;
            }
            self.ready.push_back(Readiness {
                conn: ConnId(event.token().0 as u32),
                generation: (event.token().0 >> 32) as u32,
                readable: event.is_readable(),
                writable: event.is_writable(),
                closing: event.is_read_closed() || event.is_error(),
            });
        }
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.put_away();
        if let Some((conn, error)) = self.failures.pop_front() {
            return Some(Event::Closed(conn, Reason::Failed(error)));
        }
        while let Some(ready) = self.ready.pop_front() {
            if let Some(event) = self.handle(ready) {
                return Some(event);
            }
        }
        None
    }
}
