//! Bytes that a connection has lent to the kernel, and those that it got from there.
//!
//! Bytes to send move from `outbox` to `lent`, which is not touched until every completion of its turn was
//! seen, or until the operation that waits for room has ended. Received bytes are in a buffer of the pool,
//! which the engine owns until it returns it.

use std::io;
use std::ops::Range;

use super::connection::{BytesLocation, CurrentEvent};
use super::operation::Kind;
use super::{STAGED_MAX, Uring};
use crate::{ConnId, Event, Reason};

impl Uring {
    /// Queues a connection whose outbox is to be handed to the ring.
    #[inline]
    pub(super) fn stage(&mut self, conn: ConnId) {
        let slot = self.slot(conn);
        if slot.staged {
            return;
        }
        slot.staged = true;
        self.staged.push(conn);
        if self.staged.len() >= STAGED_MAX
            && let Err(error) = self.hand_over().and_then(|()| self.ring.submit())
        {
            self.outcomes.push_back((conn, Err(error)));
        }
    }

    /// Hands the outbox of each connection without bytes in the ring to the ring.
    pub(super) fn hand_over(&mut self) -> io::Result<()> {
        let mut kept_back = 0;
        for at in 0..self.staged.len() {
            let conn = self.staged[at];
            let turn = self.turn;
            let slot = self.slot(conn);
            if !slot.staged || slot.outbox.is_empty() {
                continue;
            }
            if slot.waiting || slot.lent_turn == turn {
                self.staged[kept_back] = conn;
                kept_back += 1;
                continue;
            }
            slot.staged = false;
            slot.lent_turn = turn;
            slot.lent.clear();
            std::mem::swap(&mut slot.outbox, &mut slot.lent);
            let operation = self.operation(Kind::Send, conn);
            self.ring.send_at_once(operation, &self.slots[conn.0 as usize].lent)?;
        }
        self.staged.truncate(kept_back);
        Ok(())
    }

    pub(super) fn give_back(&mut self, buffer: Option<u16>) {
        if let (Some(pool), Some(buffer)) = (&mut self.pool, buffer) {
            pool.give_back(buffer);
        }
    }

    /// Handles a receive that has filled a buffer, or ended.
    #[inline]
    pub(super) fn received(
        &mut self,
        conn: ConnId,
        result: io::Result<usize>,
        more: bool,
        buffer: Option<u16>,
    ) -> Option<Event> {
        let (len, buffer) = match (result, buffer) {
            (Ok(len @ 1..), Some(buffer)) => (len, buffer),
            (Ok(_), buffer) => {
                self.give_back(buffer);
                return Some(self.lose(conn, Reason::ByPeer));
            }
            (Err(error), buffer) => {
                self.give_back(buffer);
                // Out of buffers, which are back by now; or ended by us, to receive in another way.
                return match rustix::io::Errno::from_io_error(&error) {
                    Some(rustix::io::Errno::NOBUFS | rustix::io::Errno::CANCELED) => {
                        self.receive_on(conn)
                    }
                    _ => Some(self.lose(conn, Reason::Failed(error))),
                };
            }
        };
        let Some(mut bytes) = self.bytes_within(conn, buffer, len) else {
            self.give_back(Some(buffer));
            return Some(self.lose(conn, Reason::ByPeer));
        };
        bytes.start += self.discarded(conn, bytes.len());
        if bytes.is_empty() {
            self.give_back(Some(buffer));
            return if more { None } else { self.receive_on(conn) };
        }
        let slot = &mut self.slots[conn.0 as usize];
        let (location, start, end) = if slot.kept.is_empty() {
            (BytesLocation::Pool(buffer), bytes.start, bytes.end)
        } else {
            if let Some(pool) = &mut self.pool {
                slot.kept.extend_from_slice(&pool.filled(buffer, len)[bytes]);
                pool.give_back(buffer);
            }
            (BytesLocation::Kept, 0, slot.kept.len())
        };
        self.current = Some(CurrentEvent { conn, location, start, end, ended: !more });
        Some(Event::Received(conn))
    }

    /// Returns the range of the received bytes in a buffer of which the kernel filled `len`, and notes their
    /// stamp. `None` at the end of the stream, for which a receive with a stamp also returns a buffer.
    #[inline]
    fn bytes_within(&mut self, conn: ConnId, buffer: u16, len: usize) -> Option<Range<usize>> {
        if !self.slots[conn.0 as usize].stamped {
            return Some(0..len);
        }
        let filled = self.pool.as_ref()?.filled(buffer, len);
        let (bytes, stamp) = self.ring.parse_stamped(filled)?;
        self.arrived_ns = stamp.and_then(|stamp| self.wall_clock.engine_ns(stamp, self.now_ns));
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Handles a send that took only a part, or the end of the send of the rest.
    pub(super) fn sent(&mut self, conn: ConnId, kind: Kind, result: io::Result<usize>) {
        let slot = self.slot(conn);
        slot.waiting &= kind != Kind::SendRest;
        let taken = match result {
            Ok(taken) => taken,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            // What ails the connection its receive will tell, after what it still has to say.
            Err(_) => {
                slot.open = false;
                return;
            }
        };
        slot.lent.drain(..taken.min(slot.lent.len()));
        if slot.lent.is_empty() {
            return;
        }
        slot.waiting = true;
        self.outstanding += 1;
        let operation = self.operation(Kind::SendRest, conn);
        if let Err(error) = self.ring.send_waiting(operation, &self.slots[conn.0 as usize].lent) {
            self.outcomes.push_back((conn, Err(error)));
        }
    }

    /// Returns the unconsumed bytes of the current event.
    #[inline]
    pub(super) fn bytes_of_current(&self) -> &[u8] {
        let Some(CurrentEvent { conn, location, start, end, .. }) = &self.current else {
            return &[];
        };
        match (location, &self.pool) {
            (BytesLocation::Pool(buffer), Some(pool)) => &pool.filled(*buffer, *end)[*start..],
            _ => &self.slots[conn.0 as usize].kept[*start..*end],
        }
    }

    /// Keeps unconsumed bytes with their connection.
    #[inline]
    pub(super) fn put_away(&mut self) {
        let Some(CurrentEvent { conn, location, start, end, ended }) = self.current.take() else {
            return;
        };
        self.arrived_ns = None;
        let slot = &mut self.slots[conn.0 as usize];
        match location {
            BytesLocation::Kept => drop(slot.kept.drain(..start)),
            BytesLocation::Pool(buffer) => {
                if let Some(pool) = &mut self.pool {
                    if start < end {
                        slot.kept.extend_from_slice(&pool.filled(buffer, end)[start..]);
                    }
                    pool.give_back(buffer);
                }
            }
        }
        if ended {
            self.arm_next(conn);
        }
    }
}
