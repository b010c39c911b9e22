//! The connection that sends a message through each place before load begins: a place whose receivers all had
//! it is one that messages get through.

use engine::ConnId;
use wire::resp::RespDecoder;
use wire::{Decode, Reply};
use workload::{Message, Purpose};

use super::kind::Kind;
use crate::Fatal;
use crate::handshake::{Answer, Handshake};

/// Probes that are under way at once.
const AT_ONCE: usize = 1_000;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probing {
    Nothing,
    /// The connection is to be opened.
    Connect,
    /// What was put together is to be sent.
    Send,
    /// All is done.
    Close,
}

/// The state of that connection.
#[derive(Debug)]
pub(super) struct Prober {
    pub(super) conn: ConnId,
    decoder: RespDecoder,
    state: State,
    /// Places with receivers that were not probed yet.
    places: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Opening,
    Handshake {
        answered: usize,
    },
    Ready,
    /// So many replies are still to come.
    Sent {
        left: usize,
    },
    Closed,
}

impl Prober {
    pub(super) fn new(conn: ConnId, receivers_by_place: &[u32]) -> Self {
        let places = (0..).zip(receivers_by_place).filter(|(_, receivers)| **receivers > 0);
        let places = places.map(|(place, _)| place).collect();
        Self { conn, decoder: RespDecoder::default(), state: State::Waiting, places }
    }

    /// What is to be done now; what is to be sent is then in `out`.
    pub(super) fn next(
        &mut self,
        kind: &dyn Kind,
        run: u32,
        now_ns: u64,
        out: &mut Vec<u8>,
    ) -> Probing {
        match self.state {
            State::Waiting => {
                self.state = State::Opening;
                Probing::Connect
            }
            State::Ready if self.places.is_empty() => {
                self.state = State::Closed;
                Probing::Close
            }
            State::Ready => {
                let left = self.places.len().min(AT_ONCE);
                out.clear();
                for place in self.places.split_off(self.places.len() - left) {
                    let message = Message {
                        purpose: Purpose::Probe,
                        run,
                        sender: u32::MAX,
                        number: place.into(),
                        due_ns: now_ns,
                        sent_ns: now_ns,
                    };
                    kind.send(place, message, out);
                }
                self.state = State::Sent { left };
                Probing::Send
            }
            State::Opening | State::Handshake { .. } | State::Sent { .. } | State::Closed => {
                Probing::Nothing
            }
        }
    }

    /// The connection is open, and so many steps of a handshake follow.
    pub(super) fn opened(&mut self, steps: usize) {
        self.state = if steps == 0 { State::Ready } else { State::Handshake { answered: 0 } };
    }

    /// Takes what it received, and says how much of that it has read.
    ///
    /// # Errors
    /// The server refuses a probe.
    pub(super) fn hear(&mut self, handshake: &Handshake, inbox: &[u8]) -> Result<usize, Fatal> {
        if let State::Handshake { answered } = self.state {
            let heard = handshake.hear(&mut self.decoder, inbox, answered, false)?;
            let Answer::Heard { steps, consumed } = heard else { return Ok(0) };
            let is_done = steps == handshake.steps.len();
            self.state = if is_done { State::Ready } else { State::Handshake { answered: steps } };
            return Ok(consumed);
        }
        let mut consumed = 0;
        loop {
            let decoded = self.decoder.decode(&inbox[consumed..]);
            let decoded = decoded.map_err(|error| Fatal(error.to_string()))?;
            consumed += decoded.consumed;
            match (decoded.reply, &mut self.state) {
                (None, _) => return Ok(consumed),
                (Some(Reply::Error(text)), _) => {
                    return Err(handshake.fatal(text));
                }
                (Some(Reply::Push), _) => {}
                (Some(_), State::Sent { left }) => {
                    *left -= 1;
                    if *left == 0 {
                        self.state = State::Ready;
                    }
                }
                (Some(_), _) => {}
            }
        }
    }
}
