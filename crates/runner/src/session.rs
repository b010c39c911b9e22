//! One conversation: which state it is in and what it waits for.
//!
//! Owns no socket and reads no clock: bytes come from the engine, through the worker.

use crate::flight::Flights;

/// One connection's side of the conversation.
#[derive(Debug, Default)]
pub(crate) struct Session<D> {
    pub(crate) state: State,
    pub(crate) decoder: D,
    pub(crate) flights: Flights,
    /// When the connection was asked for.
    pub(crate) asked_ns: u64,
    /// Whether it has carried load since it was opened.
    pub(crate) used: bool,
    /// How often it was tried again without lasting.
    pub(crate) attempts: u32,
    /// Whether it was lost and has not carried load since.
    pub(crate) lost: bool,
    /// Whether it stands in the queue of those with room (open loop only).
    pub(crate) queued: bool,
}

/// Where a conversation stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is no connection.
    #[default]
    Closed,
    /// One was asked for.
    Opening,
    /// The prelude was sent; so many replies came.
    Greeting { answered: usize },
    /// It carries load.
    Ready,
}

impl<D: Default> Session<D> {
    /// Begins anew on a connection asked for at `now_ns`.
    pub(crate) fn reopen(&mut self, now_ns: u64) {
        self.state = State::Opening;
        self.decoder = D::default();
        self.asked_ns = now_ns;
        self.used = false;
    }

    /// Sequences that may be sent now by a session that keeps up to `depth` in flight.
    #[inline]
    pub(crate) fn room(&self, depth: u32, rolling: bool, sequence_len: u32) -> u32 {
        if self.state != State::Ready {
            return 0;
        }
        match self.flights.commands() {
            0 => depth,
            in_flight if rolling => depth.saturating_sub(in_flight.div_ceil(sequence_len)),
            _ => 0,
        }
    }
}
