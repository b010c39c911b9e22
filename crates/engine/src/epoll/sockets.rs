//! Events of sockets: opened, brought bytes, took bytes, broke. Each call deals with one socket.
//!
//! Who is asked next is left to the engine.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;

use super::{Epoll, READ_MAX, Readiness, State, interest, token};
use crate::stamps;
use crate::{ConnId, Engine, Event, Reason};

impl Epoll {
    /// Puts a connection behind what is ready already.
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
        if kept > 0 {
            if self.buffer.len() < kept + READ_MAX {
                self.buffer.resize(kept + READ_MAX, 0);
            }
            self.buffer[..kept].copy_from_slice(&connection.kept);
        }
        let room = kept..kept + READ_MAX;
        let into = &mut self.buffer[room];
        let read = if connection.stamped {
            retry(|| stamps::read(&connection.socket, into))
        } else {
            retry(|| (&connection.socket).read(into)).map(|read| (read, None))
        };
        match read {
            Ok((0, _)) => self.lose(conn, Reason::ByPeer),
            Ok((read, stamp)) => {
                connection.kept.clear();
                self.current = Some((conn, 0, kept + read));
                // A read that did not fill its room has emptied the socket (epoll(7)), unless the
                // end is near: only reading on shows that.
                if read == READ_MAX || ready.closing {
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

    /// Keeps what was received last and not consumed with its connection.
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

    /// Gives the kernel what it did not take before.
    fn send_on(&mut self, conn: ConnId) {
        let Some(connection) = self.slot(conn) else {
            return;
        };
        let outbox = std::mem::take(&mut connection.outbox);
        let unsent = self.give(conn, &outbox);
        let Some(connection) = self.slot(conn) else {
            return;
        };
        if unsent > 0 {
            connection.outbox = outbox;
            connection.outbox.drain(..connection.outbox.len() - unsent);
        } else if !connection.always_watches_room {
            self.watch_room(conn, false);
        }
    }

    /// Writes as much as the kernel takes and returns how much it did not.
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
        connection.state = State::Broken(error);
        let generation = connection.generation;
        self.again(conn, generation, true);
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
