//! The connection that sends a message through each place before load begins: a place whose receivers all had
//! it is one that messages get through.

use engine::{Address, ConnId};
use wire::resp::{RespDecoder, encode_command};
use wire::{Decode, Reply};
use workload::{Arg, CommandSpec, Delivery, Message, Piece, Plan, Purpose, Slot};

use super::finals::Finals;
use crate::Fatal;
use crate::handshake::{Answer, Handshake};

/// Probes that are under way at once.
const AT_ONCE: usize = 1_000;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeAction {
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
    /// Servers, and places with receivers there that were not probed yet. The last is being probed.
    stops: Vec<(Address, Vec<u32>)>,
    /// What it reads when the senders are done.
    finals: Option<Finals>,
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
    /// All is done.
    Closed,
}

impl Prober {
    pub(super) fn new(conn: ConnId, stops: Vec<(Address, Vec<u32>)>) -> Self {
        Self { conn, decoder: RespDecoder::default(), state: State::Waiting, stops, finals: None }
    }

    /// Whether all that it was to do is done.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Closed
    }

    /// The server that it connects to.
    pub(super) fn address(&self) -> Option<&Address> {
        self.stops.last().map(|(address, _)| address)
    }

    /// What is to be done now; what is to be sent is then in `out`.
    pub(super) fn next(
        &mut self,
        plan: &Plan,
        delivery: &Delivery,
        (run, sender): (u32, u32),
        now_ns: u64,
        out: &mut Vec<u8>,
    ) -> ProbeAction {
        match self.state {
            State::Waiting => {
                (self.state, self.decoder) = (State::Opening, RespDecoder::default());
                ProbeAction::Connect
            }
            State::Ready => {
                let places = self.stops.last_mut().map(|(_, places)| places);
                let Some(places) = places.filter(|places| !places.is_empty()) else {
                    self.stops.pop();
                    self.state = if self.stops.is_empty() { State::Closed } else { State::Waiting };
                    return ProbeAction::Close;
                };
                let left = places.len().min(AT_ONCE);
                out.clear();
                if let Some(finals) = &mut self.finals {
                    finals.append(delivery, places.split_off(places.len() - left), out);
                    self.state = State::Sent { left: 1 };
                    return ProbeAction::Send;
                }
                for place in places.split_off(places.len() - left) {
                    let message = Message {
                        purpose: Purpose::Probe,
                        run,
                        sender,
                        number: place.into(),
                        due_ns: now_ns,
                        sent_ns: now_ns,
                    };
                    append_probe(&plan.sequence, &Delivery::place_digits(place), message, out);
                }
                self.state = State::Sent { left };
                ProbeAction::Send
            }
            State::Opening | State::Handshake { .. } | State::Sent { .. } | State::Closed => {
                ProbeAction::Nothing
            }
        }
    }

    /// Begins to read the last message of each place over a new connection to each of these servers, when its probes
    /// are done, unless it has begun.
    pub(super) fn read_finals(&mut self, stops: &dyn Fn() -> Vec<(Address, Vec<u32>)>) {
        if self.finals.is_some() || self.state != State::Closed {
            return;
        }
        (self.decoder, self.state) = (RespDecoder::default(), State::Waiting);
        (self.stops, self.finals) = (stops(), Some(Finals::default()));
    }

    /// Goes on at other servers with places that are not at the one that was asked last: `named` finds them by what
    /// that said.
    pub(super) fn follow(&mut self, named: &dyn Fn(&str, &Address) -> Address) {
        let Some(address) = self.address().cloned() else { return };
        let elsewhere = self.finals.as_mut().map(Finals::take_elsewhere).unwrap_or_default();
        for (place, text) in elsewhere {
            // The last is being asked.
            self.stops.insert(0, (named(&text, &address), vec![place]));
        }
    }

    /// What was read, once that is all.
    pub(super) fn take_finals(&mut self) -> Option<Vec<Option<Message>>> {
        let finals = self.finals.take_if(|_| self.state == State::Closed)?;
        Some(finals.messages())
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
        if let Some(finals) = &mut self.finals {
            let (consumed, goes_on) = finals.hear(&mut self.decoder, handshake, inbox)?;
            if !goes_on {
                self.state = State::Ready;
            }
            return Ok(consumed);
        }
        let mut consumed = 0;
        loop {
            let decoded = self.decoder.decode(&inbox[consumed..]);
            let decoded = decoded.map_err(|error| Fatal::new(error.to_string()))?;
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

/// Appends the command of the senders, through the place of this number and with this message. Filler is left out.
pub(super) fn append_probe(
    sequence: &[CommandSpec],
    digits: &str,
    message: Message,
    out: &mut Vec<u8>,
) {
    let bytes = |arg: &Arg| {
        let mut bytes = Vec::new();
        for piece in &arg.pieces {
            match piece {
                Piece::Bytes(text) => bytes.extend_from_slice(text),
                Piece::Number(Slot::Key) => bytes.extend_from_slice(digits.as_bytes()),
                Piece::Number(_) => bytes.push(b'0'),
                Piece::Message => bytes.extend_from_slice(&message.to_bytes()),
                Piece::MessageNumber => bytes.extend_from_slice(&message.to_number()),
                _ => {}
            }
        }
        bytes
    };
    let Some(command) = sequence.first() else { return };
    let args: Vec<Vec<u8>> = command.args.iter().map(bytes).collect();
    encode_command(&args.iter().map(Vec::as_slice).collect::<Vec<_>>(), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{CommandSpec, message};

    #[test]
    fn a_probe_is_the_senders_command_without_filler() {
        let arg = |pieces: &[Piece]| Arg { pieces: pieces.to_vec() };
        let text = |text: &[u8]| Piece::Bytes(text.to_vec());
        let args = vec![
            arg(&[text(b"PUBLISH")]),
            arg(&[text(b"p:"), Piece::Number(Slot::Key)]),
            arg(&[Piece::Fill { len: 100, skip: 0 }, Piece::Message]),
        ];
        let message = Message {
            purpose: Purpose::Probe,
            run: 1,
            sender: 2,
            number: 3,
            due_ns: 4,
            sent_ns: 5,
        };
        let mut out = Vec::new();
        append_probe(&[CommandSpec { args, inline: false }], "000000000007", message, &mut out);
        let bytes = message.to_bytes();
        let words: [&[u8]; 3] = [b"PUBLISH", b"p:000000000007", &bytes];
        let mut expected = Vec::new();
        encode_command(&words, &mut expected);
        assert_eq!(out, expected);
        assert_eq!(bytes.len(), message::BYTES);
    }
}
