//! One connection to one node: what it waits for.

use std::collections::VecDeque;

use measure::Outcome;

use crate::flight::Flight;
use crate::session::State;

/// A command (or a sequence that cannot be taken apart) on its way to a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// Number of its sequence: its bytes follow from it, so they can be made again.
    pub(crate) number: u64,
    /// When it was due; in a closed loop, when it was first sent. 0 before.
    pub(crate) intended_ns: u64,
    /// When it was first sent, and last; 0 before.
    pub(crate) sent_ns: u64,
    pub(crate) handed_ns: u64,
    /// The first of its commands in the sequence, how many it has, and how many replies are in.
    pub(crate) command: u32,
    pub(crate) commands: u32,
    pub(crate) answered: u32,
    /// How often it was sent elsewhere or again.
    pub(crate) tries: u32,
    /// Its key's slot, if it has a key.
    pub(crate) slot: Option<u16>,
    /// Whether a replica may answer.
    pub(crate) read_only: bool,
    /// `ASKING` goes before it, and its reply comes before its own.
    pub(crate) asking: bool,
    /// Sent in the measured part, not in the warm-up.
    pub(crate) measured: bool,
}

impl Request {
    /// It as the recorder knows requests.
    pub(crate) fn flight(&self, command: u32, first_byte_ns: u64) -> Flight {
        Flight {
            intended_ns: self.intended_ns,
            sent_ns: self.sent_ns,
            first_byte_ns,
            left: 1,
            command,
            measured: self.measured,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Link<D> {
    pub(crate) state: State,
    pub(crate) decoder: D,
    pub(crate) requests: VecDeque<Request>,
    /// The node that it belongs to.
    pub(crate) node: u16,
    /// Whether it stands among those of its lane that have room.
    pub(crate) idle: bool,
    /// Whether it has carried load since it was opened.
    pub(crate) used: bool,
    /// When the connection was asked for.
    pub(crate) asked_ns: u64,
    /// How often it was tried again without lasting.
    pub(crate) attempts: u32,
    /// Whether it was lost and has not carried load since.
    pub(crate) lost: bool,
    /// What was last sent of what is being answered, and when the first byte of that was read.
    pub(crate) first_byte: (u64, u64),
    /// Outcomes of a sequence that counts as a whole, until its last reply is in.
    pub(crate) held: Vec<(u32, Outcome)>,
    /// The redirect that the oldest request was answered with, until its last reply is in.
    pub(crate) away: Option<String>,
}

impl<D: Default> Link<D> {
    pub(crate) fn new(node: u16) -> Self {
        Self {
            state: State::Closed,
            decoder: D::default(),
            requests: VecDeque::new(),
            node,
            idle: false,
            used: false,
            asked_ns: 0,
            attempts: 0,
            lost: false,
            first_byte: (0, 0),
            held: Vec::new(),
            away: None,
        }
    }

    /// Begins anew on a connection asked for at `now_ns`.
    pub(crate) fn reopen(&mut self, now_ns: u64) {
        self.state = State::Opening;
        self.decoder = D::default();
        self.asked_ns = now_ns;
        self.used = false;
    }

    /// Requests that may be sent now by a link that keeps up to `depth` in flight.
    #[inline]
    pub(crate) fn room(&self, depth: usize, rolling: bool) -> usize {
        match self.requests.len() {
            _ if self.state != State::Ready => 0,
            0 => depth,
            in_flight if rolling => depth.saturating_sub(in_flight),
            _ => 0,
        }
    }

    /// Notes that a byte of the reply to the oldest request was read, and returns when the first
    /// of all replies to that send was.
    #[inline]
    pub(crate) fn begun(&mut self, now_ns: u64) -> u64 {
        begun(&mut self.first_byte, &self.requests, now_ns)
    }
}

/// See [`Link::begun`]; of two fields, for whoever holds a reply that the decoder still owns.
#[inline]
pub(crate) fn begun(first_byte: &mut (u64, u64), requests: &VecDeque<Request>, now_ns: u64) -> u64 {
    let Some(oldest) = requests.front() else { return now_ns };
    if first_byte.0 != oldest.handed_ns {
        *first_byte = (oldest.handed_ns, now_ns);
    }
    first_byte.1
}
