//! The probing connection. Before load begins it sends a message through each place; a place is ready once
//! all its receivers have had it. For some kinds it reads the last message of each place at the end.

use std::collections::VecDeque;

use engine::{Address, ConnId};
use wire::resp::{RespDecoder, encode_command};
use wire::{Decode, Reply};
use workload::{Arg, CommandSpec, Delivery, Message, Piece, Purpose, Slot};

use super::homes::Homes;
use super::replica::append_get;
use super::reply_strings::{Capture, ReplyStrings};
use super::stops::{Stop, Stops};
use crate::handshake::{Handshake, HandshakeReply};
use crate::{Fatal, explain};

/// Places that are asked about at once.
const AT_ONCE: usize = 1_000;

/// Pause before a server that is gone, or does not serve a slot, is asked again.
const AGAIN_NS: u64 = 20_000_000;

/// Next action of a prober.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeAction {
    Nothing,
    /// Open the connection.
    Connect,
    /// Send the prepared bytes.
    Send,
    /// Close the connection: all is done.
    Close,
}

/// The state of that connection.
#[derive(Debug)]
pub(super) struct Prober {
    pub(super) conn: ConnId,
    decoder: RespDecoder,
    strings: ReplyStrings,
    state: State,
    /// Servers to ask later.
    stops: Stops,
    /// The current server, and its places that are still to be asked about.
    at: Option<(Stop, Vec<u32>)>,
    /// The places whose replies are still to come; `None` for the reply to an ASKING.
    awaited: VecDeque<Option<u32>>,
    /// Set if the prober waits before it connects again, with the end of the wait.
    pauses: bool,
    again_ns: u64,
    /// Messages read after the senders are done.
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
    /// Waiting for replies.
    Sent,
    /// Finished.
    Closed,
}

impl Prober {
    /// Creates a prober that asks these servers about their places. With `numbers`, messages are bare
    /// numbers.
    pub(super) fn new(conn: ConnId, stops: Vec<(Address, Vec<u32>)>, numbers: bool) -> Self {
        let capture = Capture { numbers, ..Capture::default() };
        Self {
            conn,
            decoder: RespDecoder::default(),
            strings: ReplyStrings::new(capture),
            state: State::Waiting,
            stops: Stops::new(stops),
            at: None,
            awaited: VecDeque::new(),
            pauses: false,
            again_ns: 0,
            finals: None,
        }
    }

