//! The completion engine: `io_uring`, with one system call a turn for all connections.
//!
//! Each connection has one receive that stays armed and fills buffers of a shared pool. What is
//! sent in a turn is handed over together with the wait for what comes next. Sends complete
//! silently: they carry `MSG_DONTWAIT`, so when the call that submits them returns, the kernel has
//! either taken all of the bytes and posts no completion, or reports how many it took, and the rest
//! is sent by an operation that does wait.
//!
//! Memory lent to the kernel is safe by construction. A buffer of the pool is ours between the completion that
//! names it and giving it back. Bytes to send are moved to `lent`, which is not touched until every completion
//! of the turn that submitted it was seen. A connection that is closed leaves behind what an operation still
//! holds, in `graves`, until that operation has ended. And when the engine goes, it waits for its operations,
//! or leaks what they hold. <https://kernel.dk/io_uring.pdf>,
//! <https://man7.org/linux/man-pages/man7/io_uring.7.html>

mod connection;
mod discarding;
mod lending;
mod operation;
mod pool;
mod probe;
mod ring;

use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::socket::{connect, stamped};
use crate::stamps::WallClock;
use crate::{Address, ConnId, ConnectOptions, Engine, Event, Reason};
use connection::{CurrentEvent, Slot};
use operation::{Kind, Operation};
use pool::Pool;
use ring::{Completion, Ring};

/// Connections with bytes to send after which a turn is submitted early, so that the stamp of a send is not
/// older than the time to prepare this many.
const STAGED_MAX: usize = 32;
/// Minimum number of bytes sent by a separate call, which costs less than copying them for the ring.
const DIRECT_LEAST: usize = 64 * 1024;
/// Longest wait for operations in flight when the engine ends.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

/// The engine on `io_uring`.
pub struct Uring {
    ring: Ring,
    /// Buffers to receive into; `None` only once they had to be leaked.
    pool: Option<Pool>,
    slots: Vec<Slot>,
    /// Connections with bytes to submit.
    staged: Vec<ConnId>,
    /// Bytes of closed connections that an operation still holds.
    graves: Vec<(Operation, Vec<u8>)>,
    /// Connections that opened or failed without a completion.
    outcomes: VecDeque<(ConnId, io::Result<()>)>,
    current: Option<CurrentEvent>,
    /// Time at which the current event's bytes arrived in the kernel.
    arrived_ns: Option<u64>,
    wall_clock: WallClock,
    generation: u32,
    /// Turns whose completions were all seen.
    turn: u64,
    /// Operations that will complete and have not.
    outstanding: u32,
    origin: Instant,
    now_ns: u64,
}

impl Uring {
    /// Creates an engine for up to `connections` whose clock begins at `origin`. Must be made on the thread
    /// that uses it.
    ///
    /// # Errors
    /// Returns an error if the kernel has no io_uring, lacks a feature of it, or does not allow it here.
    pub fn new(origin: Instant, connections: u32) -> io::Result<Self> {
        let ring = Ring::new(connections)?;
        // Two buffers for each connection, so that none waits for another's to come back; more
        // than the kernel can fill in one turn are of no use.
        let buffers = (2 * connections).clamp(64, 4096).next_power_of_two() as u16;
        let pool = Pool::new(&ring.submitter(), buffers)?;
        let mut slots = Vec::new();
        slots.resize_with(connections as usize, Slot::default);
        Ok(Self {
            ring,
            pool: Some(pool),
            slots,
            staged: Vec::with_capacity(STAGED_MAX),
            graves: Vec::new(),
            outcomes: VecDeque::new(),
            current: None,
            arrived_ns: None,
            wall_clock: WallClock::new(origin),
            generation: 0,
            turn: 1,
            outstanding: 0,
            origin,
            now_ns: 0,
        })
    }

    /// Tests whether io_uring works here with every feature that this engine uses.
    ///
    /// # Errors
    /// Returns the missing feature.
    pub fn probe() -> io::Result<()> {
        probe::probe()
    }

    #[inline]
    fn look_at_clock(&mut self) -> u64 {
        self.now_ns = self.origin.elapsed().as_nanos() as u64;
        self.now_ns
    }

    #[inline]
    fn slot(&mut self, conn: ConnId) -> &mut Slot {
        &mut self.slots[conn.0 as usize]
    }

    fn operation(&self, kind: Kind, conn: ConnId) -> Operation {
        Operation { kind, conn, generation: self.slots[conn.0 as usize].generation }
    }

    fn try_open(&mut self, conn: ConnId, to: &Address, options: &ConnectOptions) -> io::Result<()> {
        let (socket, connected) = connect(to, options)?;
        let stamped = stamped(&socket, to, options);
        self.enrol(conn, socket, connected)?;
        self.slot(conn).stamped = stamped;
        Ok(())
    }

