//! A connection's bytes, and those of the current event.

use socket2::Socket;

use super::operation::Kind;
use crate::ConnId;

/// A connection's bytes: to send, held by the kernel, and received.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) socket: Option<Socket>,
    pub(super) generation: u32,
    pub(super) open: bool,
    /// Set if the kernel stamps received bytes.
    pub(super) stamped: bool,
    /// Set while the connection is in `staged`.
    pub(super) staged: bool,
    /// Bytes to be handed over.
    pub(super) outbox: Vec<u8>,
    /// Handed over, and when.
    pub(super) lent: Vec<u8>,
    pub(super) lent_turn: u64,
    /// Set while an operation that waits for room holds `lent`.
    pub(super) waiting: bool,
    /// Bytes received and not consumed.
    pub(super) kept: Vec<u8>,
    /// Bytes to be dropped before anything is received.
    pub(super) discard: u64,
    /// Receives submitted one by one, because the rest is likely to be dropped.
    pub(super) short_reads: u8,
}

impl Slot {
    /// Returns the kind of operation by which it receives.
    pub(super) fn receives_by(&self) -> Kind {
        match self {
            Self { stamped: true, .. } => Kind::ReceiveStamped,
            Self { discard: 1.., .. } => Kind::Discard,
            Self { short_reads: 1.., .. } => Kind::ReceiveOnce,
            _ => Kind::Receive,
        }
    }

    /// Sends bytes without the ring, unless earlier bytes of the connection are in it. Returns the bytes that
    /// are left.
    #[cold]
    pub(super) fn send_now<'b>(&mut self, bytes: &'b [u8], turn: u64) -> &'b [u8] {
        let is_idle = self.outbox.is_empty() && !self.waiting && self.lent_turn != turn;
        let Some(socket) = self.socket.as_ref().filter(|_| is_idle) else { return bytes };
        let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
        // What ails the connection its receive will tell.
        let sent = rustix::net::send(socket, bytes, flags).unwrap_or(0);
        &bytes[sent..]
    }
}

/// Location of the current event's bytes.
pub(super) struct CurrentEvent {
    pub(super) conn: ConnId,
    pub(super) location: BytesLocation,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Set if no receive is armed for later bytes.
    pub(super) ended: bool,
}

#[derive(Clone, Copy)]
pub(super) enum BytesLocation {
    /// A buffer of the pool.
    Pool(u16),
    /// Bytes that the connection keeps, after those that it had kept before.
    Kept,
}
