//! Cleaning up after all is received: counts the messages left in the run's keys and removes the keys, each
//! at its server.

use engine::{Address, ConnId, Engine};
use wire::resp::{RespDecoder, encode_command};
use wire::{Decode, Reply};

use super::kind::Remainder;
use super::receivers::{DRAIN_LOOK_NS, Receivers, State};
use super::reply_strings::FirstNumber;
use super::stops::{Stop, Stops};
use super::totals::Leftovers;
use crate::handshake::HandshakeReply;
use crate::{Fatal, explain};

/// Longest time for the whole cleanup; a server that does not answer keeps its keys.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Splits encoded commands, none of which has a line end in an argument.
fn each_command(commands: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts = |at: &usize| commands[*at] == b'*' && (*at == 0 || commands[*at - 1] == b'\n');
    let mut starts: Vec<usize> = (0..commands.len()).filter(starts).collect();
    starts.push(commands.len());
    (1..starts.len()).map(move |n| &commands[starts[n - 1]..starts[n]])
}

/// Commands to one server, and its replies.
#[derive(Debug, Default)]
struct NodeClosing {
    commands: Vec<u8>,
    /// Meaning of each reply, and its place.
    replies: Vec<(Remainder, u32)>,
    answered: usize,
    remains: Leftovers,
    /// Places that another server has, and whether they are still moving there.
    moved: Vec<(Stop, u32)>,
}

impl<E: Engine> Receivers<'_, E> {
    /// Waits until all received messages are acknowledged.
    pub(super) fn await_acknowledgements(&mut self) -> Result<(), Fatal> {
        let end_ns = self.engine.now_ns() + PATIENCE_NS;
        let gate = self.context.roles.gate;
        while !self
            .receivers
            .iter()
            .all(|receiver| receiver.state != State::Ready || receiver.consumer.is_settled())
        {
            let now_ns = self.engine.now_ns();
            if now_ns >= end_ns || gate.has_failed() {
                break;
            }
            self.turn(end_ns.min(now_ns + DRAIN_LOOK_NS))?;
        }
        Ok(())
    }

    /// Closes the receivers' connections, then counts and removes leftovers. `None` if another thread does
    /// that.
    pub(super) fn close(&mut self) -> Option<Leftovers> {
        let roles = self.context.roles;
        if self.prober.is_none() || !roles.delivery.kind.leaves_keys() {
            return None;
        }
        (0..self.receivers.len() as u32).for_each(|conn| self.engine.close(ConnId(conn)));
        let end_ns = self.engine.now_ns() + PATIENCE_NS;
        while !roles.others_ended(self.context.thread) && self.engine.now_ns() < end_ns {
            self.engine.wait(Some(self.engine.now_ns() + DRAIN_LOOK_NS)).ok()?;
            while self.engine.next().is_some() {}
        }
        if !self.removes_keys() {
            // Another process counts what is left.
            return Some(Leftovers::default());
        }
        let end_ns = self.engine.now_ns() + PATIENCE_NS;
        let mut stops = Stops::new(roles.stops(&vec![1; roles.delivery.places as usize]));
        let mut remains = Leftovers::default();
        while let Some((stop, places)) = stops.next() {
            let Some(closed) = self.close_at(&stop, &places, end_ns) else {
                match stops.instead_of(&stop) {
                    Some(other) => stops.add(other, places),
                    None => {
                        remains.is_uncounted = true;
                        let why = format!("{} did not answer", stop.address);
                        places.iter().for_each(|_| remains.keep(&why));
                    }
                }
                continue;
            };
            remains.add(closed.remains);
            closed.moved.into_iter().for_each(|(stop, place)| stops.add(stop, vec![place]));
        }
        Some(remains)
    }

    /// Counts and removes the leftovers of these places at a server. `None` if it does not answer in time.
    fn close_at(&mut self, stop: &Stop, places: &[u32], end_ns: u64) -> Option<NodeClosing> {
        let (roles, address) = (self.context.roles, &stop.address);
        let mut closing = NodeClosing::default();
        let mut commands = Vec::new();
        for place in places {
            commands.clear();
            let replies = roles.kind.closing(*place, &mut commands);
            for (command, counts) in each_command(&commands).zip(replies) {
                if stop.asking {
                    encode_command(&[b"ASKING"], &mut closing.commands);
                    closing.replies.push((Remainder::Nothing, *place));
                }
                closing.commands.extend_from_slice(command);
                closing.replies.push((counts, *place));
            }
        }
        let conn = ConnId(self.receivers.len() as u32);
        // A run that was broken off may have its connection open still.
        self.engine.close(conn);
        let number = roles.delivery.receivers;
        if !self.knows_login(end_ns) {
            return None;
        }
        self.engine.open(conn, address, &self.context.origins.options(number));
        self.exchange(conn, address, closing, end_ns)
    }

    /// Sends the commands and adds up their replies.
    fn exchange(
        &mut self,
        conn: ConnId,
        address: &Address,
        mut closing: NodeClosing,
        end_ns: u64,
    ) -> Option<NodeClosing> {
        let mut decoder = RespDecoder::default();
        let (mut steps, mut number) = (0, FirstNumber::default());
        while self.engine.now_ns() < end_ns {
            self.engine.wait(Some(end_ns)).ok()?;
            while let Some(event) = self.engine.next() {
                match event {
                    engine::Event::Opened(opened) if opened == conn => {
                        let first = if self.handshake.steps.is_empty() {
                            &closing.commands
                        } else {
                            &self.handshake.bytes
                        };
                        self.engine.send(conn, first);
                    }
                    engine::Event::Closed(closed, _) if closed == conn => return None,
                    engine::Event::Received(from) if from == conn => {}
                    _ => continue,
                }
                if steps < self.handshake.steps.len() {
                    let heard =
                        self.handshake.hear(&mut decoder, self.engine.inbox(), steps, false);
                    let Ok(HandshakeReply::Heard { steps: had, consumed }) = heard else {
                        return None;
                    };
                    steps = had;
                    self.engine.consume(consumed);
                    if steps == self.handshake.steps.len() && consumed > 0 {
                        self.engine.send(conn, &closing.commands);
                    }
                    continue;
                }
                let mut at = 0;
                while let Ok(step) = decoder.decode_shown(&self.engine.inbox()[at..], &mut number) {
                    at += step.consumed;
                    let Some(reply) = step.reply else { break };
                    let count = std::mem::take(&mut number).0.unwrap_or(0);
                    match reply {
                        Reply::Push => {}
                        Reply::Error(text) => {
                            let text = explain::text(text);
                            let moved = self.context.roles.homes.elsewhere(&text, address);
                            closing.refused(&text, moved);
                        }
                        _ => closing.answered(count),
                    }
                }
                self.engine.consume(at);
                if closing.answered >= closing.replies.len() {
                    return Some(closing);
                }
            }
        }
        None
    }
}