    /// Registers a socket with the ring and asks for an event when it is connected.
    fn enrol(&mut self, conn: ConnId, socket: Socket, connected: bool) -> io::Result<()> {
        self.ring.set_file(conn.0, socket.as_raw_fd())?;
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        *self.slot(conn) = Slot { socket: Some(socket), generation, ..Slot::default() };
        if connected {
            self.outcomes.push_back((conn, Ok(())));
        } else {
            self.outstanding += 1;
            let operation = self.operation(Kind::Connect, conn);
            self.ring.await_connected(operation)?;
        }
        Ok(())
    }

    /// Handles the end of the wait for a connection, with the poll events that it saw.
    fn connected(&mut self, conn: ConnId, result: io::Result<usize>) -> Event {
        // Only a socket with an error needs to be asked for it.
        let error = match result {
            Ok(events) if events & ring::POLL_FAULTS == 0 => None,
            Ok(_) => {
                let socket = self.slot(conn).socket.as_ref();
                socket.and_then(|s| s.take_error().unwrap_or_else(Some))
            }
            Err(error) => Some(error),
        };
        match error {
            Some(error) => self.lose(conn, Reason::Failed(error)),
            None => self.opened(conn),
        }
    }

    fn opened(&mut self, conn: ConnId) -> Event {
        let slot = self.slot(conn);
        slot.open = true;
        match self.arm(conn) {
            Ok(()) => Event::Opened(conn),
            Err(error) => self.lose(conn, Reason::Failed(error)),
        }
    }

    /// Begins to receive.
    fn arm(&mut self, conn: ConnId) -> io::Result<()> {
        let operation = self.operation(self.slots[conn.0 as usize].receives_by(), conn);
        self.outstanding += 1;
        let discard = self.slots[conn.0 as usize].discard;
        match operation.kind {
            Kind::Discard => self.ring.discard(operation, discard as usize),
            _ => self.ring.receive(operation),
        }
    }

    /// Receives again after a receive that ended. Yields the end of the connection if that is impossible.
    fn receive_on(&mut self, conn: ConnId) -> Option<Event> {
        self.arm(conn).err().map(|error| self.lose(conn, Reason::Failed(error)))
    }

    fn lose(&mut self, conn: ConnId, reason: Reason) -> Event {
        self.close(conn);
        Event::Closed(conn, reason)
    }

    /// Cancels every operation.
    fn cancel_all(&mut self) -> io::Result<()> {
        for number in 0..self.slots.len() {
            let slot @ Slot { socket, open, waiting, .. } = &self.slots[number];
            if socket.is_none() {
                continue;
            }
            let (conn, waiting) = (ConnId(number as u32), *waiting);
            let (receive, connect) = (slot.receives_by(), Kind::Connect);
            // One that is not open waits for that, or broke and still receives.
            let kinds = [(receive, true), (connect, !*open), (Kind::SendRest, waiting)];
            for (kind, _) in kinds.into_iter().filter(|(_, there)| *there) {
                self.ring.cancel(self.operation(kind, conn))?;
            }
        }
        for (operation, _) in &self.graves {
            // Their sockets were shut down, which ends them as well.
            self.ring.cancel(*operation)?;
        }
        self.ring.submit()
    }

    fn completed(&mut self, completion: Completion) -> Option<Event> {
        let Completion { operation, result, more, buffer } = completion;
        if operation.kind.completes() && !more {
            self.outstanding -= 1;
        }
        let conn = operation.conn;
        let current = self.slots[conn.0 as usize].generation == operation.generation
            && self.slots[conn.0 as usize].socket.is_some();
        if !current {
            self.graves.retain(|(holder, _)| *holder != operation);
            self.give_back(buffer);
            return None;
        }
        match operation.kind {
            Kind::Connect => Some(self.connected(conn, result)),
            Kind::Send | Kind::SendRest => {
                self.sent(conn, operation.kind, result);
                None
            }
            Kind::Receive | Kind::ReceiveStamped | Kind::ReceiveOnce => {
                self.received(conn, result, more, buffer)
            }
            Kind::Discard => self.discard_ended(conn, result),
            // What it was to end had ended.
            Kind::Cancel => None,
        }
    }
}

impl Engine for Uring {
    fn name(&self) -> &'static str {
        "uring"
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn open(&mut self, conn: ConnId, to: &Address, options: &ConnectOptions) {
        if let Err(error) = self.try_open(conn, to, options) {
            self.outcomes.push_back((conn, Err(error)));
        }
    }

    fn adopt(&mut self, conn: ConnId, socket: Socket) {
        if let Err(error) = self.enrol(conn, socket, true) {
            self.outcomes.push_back((conn, Err(error)));
        }
    }

