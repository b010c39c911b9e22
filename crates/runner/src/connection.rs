//! State of one connection and of the replies it waits for.
//!
//! Owns no socket and reads no clock: bytes come from the engine, through the worker.

use crate::request::Requests;
use crate::worker::captures::PartialCapture;
use crate::worker::cursor_scan::CursorScan;
use crate::worker::verify::Comparison;

/// Connection of a worker. `M` is the route's note on a request, `C` its note on a connection.
#[derive(Debug)]
pub(crate) struct Connection<D, M, C> {
    pub(crate) state: State,
    pub(crate) decoder: D,
    pub(crate) requests: Requests<M>,
    /// Bytes of the incoming reply that were read before.
    pub(crate) reply_bytes: u64,
    /// Bytes of the incoming reply that the engine was asked to drop since the last read.
    pub(crate) dropped: u64,
    pub(crate) incoming: IncomingReply,
    /// State of its key scan, in a plan that has one.
    pub(crate) scan: CursorScan,
    /// Time at which its opening was requested.
    pub(crate) asked_ns: u64,
    /// Time at which it was open, including the TLS handshake.
    pub(crate) opened_ns: u64,
    /// Requests handed to it since it was opened; in a mix, operations. Retries do not count.
    pub(crate) begun: u32,
    /// Failed tries to reopen it since it last stayed open.
    pub(crate) attempts: u32,
    /// Set if it is to be closed and reopened as soon as it waits for nothing.
    pub(crate) renews: bool,
    /// Set from when it was lost until it carries load again.
    pub(crate) lost: bool,
    /// Requests that failed on it and wait to be sent again.
    pub(crate) postponed: u32,
    /// Set while it is in a queue of connections with room.
    pub(crate) queued: bool,
    /// See `C`.
    pub(crate) place: C,
}

/// Findings about the incoming reply so far.
#[derive(Debug, Default)]
pub(crate) struct IncomingReply {
    /// Comparison with the expected reply.
    pub(crate) comparison: Comparison,
    /// Part that is kept for later steps.
    pub(crate) partial: PartialCapture,
    /// Set for each item that it has; empty unless the plan asks.
    pub(crate) found: Vec<bool>,
}

/// State of a connection.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// No connection.
    #[default]
    Closed,
    /// Requested and not open yet.
    Opening,
    /// The handshake was sent, and `answered` replies came.
    Handshake { answered: usize },
    /// Carries load.
    Ready,
}

impl<D: Default, M: Copy, C> Connection<D, M, C> {
    /// Returns a connection that is yet to be opened.
    pub(crate) fn new(place: C) -> Self {
        Self {
            state: State::Closed,
            decoder: D::default(),
            requests: Requests::default(),
            reply_bytes: 0,
            dropped: 0,
            incoming: IncomingReply::default(),
            scan: CursorScan::default(),
            asked_ns: 0,
            opened_ns: 0,
            begun: 0,
            attempts: 0,
            renews: false,
            lost: false,
            postponed: 0,
            queued: false,
            place,
        }
    }

    /// Starts over, with its opening requested at `now_ns`.
    pub(crate) fn reopen(&mut self, now_ns: u64) {
        self.state = State::Opening;
        self.decoder = D::default();
        (self.reply_bytes, self.dropped) = (0, 0);
        self.incoming = IncomingReply::default();
        self.asked_ns = now_ns;
        self.begun = 0;
        self.renews = false;
    }

    /// Returns whether it waits for neither a reply nor a retry.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.commands() == 0 && self.postponed == 0
    }

    /// Number of requests that may be sent now if `depth` may be in flight: with `rolling` at any time,
    /// otherwise only when all are answered. Each has `request_len` commands; `None` if that differs, and
    /// then requests are sent one by one.
    #[inline]
    pub(crate) fn room(&self, depth: u32, rolling: bool, request_len: Option<u32>) -> u32 {
        if self.state != State::Ready {
            return 0;
        }
        match self.requests.commands() {
            0 => depth,
            commands if rolling => {
                let in_flight =
                    request_len.map_or(self.requests.len(), |len| commands.div_ceil(len));
                depth.saturating_sub(in_flight)
            }
            _ => 0,
        }
    }
}
