//! Receives around a long value whose bytes are dropped.
//!
//! The armed receive copies everything that arrives, so it is ended when a caller first wants bytes dropped.
//! From then on each receive is submitted alone, into one buffer or with its bytes dropped, until some were
//! received and none dropped after them.

use std::io;

use super::Uring;
use super::operation::Kind;
use crate::discard::{DISCARD_MOST, SHORT_READS};
use crate::{ConnId, Event, Reason};

impl Uring {
    /// Drops bytes that follow the current event's. Returns the number that it will drop.
    pub(super) fn begin_discard(&mut self, conn: ConnId, bytes: u64) -> io::Result<u64> {
        let armed =
            self.current.as_ref().is_some_and(|current| current.conn == conn && !current.ended);
        let slot = self.slot(conn);
        if slot.stamped || !slot.open {
            return Ok(0);
        }
        let bytes = bytes.min(DISCARD_MOST);
        (slot.discard, slot.short_reads) = (bytes, SHORT_READS);
        if armed {
            self.ring.cancel(self.operation(Kind::Receive, conn))?;
        }
        Ok(bytes)
    }

    /// Counts arrived bytes while some are to be dropped. Returns how many of them are.
    #[inline]
    pub(super) fn discarded(&mut self, conn: ConnId, arrived: usize) -> usize {
        let slot = self.slot(conn);
        let dropped = slot.discard.min(arrived as u64);
        slot.discard -= dropped;
        dropped as usize
    }

    /// Handles the end of a receive whose bytes were dropped.
    pub(super) fn discard_ended(
        &mut self,
        conn: ConnId,
        result: io::Result<usize>,
    ) -> Option<Event> {
        match result {
            Ok(0) => Some(self.lose(conn, Reason::ByPeer)),
            Ok(arrived) => {
                self.discarded(conn, arrived);
                self.receive_on(conn)
            }
            Err(error) => Some(self.lose(conn, Reason::Failed(error))),
        }
    }

    /// Submits the next receive after an event that left none armed.
    pub(super) fn arm_next(&mut self, conn: ConnId) {
        let slot = self.slot(conn);
        if slot.discard == 0 {
            slot.short_reads = slot.short_reads.saturating_sub(1);
        }
        if let Err(error) = self.arm(conn) {
            self.outcomes.push_back((conn, Err(error)));
        }
    }
}
