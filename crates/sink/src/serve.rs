//! The loop of the sink: accept, frame, answer.
//!
//! One thread. Listeners are polled every few milliseconds, which costs the requests nothing; the replies to
//! one read leave in one send. Counts its work and the CPU time of its thread while it was asked, so that a
//! test of a client can tell which of the two was the limit.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{ConnId, Engine, Event, thread_cpu};

use crate::Listener;
use crate::listener::turn_away;
use crate::speaks::ReplyProtocol;

/// Longest time between checks of the listeners. Checks are more frequent for a while after a connection, as
/// clients seldom come alone.
const LOOK_EVERY_NS: u64 = 5_000_000;
const LOOK_OFTEN_NS: u64 = 100_000;
const OFTEN_FOR_NS: u64 = 10_000_000;
/// Time that a client has to read the error for a malformed request.
const FAREWELL_NS: u64 = 10_000_000;
/// Replies gathered for one send before they are sent early.
const GATHERED_MAX: usize = 1 << 20;

/// The work that a sink did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SinkTotals {
    /// Connections that were accepted.
    pub connections: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Time from the first request to the last, to within a few milliseconds.
    pub span_ns: u64,
    /// CPU time of the thread in that span.
    pub cpu_ns: u64,
}

impl SinkTotals {
    /// Share of a core that the sink used while it was asked, 0 to 1.
    pub fn busy(&self) -> f64 {
        if self.span_ns == 0 { 0.0 } else { self.cpu_ns as f64 / self.span_ns as f64 }
    }
}

/// The connections of a thread, and the replies to send on them.
#[derive(Debug)]
pub struct Sink<'s, E, S: ReplyProtocol> {
    engine: E,
    listeners: &'s [Listener],
    replies: &'s S,
    connections: Vec<Connection<S::Framer>>,
    /// Numbers of closed connections.
    free: Vec<ConnId>,
    connections_max: u32,
    /// Connections that sent a malformed request, and the earliest time to close them, after the error was
    /// sent.
    faulty: VecDeque<(ConnId, u64)>,
    /// Replies to the last read.
    out: Vec<u8>,
    served: SinkTotals,
    /// Clock and CPU time when the first request came.
    began: Option<(Instant, Duration)>,
    /// Requests answered at the last look.
    seen: u64,
}

#[derive(Debug, Default)]
struct Connection<F> {
    framer: F,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    Open,
    /// The connection was sent an error for a malformed request; it is no longer read.
    Faulty,
}

impl<'s, E: Engine, S: ReplyProtocol> Sink<'s, E, S> {
    /// Creates a sink on these listeners with up to `connections_max` connections at a time, which `engine`
    /// must support. It begins with [`serve`](Self::serve).
    pub fn new(engine: E, listeners: &'s [Listener], connections_max: u32, replies: &'s S) -> Self {
        Self {
            engine,
            listeners,
            replies,
            connections: Vec::new(),
            free: Vec::new(),
            connections_max,
            faulty: VecDeque::new(),
            out: Vec::new(),
            served: SinkTotals::default(),
            began: None,
            seen: 0,
        }
    }

    /// Serves until `stop` is set, which it notices within a few milliseconds.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to wait.
    pub fn serve(mut self, stop: &AtomicBool) -> io::Result<SinkTotals> {
        let (mut look_ns, mut often_until_ns) = (0, 0);
        while !stop.load(Ordering::Relaxed) {
            let now_ns = self.engine.now_ns();
            if now_ns >= look_ns {
                if self.accept() {
                    often_until_ns = now_ns + OFTEN_FOR_NS;
                }
                let often = now_ns < often_until_ns;
                look_ns = now_ns + if often { LOOK_OFTEN_NS } else { LOOK_EVERY_NS };
                self.take_stock();
            }
            self.engine.wait(Some(look_ns))?;
            // After the wait, which sends the errors that they get.
            self.close_faulty(self.engine.now_ns());
            while let Some(event) = self.engine.next() {
                match event {
                    Event::Received(conn) => self.answer(conn),
                    Event::Opened(_) => {}
                    Event::Closed(conn, _) => self.forget(conn),
                }
            }
        }
        self.take_stock();
        Ok(self.served)
    }

    /// Accepts all waiting connections; returns whether there were any.
    fn accept(&mut self) -> bool {
        let mut came = false;
        for listener in self.listeners {
            // Without descriptors to spare, who waits has to wait on.
            while let Ok(Some(socket)) = listener.accept() {
                came = true;
                let Some(conn) = self.number() else {
                    turn_away(socket, S::FULL);
                    continue;
                };
                self.served.connections += 1;
                self.connections[conn.0 as usize] =
                    Connection { state: State::Open, ..Connection::default() };
                self.engine.adopt(conn, socket);
            }
        }
        came
    }

    /// A number for one more connection, if there is room.
    fn number(&mut self) -> Option<ConnId> {
        self.free.pop().or_else(|| {
            let next = self.connections.len() as u32;
            (next < self.connections_max).then(|| {
                self.connections.push(Connection::default());
                ConnId(next)
            })
        })
    }

    #[inline]
    fn answer(&mut self, conn: ConnId) {
        if self.began.is_none() {
            // The wall clock is read outside the CPU clock, here and at the end, so that the busy share never
            // exceeds 1.
            self.began = Some((Instant::now(), thread_cpu()));
        }
        let connection = &mut self.connections[conn.0 as usize];
        let mut at = 0;
        while connection.state == State::Open {
            let input = &self.engine.inbox()[at..];
            match self.replies.take(&mut connection.framer, input, &mut self.out) {
                Ok((consumed, whole)) => {
                    at += consumed;
                    if !whole {
                        break;
                    }
                    self.served.requests += 1;
                }
                Err(farewell) => {
                    self.out.extend_from_slice(farewell.as_bytes());
                    connection.state = State::Faulty;
                    self.faulty.push_back((conn, self.engine.now_ns() + FAREWELL_NS));
                }
            }
            if self.out.len() >= GATHERED_MAX {
                self.engine.send(conn, &self.out);
                self.out.clear();
            }
        }
        if connection.state == State::Faulty {
            at = self.engine.inbox().len();
        }
        if !self.out.is_empty() {
            self.engine.send(conn, &self.out);
            self.out.clear();
        }
        self.engine.consume(at);
    }

    fn close_faulty(&mut self, now_ns: u64) {
        while let Some(&(conn, due_ns)) = self.faulty.front()
            && due_ns <= now_ns
        {
            self.faulty.pop_front();
            // Otherwise it closed by itself, and another connection may have its number.
            if self.connections[conn.0 as usize].state == State::Faulty {
                self.engine.close(conn);
                self.forget(conn);
            }
        }
    }

    fn forget(&mut self, conn: ConnId) {
        self.connections[conn.0 as usize] = Connection::default();
        self.free.push(conn);
    }

    /// Adds the elapsed time, if requests came since the last check.
    fn take_stock(&mut self) {
        let Some((began, began_cpu)) = self.began else { return };
        if self.served.requests > self.seen {
            self.seen = self.served.requests;
            self.served.cpu_ns = thread_cpu().saturating_sub(began_cpu).as_nanos() as u64;
            self.served.span_ns = began.elapsed().as_nanos() as u64;
        }
    }
}
