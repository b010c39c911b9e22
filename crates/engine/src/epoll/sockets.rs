//! Events of sockets: opened, received, writable, broken. Each call handles one socket.
//!
//! The engine decides which socket is next.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;

use super::{Connection, Epoll, READ_MAX, Readiness, State, interest, token};
use crate::discard::{SHORT_READ, discard};
use crate::{ConnId, Engine, Event, Reason, stamps};

impl Epoll {
    /// Queues a connection after those that are ready.
    pub(super) fn again(&mut self, conn: ConnId, generation: u32, closing: bool) {
        let ready = Readiness { conn, generation, readable: true, writable: true, closing };
        self.ready.push_back(ready);
    }

    /// Closes a connection that ended by itself.
    fn lose(&mut self, conn: ConnId, reason: Reason) -> Option<Event> {
        self.close(conn);
        Some(Event::Closed(conn, reason))
    }

    pub(super) fn handle(&mut self, ready: Readiness) -> Option<Event> {
        let Readiness { conn, writable, closing, .. } = ready;
        let connection = self.slot(conn)?;
        if connection.generation != ready.generation {
            return None;
        }
        match connection.state {
            State::Opening if writable || closing => self.opened(ready),
            State::Opening => None,
            State::Open if writable && !connection.outbox.is_empty() => {
                self.send_on(conn);
                self.receive(ready)
            }
            State::Open | State::Broken(_) => self.receive(ready),
        }
    }

    fn opened(&mut self, ready: Readiness) -> Option<Event> {
        let conn = ready.conn;
        let connection = self.slot(conn)?;
        // Only a socket with an error needs to be asked for it.
        if ready.closing {
            match connection.socket.take_error() {
                Ok(None) => {}
                Ok(Some(error)) | Err(error) => return self.lose(conn, Reason::Failed(error)),
            }
        }
        self.slot(conn)?.state = State::Open;
        if ready.readable {
            // What the server said unasked, or that it hung up, came with the same report.
            self.again(conn, ready.generation, ready.closing);
        }
        self.look_at_clock();
        Some(Event::Opened(conn))
    }

    /// Reads what there is.
    #[inline]
    pub(super) fn receive(&mut self, ready: Readiness) -> Option<Event> {
        let conn = ready.conn;
        let connection = self.connections.get_mut(conn.0 as usize)?.as_mut()?;
        let kept = connection.kept.len();
        let most = if connection.short_reads > 0 { SHORT_READ as usize } else { READ_MAX };
        if kept > 0 {
            if self.buffer.len() < kept + READ_MAX {
                self.buffer.resize(kept + READ_MAX, 0);
            }
            self.buffer[..kept].copy_from_slice(&connection.kept);
        }
        let dropped = connection.discard_arrived(&mut self.buffer[kept..kept + READ_MAX]);
        let into = &mut self.buffer[kept..kept + most];
        let read = match dropped {
            Some(ended) => ended.map(|()| (0, None)),
            None if connection.stamped => retry(|| stamps::read(&connection.socket, into)),
            None => retry(|| (&connection.socket).read(into)).map(|read| (read, None)),
        };
        match read {
            Ok((0, _)) => self.lose(conn, Reason::ByPeer),
            Ok((read, stamp)) => {
                connection.kept.clear();
                connection.short_reads = connection.short_reads.saturating_sub(1);
                self.current = Some((conn, 0, kept + read));
                // A read that did not fill its room has emptied the socket (epoll(7)), unless the
                // end is near: only reading on shows that.
                if read == most || ready.closing {
                    self.again(conn, ready.generation, ready.closing);
                }
                let now_ns = self.look_at_clock();
                self.arrived_ns = stamp.and_then(|stamp| self.wall_clock.engine_ns(stamp, now_ns));
                Some(Event::Received(conn))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match std::mem::replace(&mut connection.state, State::Open) {
                    State::Broken(error) => self.lose(conn, Reason::Failed(error)),
                    _ => None,
                }
            }
            Err(error) => self.lose(conn, Reason::Failed(error)),
        }
    }

    /// Keeps unconsumed bytes with their connection.
    #[inline]
    pub(super) fn put_away(&mut self) {
        let Some((conn, start, end)) = self.current.take() else {
            return;
        };
        self.arrived_ns = None;
        if start < end
            && let Some(Some(connection)) = self.connections.get_mut(conn.0 as usize)
        {
            connection.kept.extend_from_slice(&self.buffer[start..end]);
        }
    }

    /// Writes bytes that the kernel did not take before.
    fn send_on(&mut self, conn: ConnId) {
        let Some(connection) = self.slot(conn) else {
            return;
        };
        let mut outbox = std::mem::take(&mut connection.outbox);
        let sent = std::mem::take(&mut connection.outbox_sent);
        let unsent = self.give(conn, &outbox[sent..]);
        let Some(connection) = self.slot(conn) else {
            return;
        };
        if unsent > 0 {
            let sent = outbox.len() - unsent;
            // Moved seldom: what the kernel takes of a large value may be little each time.
            if sent > unsent {
                outbox.drain(..sent);
            } else {
                connection.outbox_sent = sent;
            }
            connection.outbox = outbox;
        } else if !connection.always_watches_room {
            self.watch_room(conn, false);
        }
    }

    /// Writes as much as the kernel takes. Returns the number of bytes left.
    #[inline]
    pub(super) fn give(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        let Some(connection) = self.slot(conn) else {
            return 0;
        };
        let mut sent = 0;
        while sent < bytes.len() {
            match retry(|| (&connection.socket).write(&bytes[sent..])) {
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.broke(conn, error);
                    return 0;
                }
            }
        }
        bytes.len() - sent
    }

    pub(super) fn watch_room(&mut self, conn: ConnId, room: bool) {
        let Some(connection) = self.slot(conn) else {
            return;
        };
        let (fd, token) = (connection.socket.as_raw_fd(), token(conn, connection.generation));
        let registry = self.poll.registry();
        if let Err(error) = registry.reregister(&mut SourceFd(&fd), token, interest(room)) {
            self.broke(conn, error);
        }
    }

    fn broke(&mut self, conn: ConnId, error: io::Error) {
        let Some(connection) = self.slot(conn) else {
            return;
        };
        connection.outbox.clear();
        connection.outbox_sent = 0;
        connection.state = State::Broken(error);
        let generation = connection.generation;
        self.again(conn, generation, true);
    }
}

impl Connection {
    /// Drops the received part of the bytes to drop. `None` if none of those are left; otherwise the end of
    /// the stream, or the reason why no more could be dropped.
    #[inline]
    fn discard_arrived(&mut self, buffer: &mut [u8]) -> Option<io::Result<()>> {
        while self.discard > 0 {
            match retry(|| discard(&self.socket, buffer, self.discard)) {
                Ok(0) => return Some(Ok(())),
                Ok(dropped) => self.discard -= dropped as u64,
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