    #[inline]
    fn send(&mut self, conn: ConnId, bytes: &[u8]) -> u64 {
        let now_ns = self.look_at_clock();
        let turn = self.turn;
        let slot = &mut self.slots[conn.0 as usize];
        if !slot.open {
            return now_ns;
        }
        let bytes = if bytes.len() < DIRECT_LEAST { bytes } else { slot.send_now(bytes, turn) };
        if bytes.is_empty() {
            return now_ns;
        }
        slot.outbox.extend_from_slice(bytes);
        self.stage(conn);
        now_ns
    }

    fn send_vec(&mut self, conn: ConnId, bytes: &mut Vec<u8>) -> u64 {
        let slot = &mut self.slots[conn.0 as usize];
        if !slot.open || !slot.outbox.is_empty() || bytes.is_empty() || bytes.len() >= DIRECT_LEAST
        {
            return self.send(conn, bytes);
        }
        std::mem::swap(&mut slot.outbox, bytes);
        let now_ns = self.look_at_clock();
        self.stage(conn);
        now_ns
    }

    #[inline]
    fn inbox(&self) -> &[u8] {
        self.bytes_of_current()
    }

    #[inline]
    fn consume(&mut self, bytes: usize) {
        if let Some(CurrentEvent { start, end, .. }) = &mut self.current {
            *start += bytes;
            assert!(*start <= *end, "no more is consumed than there is");
        }
    }

    #[inline]
    fn arrived_ns(&self) -> Option<u64> {
        self.arrived_ns
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) -> u64 {
        self.begin_discard(conn, bytes).unwrap_or_else(|error| {
            self.outcomes.push_back((conn, Err(error)));
            0
        })
    }

    fn close(&mut self, conn: ConnId) {
        if let Some(current) = self.current.as_mut().filter(|current| current.conn == conn) {
            current.ended = false;
            self.put_away();
        }
        let Some(socket) = self.slot(conn).socket.take() else {
            return;
        };
        // What is prepared must be handed over before its bytes may go.
        let submitted = self.ring.submit();
        // Ends the receive and whatever waits for room; the operations hold the socket until then.
        let _ = socket.shutdown(Shutdown::Both);
        let _ = self.ring.set_file(conn.0, -1);
        let rest = self.operation(Kind::SendRest, conn);
        if !self.slot(conn).open {
            // A wait for its opening may not notice that.
            let _ = self.ring.cancel(self.operation(Kind::Connect, conn));
        }
        let slot = std::mem::take(self.slot(conn));
        if slot.waiting {
            self.graves.push((rest, slot.lent));
        } else if submitted.is_err() {
            std::mem::forget(slot.lent);
        }
        self.outcomes.retain(|(output, _)| *output != conn);
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.put_away();
        if !self.ring.has_completions() {
            self.turn += 1;
        }
        self.hand_over()?;
        let busy = !self.outcomes.is_empty() || self.ring.has_completions();
        let now_ns = self.origin.elapsed().as_nanos() as u64;
        let left = match until_ns {
            _ if busy => Some(0),
            Some(until_ns) => Some(until_ns.saturating_sub(now_ns)),
            None => None,
        };
        self.ring.submit_and_wait(left.map(Duration::from_nanos))?;
        self.look_at_clock();
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.put_away();
        if let Some((conn, outcome)) = self.outcomes.pop_front() {
            return Some(match outcome {
                Ok(()) => self.opened(conn),
                Err(error) => self.lose(conn, Reason::Failed(error)),
            });
        }
        while let Some(completion) = self.ring.next_completion() {
            if let Some(event) = self.completed(completion) {
                return Some(event);
            }
        }
        None
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        self.put_away();
        // Not by closing each: that would end the connections in an orderly way, and their ports
        // would rest for a minute.
        if self.cancel_all().is_err() {
            for conn in 0..self.slots.len() as u32 {
                self.close(ConnId(conn));
            }
        }
        // From here on every connection is gone, and what completes is of one that was.
        let gone = self.slots.iter_mut().map(std::mem::take);
        let held: Vec<_> = gone.map(|slot| (slot.socket, slot.lent)).collect();
        let end = Instant::now() + FAREWELL_MAX;
        while self.outstanding > 0 && Instant::now() < end {
            if self.ring.submit_and_wait(Some(Duration::from_millis(10))).is_err() {
                break;
            }
            while let Some(completion) = self.ring.next_completion() {
                let _ = self.completed(completion);
            }
        }
        if self.outstanding > 0 {
            // An operation may still write or read: better to lose the memory than to free it.
            std::mem::forget(self.pool.take());
            std::mem::forget(std::mem::take(&mut self.graves));
            std::mem::forget(held);
        } else {
            drop(held);
            let _ = self.ring.clear_files();
        }
    }
}