    /// Returns whether the prober is finished.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Closed
    }

    /// The server that it connects to.
    pub(super) fn address(&self) -> Option<&Address> {
        self.at.as_ref().map(|(stop, _)| &stop.address)
    }

    /// Returns the next action; bytes to send are then in `out`. Probes carry this run and sender.
    pub(super) fn next(
        &mut self,
        sequence: &[CommandSpec],
        delivery: &Delivery,
        run: u32,
        sender: u32,
        now_ns: u64,
        out: &mut Vec<u8>,
    ) -> ProbeAction {
        match self.state {
            State::Waiting => {
                if std::mem::take(&mut self.pauses) {
                    self.again_ns = now_ns + AGAIN_NS;
                }
                if now_ns < self.again_ns {
                    return ProbeAction::Nothing;
                }
                self.at = self.stops.next();
                if self.at.is_none() {
                    self.state = State::Closed;
                    return ProbeAction::Nothing;
                }
                (self.state, self.decoder) = (State::Opening, RespDecoder::default());
                self.strings.clear();
                ProbeAction::Connect
            }
            State::Ready => {
                let asked = self.at.as_mut().filter(|(_, places)| !places.is_empty());
                let Some((stop, places)) = asked else {
                    self.at = None;
                    self.state = if self.stops.is_empty() { State::Closed } else { State::Waiting };
                    return ProbeAction::Close;
                };
                out.clear();
                let turn = places.len() - places.len().min(AT_ONCE);
                for place in places.split_off(turn) {
                    if stop.asking {
                        encode_command(&[b"ASKING"], out);
                        self.awaited.push_back(None);
                    }
                    self.awaited.push_back(Some(place));
                    match self.finals {
                        Some(_) => append_get(delivery, place, out),
                        None => append_probe_to(place, sequence, run, sender, now_ns, out),
                    }
                }
                self.state = State::Sent;
                ProbeAction::Send
            }
            State::Opening | State::Handshake { .. } | State::Sent | State::Closed => {
                ProbeAction::Nothing
            }
        }
    }

    /// Begins to read the last message of each place over a new connection to each of these servers, once its
    /// probes are done. Does nothing if it has begun.
    pub(super) fn read_finals(
        &mut self,
        delivery: &Delivery,
        stops: &dyn Fn() -> Vec<(Address, Vec<u32>)>,
    ) {
        if self.finals.is_some() || self.state != State::Closed {
            return;
        }
        (self.stops, self.state) = (Stops::new(stops()), State::Waiting);
        self.finals = Some(Finals::new(delivery));
    }

    /// Takes the messages read, once they are complete.
    pub(super) fn take_finals(&mut self) -> Option<Vec<Option<Message>>> {
        let finals = self.finals.take_if(|_| self.state == State::Closed)?;
        Some(finals.messages)
    }

    /// Notes that the connection is open and `steps` replies to a handshake follow.
    pub(super) fn opened(&mut self, steps: usize) {
        self.state = if steps == 0 { State::Ready } else { State::Handshake { answered: 0 } };
    }

    /// Returns whether the connection is open and has no reply yet.
    pub(super) fn is_greeting(&self) -> bool {
        self.state == State::Handshake { answered: 0 }
    }

    /// Handles the loss of the connection. Places without a reply are asked about at another server, if one
    /// knows them, or at the same one after a pause.
    pub(super) fn lost(&mut self) {
        let Some((stop, mut places)) = self.at.take() else { return };
        places.extend(self.awaited.drain(..).flatten());
        let other = self.stops.instead_of(&stop);
        if other.is_none() {
            self.stops.forgive();
            self.pauses = true;
        }
        self.stops.add(other.unwrap_or(stop), places);
        self.state = State::Waiting;
    }

    /// Takes received bytes and returns how many it has read.
    ///
    /// # Errors
    /// Returns an error if the server refuses a request and no other server has the place.
    pub(super) fn hear(
        &mut self,
        handshake: &Handshake,
        homes: &Homes<'_>,
        inbox: &[u8],
    ) -> Result<usize, Fatal> {
        if let State::Handshake { answered } = self.state {
            let heard = handshake.hear(&mut self.decoder, inbox, answered, false)?;
            let HandshakeReply::Heard { steps, consumed } = heard else { return Ok(0) };
            let is_done = steps == handshake.steps.len();
            self.state = if is_done { State::Ready } else { State::Handshake { answered: steps } };
            return Ok(consumed);
        }
        let mut consumed = 0;
        while let Some(place) = self.awaited.front().copied() {
            let decoded = self.decoder.decode_shown(&inbox[consumed..], &mut self.strings);
            let decoded = decoded.map_err(|error| Fatal::new(error.to_string()))?;
            consumed += decoded.consumed;
            match (decoded.reply, place) {
                (None, _) => return Ok(consumed),
                (Some(Reply::Push), _) => {
                    self.strings.clear();
                    continue;
                }
                (Some(Reply::Error(text)), place) => {
                    let (error, fatal) = (explain::text(text), handshake.fatal(text));
                    let stop = place.and_then(|_| self.elsewhere(homes, &error)).ok_or(fatal)?;
                    self.stops.add(stop, place.into_iter().collect());
                }
                (Some(_), place) => {
                    if let (Some(finals), Some(place)) = (&mut self.finals, place) {
                        finals.read(place, &self.strings);
                    }
                }
            }
            self.awaited.pop_front();
            self.strings.clear();
        }
        if self.state == State::Sent {
            self.state = State::Ready;
        }
        Ok(consumed)
    }

    /// Returns the server that this error refers a place to; `None` if the error is no redirection.
    fn elsewhere(&mut self, homes: &Homes<'_>, error: &str) -> Option<Stop> {
        let (stop, _) = self.at.as_ref()?;
        let other = homes.elsewhere(error, &stop.address);
        // If no server has the slot at present, the same server is asked again later.
        self.pauses |= other.is_none();
        other.or_else(|| homes.is_passing(error).then(|| stop.clone()))
    }
}

/// Appends the probe of a place, of this run and sender.
fn append_probe_to(
    place: u32,
    sequence: &[CommandSpec],
    run: u32,
    sender: u32,
    now_ns: u64,
    out: &mut Vec<u8>,
) {
    let message = Message {
        purpose: Purpose::Probe,
        run,
        sender,
        number: place.into(),
        due_ns: now_ns,
        sent_ns: now_ns,
    };
    append_probe(sequence, &Delivery::place_digits(place), message, out);
}

/// Appends the senders' command with this message through the place of this number, without filler.
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

/// The last message of each place read so far, by place number; `None` for a place without one.
#[derive(Debug)]
struct Finals {
    messages: Vec<Option<Message>>,
}

impl Finals {
    fn new(delivery: &Delivery) -> Self {
        Self { messages: vec![None; delivery.places as usize] }
    }