impl NodeClosing {
    /// Takes a reply with this first number.
    fn answered(&mut self, count: u64) {
        let Some((counts, _)) = self.replies.get(self.answered) else { return };
        self.answered += 1;
        match counts {
            Remainder::Nothing | Remainder::Removal => {}
            Remainder::Left => self.remains.left += count,
            Remainder::Pending => self.remains.pending += count,
        }
    }

    /// Takes an error reply, which may say that another server has the place.
    fn refused(&mut self, text: &str, moved: Option<Stop>) {
        let Some((counts, place)) = self.replies.get(self.answered) else { return };
        self.answered += 1;
        match (counts, moved) {
            (_, Some(stop)) if self.moved.last().is_none_or(|(_, of)| of != place) => {
                self.moved.push((stop, *place));
            }
            (_, Some(_)) | (Remainder::Nothing, None) => {}
            (Remainder::Removal, None) => self.remains.keep(text),
            (Remainder::Left | Remainder::Pending, None) => self.remains.is_uncounted = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::count_and_remove;
    use super::*;

    #[test]
    fn commands_are_told_apart() {
        let mut out = Vec::new();
        count_and_remove("key*1", "LLEN", &mut out);
        let commands: Vec<&[u8]> = each_command(&out).collect();
        let mut count = Vec::new();
        encode_command(&[b"LLEN", b"key*1"], &mut count);
        assert_eq!((commands.len(), commands[0]), (2, &count[..]));
        assert_eq!(each_command(b"").count(), 0);
    }
}
