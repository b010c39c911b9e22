//! One connection: which state it is in and what it waits for.
//!
//! Owns no socket and reads no clock: bytes come from the engine, through the worker.

use crate::request::Requests;
use crate::worker::captures::PartialCapture;
use crate::worker::cursor_scan::CursorScan;
use crate::worker::verify::Comparison;

/// Connection of a worker. `M` is what its route notes of requests, `C` of connections.
#[derive(Debug)]
pub(crate) struct Connection<D, M, C> {
    pub(crate) state: State,
    pub(crate) decoder: D,
    pub(crate) requests: Requests<M>,
    /// Bytes of the incoming reply that came before.
    pub(crate) reply_bytes: u64,
    /// Bytes among them that the engine was asked to drop since the last read.
    pub(crate) dropped: u64,
    /// Comparison of the incoming reply with what it must be, so far.
    pub(crate) comparison: Comparison,
    /// Part of the incoming reply that is kept for later steps, so far.
    pub(crate) coming: PartialCapture,
    /// For each item that the incoming reply has a place for, whether it is there; empty unless the plan asks.
    pub(crate) found: Vec<bool>,
    /// State of its walk, in a plan that has one.
    pub(crate) walk: CursorScan,
    /// Time at which it was asked for.
    pub(crate) asked_ns: u64,
    /// Time at which it was open, TLS included.
    pub(crate) opened_ns: u64,
    /// Requests that it was handed first since it was opened, of a mix operations.
    pub(crate) begun: u32,
    /// Number of tries to reopen it since it last lasted.
    pub(crate) attempts: u32,
    /// Set if it is to be closed and opened again as soon as it waits for nothing.
    pub(crate) worn: bool,
    /// Set if it was lost and has not carried load since.
    pub(crate) lost: bool,
    /// Requests that failed on it and wait to be sent again.
    pub(crate) put_off: u32,
    /// Set while it is in a queue of connections with room.
    pub(crate) queued: bool,
    /// See `C`.
    pub(crate) place: C,
}

/// State of a connection.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    #[default]
    Closed,
    /// Asked for, not open yet.
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
            comparison: Comparison::default(),
            coming: PartialCapture::default(),
            found: Vec::new(),
            walk: CursorScan::default(),
            asked_ns: 0,
            opened_ns: 0,
            begun: 0,
            attempts: 0,
            worn: false,
            lost: false,
            put_off: 0,
            queued: false,
            place,
        }
    }

    /// Begins anew, asked for at `now_ns`.
    pub(crate) fn reopen(&mut self, now_ns: u64) {
        self.state = State::Opening;
        self.decoder = D::default();
        (self.reply_bytes, self.dropped) = (0, 0);
        self.comparison = Comparison::default();
        self.coming = PartialCapture::default();
        self.found.clear();
        self.asked_ns = now_ns;
        self.begun = 0;
        self.worn = false;
    }

    /// Returns whether it waits for nothing: neither a reply nor a retry.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.commands() == 0 && self.put_off == 0
    }

    /// Requests that may be sent now, if `depth` may be in flight: with `rolling` at any time,
    /// otherwise when all are answered. They have `request_len` commands each; `None` where that
    /// differs, and each is sent by itself.
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
