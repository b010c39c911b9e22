//! What is done when all has been received: what is left in the keys of a run is counted, and the keys are removed.

use engine::{ConnId, Engine};
use wire::resp::{RespDecoder, encode_command};
use wire::{Decode, Reply, ReplyVisitor};
use workload::Delivery;

use super::receivers::{DRAIN_LOOK_NS, Receiver, Receivers, State};
use crate::Fatal;
use crate::handshake::Answer;

/// For how long all that may take: a server that does not answer keeps its keys.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Keys in one UNLINK: a server runs a command to its end before it serves others.
const KEYS_MAX: usize = 1_000;

/// What the first number of a reply counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remainder {
    /// Messages that nobody received.
    Left,
    /// Messages that were received and not acknowledged.
    Pending,
    /// Nothing that is of interest.
    Nothing,
}

/// What is left at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Remains {
    pub(crate) left: u64,
    pub(crate) pending: u64,
}

/// Appends commands that count what is left in all keys of a delivery and remove them, and these others.
pub(super) fn count_and_remove(
    delivery: &Delivery,
    count: &str,
    others: Vec<String>,
    out: &mut Vec<u8>,
) -> Vec<Remainder> {
    let mut names: Vec<String> =
        (0..delivery.places).map(|place| delivery.place_name(place)).collect();
    let mut replies = vec![Remainder::Left; names.len()];
    for name in &names {
        encode_command(&[count.as_bytes(), name.as_bytes()], out);
    }
    names.extend(others);
    append_removal(&names, &mut replies, out);
    replies
}

/// Appends commands that remove these keys, and that their replies count nothing.
pub(super) fn append_removal(names: &[String], replies: &mut Vec<Remainder>, out: &mut Vec<u8>) {
    for names in names.chunks(KEYS_MAX) {
        let words = std::iter::once("UNLINK").chain(names.iter().map(String::as_str));
        encode_command(&words.map(str::as_bytes).collect::<Vec<_>>(), out);
        replies.push(Remainder::Nothing);
    }
}

/// The first number in a reply.
#[derive(Debug, Default)]
pub(super) struct FirstNumber(pub(super) Option<u64>);

impl ReplyVisitor for FirstNumber {
    fn line(&mut self, text: &[u8]) {
        if self.0.is_none() {
            self.0 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        }
    }

    fn begin(&mut self, _len: Option<u64>) {}

    fn bytes(&mut self, _part: &[u8]) {}
}

impl<E: Engine> Receivers<'_, E> {
    /// Waits until what has come is acknowledged, too.
    pub(super) fn settle(&mut self) -> Result<(), Fatal> {
        let end_ns = self.engine.now_ns() + PATIENCE_NS;
        let gate = self.context.roles.gate;
        let settled = |receiver: &Receiver<'_>| {
            receiver.state != State::Ready || receiver.consumer.is_settled()
        };
        while !self.receivers.iter().all(settled) {
            let now_ns = self.engine.now_ns();
            if now_ns >= end_ns || gate.has_failed() {
                break;
            }
            self.turn(end_ns.min(now_ns + DRAIN_LOOK_NS))?;
        }
        Ok(())
    }

    /// Closes the connections of the receivers, and then has what is left counted and removed. `None` if that is
    /// not this thread's to do, or if the server does not answer.
    pub(super) fn close(&mut self) -> Option<Remains> {
        let roles = self.context.roles;
        let mut commands = Vec::new();
        let replies = match self.prober {
            Some(_) => roles.kind.closing(&mut commands),
            None => Vec::new(),
        };
        if replies.is_empty() {
            return None;
        }
        (0..self.receivers.len() as u32).for_each(|conn| self.engine.close(ConnId(conn)));
        let end_ns = self.engine.now_ns() + PATIENCE_NS;
        while !roles.others_ended(self.context.thread) && self.engine.now_ns() < end_ns {
            self.engine.wait(Some(self.engine.now_ns() + DRAIN_LOOK_NS)).ok()?;
            while self.engine.next().is_some() {}
        }
        let conn = ConnId(self.receivers.len() as u32);
        // A run that was broken off may have its connection open still.
        self.engine.close(conn);
        let number = roles.delivery.receivers;
        self.engine.open(conn, roles.homes.name(), &self.context.origins.options(number));
        self.exchange(conn, &commands, &replies, end_ns)
    }

    /// Sends these commands and adds up their replies.
    fn exchange(
        &mut self,
        conn: ConnId,
        commands: &[u8],
        replies: &[Remainder],
        end_ns: u64,
    ) -> Option<Remains> {
        let mut decoder = RespDecoder::default();
        let (mut steps, mut answered) = (0, 0);
        let (mut remains, mut number) = (Remains::default(), FirstNumber::default());
        while self.engine.now_ns() < end_ns {
            self.engine.wait(Some(end_ns)).ok()?;
            while let Some(event) = self.engine.next() {
                match event {
                    engine::Event::Opened(opened) if opened == conn => {
                        let first = match self.handshake.steps.is_empty() {
                            true => commands,
                            false => &self.handshake.bytes,
                        };
                        self.engine.send(conn, first);
                    }
                    engine::Event::Closed(closed, _) if closed == conn => return None,
                    engine::Event::Received(from) if from == conn => {}
                    _ => continue,
                }
                let mut at = 0;
                if steps < self.handshake.steps.len() {
                    let heard =
                        self.handshake.hear(&mut decoder, self.engine.inbox(), steps, false);
                    let Ok(Answer::Heard { steps: had, consumed }) = heard else { return None };
                    (steps, at) = (had, consumed);
                    self.engine.consume(at);
                    if steps == self.handshake.steps.len() && at > 0 {
                        self.engine.send(conn, commands);
                    }
                    continue;
                }
                while let Ok(step) = decoder.decode_shown(&self.engine.inbox()[at..], &mut number) {
                    at += step.consumed;
                    let Some(reply) = step.reply else { break };
                    if reply == Reply::Push {
                        continue;
                    }
                    let count = std::mem::take(&mut number).0.unwrap_or(0);
                    match replies.get(answered) {
                        Some(Remainder::Left) => remains.left += count,
                        Some(Remainder::Pending) => remains.pending += count,
                        Some(Remainder::Nothing) | None => {}
                    }
                    answered += 1;
                }
                self.engine.consume(at);
                if answered >= replies.len() {
                    return Some(remains);
                }
            }
        }
        None
    }
}
