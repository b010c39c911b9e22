//! Counting and recording of each received message.

use engine::{ConnId, Engine};
use measure::Outcome;
use naming::SIZE;
use workload::{Message, Purpose, message};

use super::kind::Received;
use super::order::Arrival;
use super::receivers::{Receivers, State};
use super::reply_strings::DeliveredMessage;
use crate::Fatal;
use crate::messages::RING_MAX;
use crate::request::{CommandReply, Keys, SettledReply};

impl<E: Engine> Receivers<'_, E> {
    /// Takes the messages of a reply that should have one for each payload.
    #[inline]
    pub(super) fn take_all(&mut self, conn: ConnId, payloads: u32, now_ns: u64) {
        let count = self.receivers[conn.0 as usize].strings.messages().len();
        self.counts.corrupt += u64::from(payloads).saturating_sub(count as u64);
        for n in 0..count {
            let delivered = self.receivers[conn.0 as usize].strings.messages()[n];
            self.take(conn, delivered, now_ns);
        }
    }

    /// Adds the time of sending to messages that carry only their number.
    #[inline]
    pub(super) fn complete(&mut self, conn: ConnId) {
        let roles = self.context.roles;
        let Some(times) = roles.sent_times() else { return };
        for message in self.receivers[conn.0 as usize].strings.messages_mut() {
            if message.run != roles.run || message.purpose == Purpose::Probe {
                continue;
            }
            match times.complete(*message) {
                Some(complete) => *message = complete,
                None if message.purpose == Purpose::Warmup => {}
                None => roles.gate.fail(Fatal::new(format!(
                    "more than {RING_MAX} messages are on their way, and payloads of less than {} bytes have no room \
                     for the time when they were sent; use {SIZE} {}",
                    message::BYTES,
                    message::BYTES
                ))),
            }
        }
    }

    /// Returns a message for its receiver; counts and drops those of other runs and probes.
    #[inline]
    pub(super) fn of_this_run(&mut self, conn: ConnId, message: Message) -> Option<Message> {
        let receiver = &mut self.receivers[conn.0 as usize];
        if message.run != self.context.roles.run {
            self.counts.foreign += 1;
            return None;
        }
        if message.purpose == Purpose::Probe {
            let roles = self.context.roles;
            // Where any process may get a probe, any probe counts.
            let is_own = !roles.exchanges || roles.competes || message.sender == roles.prober;
            if receiver.probes > 0 && is_own {
                receiver.probes -= 1;
                self.context.roles.probe_arrived();
            }
            return None;
        }
        Some(message)
    }

    #[inline]
    pub(super) fn take(&mut self, conn: ConnId, delivered: DeliveredMessage, now_ns: u64) {
        let Some(message) = self.of_this_run(conn, delivered.message) else { return };
        let delay_ns = self.context.roles.delivery.kind.delay_ns() + self.epoch_ns;
        let (due_ns, sent_ns) = (message.due_ns + delay_ns, message.sent_ns + delay_ns);
        let message = Message { due_ns, sent_ns, ..message };
        let measured = message.purpose == Purpose::Measured;
        if measured {
            match self.rank(conn, &delivered) {
                Arrival::Doubled => {
                    self.counts.doubled += 1;
                    return;
                }
                // Messages of a lost receiver of a queue are put back behind those that others already have.
                Arrival::OutOfOrder if self.block_ns.is_some() && self.counts.cut_off > 0 => {}
                Arrival::OutOfOrder => self.counts.out_of_order += 1,
                Arrival::Next => {}
            }
            let receiver = &mut self.receivers[conn.0 as usize];
            self.counts.received += 1;
            receiver.received += 1;
            let waited = self.pause_ns.is_none() && message.sent_ns >= receiver.asked_ns;
            if let Some(waits) = self.waits.as_mut().filter(|_| waited) {
                waits.wake_up.record_n(now_ns.saturating_sub(message.sent_ns), 1);
            }
            if let Some(under_way) = &mut self.under_way {
                under_way.received(message.sent_ns, now_ns);
            }
            if let Some(spread) = &mut self.spread {
                spread.received(&message, receiver.copies, now_ns);
            }
            self.invalidated(message.number, now_ns);
        }
        if self.context.roles.exchanges && self.epoch_ns == 0 {
            // Another client has begun before this one knows when: the latency is unknown.
            return;
        }
        let answered = CommandReply {
            intended_ns: message.due_ns,
            sent_ns: message.sent_ns,
            first_byte_ns: now_ns,
            command: 0,
            measured,
        };
        let keys = Keys::default();
        self.recorder
            .reply(&SettledReply { answered, outcome: Outcome::Ok, bytes: 0, keys }, now_ns);
    }

    /// Returns the position of a message among the earlier ones of its receiver, or of all receivers that
    /// share its messages.
    #[inline]
    pub(super) fn rank(&mut self, conn: ConnId, delivered: &DeliveredMessage) -> Arrival {
        let receiver = &mut self.receivers[conn.0 as usize];
        let message = &delivered.message;
        let delivery = self.context.roles.delivery;
        let through = delivered
            .place
            .map_or(0, |place| (place + delivery.places - receiver.first_place) % delivery.places);
        let senders = self.context.roles.senders;
        let at = (through * senders).saturating_add(message.sender) as usize;
        let latest = receiver.latest.get_mut(at).filter(|_| message.sender < senders);
        let place = latest.map_or(Arrival::Next, |latest| latest.take(message.number));
        let seen = &self.context.roles.seen;
        let group = delivery.number_among_all(receiver.number) as usize % seen.len().max(1);
        match seen.get(group) {
            Some(seen) if !seen.insert(message.number) => Arrival::Doubled,
            _ => place,
        }
    }

    /// Resumes the receivers whose pause is over.
    pub(super) fn resume(&mut self) {
        while let Some((due_ns, conn)) = self.pauses.front().copied() {
            if due_ns > self.engine.now_ns() {
                return;
            }
            self.pauses.pop_front();
            let receiver = &mut self.receivers[conn.0 as usize];
            // A cache may meet a place that is on its way before it is ready.
            if matches!(receiver.state, State::Ready | State::Asking { .. }) {
                self.out.clear();
                receiver.consumer.resume(&mut self.out);
                if self.out.is_empty() {
                    continue;
                }
                receiver.asked_ns = self.engine.send(conn, &self.out);
            }
        }
    }

    /// Notes the end of a wait, or of a request beside messages.
    pub(super) fn waited(&mut self, conn: ConnId, meaning: Received, now_ns: u64) {
        let asked_ns = self.receivers[conn.0 as usize].asked_ns;
        let due_ns = asked_ns + self.block_ns.unwrap_or(0);
        if meaning == Received::TimedOut {
            self.is_proved(conn);
        }
        // A wait without a timeout cannot time out: another client ended it (CLIENT UNBLOCK).
        let meaning = match meaning {
            Received::TimedOut if self.block_ns == Some(0) => Received::Unblocked,
            meaning => meaning,
        };
        let Some(waits) = &mut self.waits else { return };
        match meaning {
            Received::TimedOut => waits.timeout_late.record_n(now_ns.saturating_sub(due_ns), 1),
            Received::Unblocked => waits.unblocked += 1,
            Received::Settled { missing } => waits.unsettled += u64::from(missing),
            _ => {}
        }
    }
}