    /// Takes the reply with the content of a place.
    fn read(&mut self, place: u32, strings: &ReplyStrings) {
        let message = strings.messages().first().map(|had| had.message);
        if let Some(known) = self.messages.get_mut(place as usize) {
            *known = message;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::homes::tests::{delivery, topology};
    use super::*;
    use crate::destination::Destination;
    use crate::route::cluster::TopologyWatch;
    use workload::{Subscription, message};

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

    /// Returns the next action of a prober, and the bytes that it sends.
    fn next(prober: &mut Prober, delivery: &Delivery, now_ns: u64) -> (ProbeAction, Vec<u8>) {
        let (mut out, name) = (Vec::new(), Arg { pieces: vec![Piece::Number(Slot::Key)] });
        let sequence = [CommandSpec { args: vec![name], inline: false }];
        (prober.next(&sequence, delivery, 1, 2, now_ns, &mut out), out)
    }

    #[test]
    fn places_are_asked_about_where_their_slots_are() {
        let (topology, delivery) = (topology(), delivery(Subscription::Shards));
        let [first, second] = [1, 2].map(|n| Address::Tcp(topology.nodes[n - 1].address.unwrap()));
        let (destination, watch) = (Destination::new(&first, false), TopologyWatch::new(&topology));
        let homes = Homes::new(&destination, &[], Some((&topology, &watch)));
        let handshake = Handshake::default();
        let mut prober = Prober::new(ConnId(0), vec![(first.clone(), vec![7, 8, 9])], false);
        assert_eq!(next(&mut prober, &delivery, 0).0, ProbeAction::Connect);
        prober.opened(0);
        assert_eq!(next(&mut prober, &delivery, 0).0, ProbeAction::Send);
        let replies = b"-MOVED 9000 127.0.0.1:2\r\n:1\r\n-ASK 9001 127.0.0.1:2\r\n";
        assert_eq!(prober.hear(&handshake, &homes, replies).unwrap(), replies.len());
        assert_eq!(next(&mut prober, &delivery, 0).0, ProbeAction::Close);
        // Behind an ASKING where the slot is on its way, and without one where it is.
        for sent in
            ["*1\r\n$6\r\nASKING\r\n*1\r\n$12\r\n000000000009\r\n", "*1\r\n$12\r\n000000000007\r\n"]
        {
            assert_eq!(next(&mut prober, &delivery, 0).0, ProbeAction::Connect);
            assert_eq!(prober.address(), Some(&second));
            prober.opened(0);
            let (probing, out) = next(&mut prober, &delivery, 0);
            assert_eq!((probing, out.as_slice()), (ProbeAction::Send, sent.as_bytes()));
            let replies = if sent.contains("ASKING") { &b"+OK\r\n:1\r\n"[..] } else { b":1\r\n" };
            prober.hear(&handshake, &homes, replies).unwrap();
            assert_eq!(next(&mut prober, &delivery, 0).0, ProbeAction::Close);
        }
        assert!(prober.is_done());
    }

    #[test]
    fn what_a_server_that_is_gone_did_not_answer_is_asked_again() {
        let (topology, delivery) = (topology(), delivery(Subscription::Shards));
        let [first, second] = [1, 2].map(|n| Address::Tcp(topology.nodes[n - 1].address.unwrap()));
        let (destination, watch) = (Destination::new(&first, false), TopologyWatch::new(&topology));
        let homes = Homes::new(&destination, &[], Some((&topology, &watch)));
        let stops = vec![(second.clone(), vec![2]), (first.clone(), vec![7, 8])];
        let mut prober = Prober::new(ConnId(0), stops, false);
        next(&mut prober, &delivery, 0);
        prober.opened(0);
        next(&mut prober, &delivery, 0);
        prober.hear(&Handshake::default(), &homes, b":1\r\n").unwrap();
        prober.lost();
        // The other server knows who has the place, and it has one of its own.
        assert_eq!(next(&mut prober, &delivery, 0).0, ProbeAction::Connect);
        assert_eq!(prober.address(), Some(&second));
        // Where none is left, the same is tried after a pause.
        prober.lost();
        assert_eq!(next(&mut prober, &delivery, 0).0, ProbeAction::Nothing);
        assert_eq!(next(&mut prober, &delivery, AGAIN_NS).0, ProbeAction::Connect);
        prober.opened(0);
        let (_, out) = next(&mut prober, &delivery, AGAIN_NS);
        let names = ["000000000002", "000000000008"];
        let text = String::from_utf8(out).unwrap();
        assert!(names.iter().all(|name| text.contains(name)) && !text.contains("07"), "{text}");
        let refused = prober.hear(&Handshake::default(), &homes, b"-NOPERM no\r\n");
        assert!(refused.is_err(), "no other server would do it");
    }
}
