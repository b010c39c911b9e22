//! The loop of one thread of receivers: set up, receive probes, receive until all has come.
//!
//! The [`Kind`](super::kind::Kind) defines requests and the meaning of replies.

use std::sync::atomic::Ordering;

use engine::{ConnId, Engine, Event};
use measure::{Waits, WorkerUse};
use wire::{Decode, Reply};

use super::first_and_last::FirstAndLast;
use super::kind::Received;
use super::receivers::{DRAIN_LOOK_NS, Receivers, State};
use super::roles::NO_END;
use super::totals::ReceiverTotals;
use super::under_way::InFlightTimeline;
use crate::collect::Message as Report;
use crate::handshake::HandshakeReply;
use crate::thread_clocks::ThreadClocks;
use crate::{Fatal, Gauges};

/// Interval at which a thread checks whether the run has ended while load runs.
const LOOK_NS: u64 = 20_000_000;

/// Events after which a thread checks for other work.
const EVENTS_AT_ONCE: usize = 1_000;

impl<E: Engine> Receivers<'_, E> {
    /// Receives from setup to end. Returns the final reports and totals.
    pub(crate) fn receive_all(mut self) -> (Vec<Report>, ReceiverTotals) {
        let gate = self.context.roles.gate;
        let mut spent = WorkerUse::default();
        let ended = self.set_up().and_then(|started| {
            if !started {
                return Ok(());
            }
            let clocks = ThreadClocks::read();
            let plan = self.context.plan;
            let start_ns = gate.start_ns().unwrap_or(0) + plan.load.warmup_ns;
            self.epoch_ns = if self.context.roles.exchanges { gate.agreed_ns() } else { 0 };
            self.waits = self.block_ns.map(|_| Waits::new(plan.recording.precision));
            self.under_way = self.block_ns.map(|_| InFlightTimeline::new(start_ns));
            let ended = self.receive_load().and_then(|()| self.await_acknowledgements());
            spent = clocks.used_since(0);
            ended
        });
        if let Err(fatal) = ended {
            gate.fail(fatal);
        }
        let behind = self.behind();
        let remains = self.close();
        let received = self.receivers.iter().map(|receiver| receiver.received);
        let removable = self.receivers.iter().map(|receiver| receiver.cache.removable).sum();
        let totals = ReceiverTotals {
            counts: self.counts,
            by_receiver: received.clone().min().zip(received.max()),
            spread: self.spread.map(FirstAndLast::latencies),
            polls: self.gap.map(|gap| (gap, behind)),
            waits: self.waits,
            under_way: self.under_way,
            remains,
            invalidations: self.invalidations,
            removable,
        };
        (self.recorder.finish(Vec::new(), spent), totals)
    }

    /// Receives until everything sent has come or is given up.
    fn receive_load(&mut self) -> Result<(), Fatal> {
        let roles = self.context.roles;
        let drain_ns = roles.delivery.drain_ns;
        let mut end_ns = NO_END;
        loop {
            let now_ns = self.engine.now_ns();
            let look_ns = if end_ns == NO_END { LOOK_NS } else { DRAIN_LOOK_NS };
            let until_ns = (now_ns + look_ns).min(self.recorder.wake_ns()).min(end_ns);
            self.turn(until_ns.min(self.reopening.wake_ns()))?;
            self.take_news();
            let now_ns = self.engine.now_ns();
            self.reopen(now_ns);
            let connections = self.ready;
            self.recorder.turn(now_ns, || Gauges { connections, ..Gauges::default() });
            if end_ns != NO_END && roles.exchanges {
                self.go_on_probing();
            }
            if end_ns != NO_END && self.gap.is_some() {
                self.read_finals()?;
                let caught_up = self.behind() == 0;
                roles.threads[usize::from(self.context.thread)]
                    .caught_up
                    .store(caught_up, Ordering::Release);
            }
            roles.tell_received(self.context.thread, self.settled());
            if end_ns == NO_END && roles.is_sent() {
                end_ns = now_ns + drain_ns;
                self.begin_last_probes();
            }
            if end_ns != NO_END {
                self.report_progress(false);
            }
            if roles.gate.has_failed() || roles.is_complete() || now_ns >= end_ns {
                return Ok(());
            }
        }
    }

    /// Waits for events until this time, and handles them.
    pub(super) fn turn(&mut self, until_ns: u64) -> Result<(), Fatal> {
        let look_ns = self.pauses.front().map_or(u64::MAX, |(due_ns, _)| *due_ns);
        self.wait(until_ns.min(look_ns).min(self.login_wake_ns()))?;
        self.log_in_waiting()?;
        self.resume();
        // Receivers that ask again at once never come to an end.
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.engine.next() else { break };
            match event {
                Event::Opened(conn) => self.greet(conn)?,
                Event::Received(conn) if self.is_prober(conn) => self.hear_prober()?,
                Event::Received(conn) if self.is_listener(conn) => self.hear_listener(conn)?,
                Event::Received(conn) => self.hear(conn)?,
                Event::Closed(conn, reason) => self.lost(conn, &reason)?,
            }
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, until_ns: u64) -> Result<(), Fatal> {
        let waited = self.engine.wait(Some(until_ns));
        waited.map_err(|e| Fatal::new(format!("waiting for messages: {e}")))
    }

    /// Handles bytes on a receiver's connection.
    fn hear(&mut self, conn: ConnId) -> Result<(), Fatal> {
        let receiver = &mut self.receivers[conn.0 as usize];
        if let State::Handshake { answered } = receiver.state {
            let (inbox, reconnects) = (self.engine.inbox(), self.context.reconnects());
            let heard = self.handshake.hear(&mut receiver.decoder, inbox, answered, reconnects)?;
            let HandshakeReply::Heard { steps, consumed } = heard else {
                return self.turned_away(conn);
            };
            self.engine.consume(consumed);
            receiver.state = State::Handshake { answered: steps };
            if steps == self.handshake.steps.len() {
                self.ask(conn);
            }
            return Ok(());
        }
        let now_ns = self.engine.now_ns();
        let mut consumed = 0;
        self.out.clear();
        self.heard_at(conn, now_ns);
        loop {
            let receiver = &mut self.receivers[conn.0 as usize];
            let rest = &self.engine.inbox()[consumed..];
            let decoded = receiver.decoder.decode_shown(rest, &mut receiver.strings);
            let decoded = decoded.map_err(|error| Fatal::new(error.to_string()))?;
            consumed += decoded.consumed;
            let Some(reply) = decoded.reply else { break };
            if let Some(gap) = &mut self.gap {
                let before_ns = std::mem::replace(&mut receiver.read_ns, now_ns);
                if receiver.state == State::Ready {
                    let between_ns = now_ns.saturating_sub(before_ns);
                    gap.record_n(between_ns, between_ns.div_ceil(1_000));
                }
            }
            let meaning = receiver.consumer.answer(reply, &receiver.strings, &mut self.out);
            if let (Received::Elsewhere { place }, Reply::Error(text)) = (meaning, reply) {
                let text = text.to_vec();
                self.place_moved(conn, place, &text)?;
                self.receivers[conn.0 as usize].strings.clear();
                continue;
            }
            if let (Received::Withdrawal | Received::Other, Reply::Error(text)) = (meaning, reply) {
                let text = text.to_vec();
                self.engine.consume(consumed);
                return self.refused(conn, &text);
            }
            self.apply(conn, meaning, now_ns);
            self.receivers[conn.0 as usize].strings.clear();
        }
        self.recorder.read_ended(now_ns, consumed);
        self.engine.consume(consumed);
        if !self.out.is_empty() {
            self.receivers[conn.0 as usize].asked_ns = self.engine.send(conn, &self.out);
        }
        Ok(())
    }

    /// Applies the meaning of a reply whose messages are in the receiver's strings.
    #[inline]
    pub(super) fn apply(&mut self, conn: ConnId, meaning: Received, now_ns: u64) {
        self.complete(conn);
        match meaning {
            Received::Messages(payloads) => {
                self.is_proved(conn);
                self.take_all(conn, payloads, now_ns);
            }
            Received::Confirmation => self.confirmed(conn),
            Received::Reread { place, invalidated_ns: at } => {
                self.take_read(conn, place, at, now_ns);
            }
            Received::Flush => self.flushed(conn),
            Received::Foreign => self.counts.foreign += 1,
            Received::Empty => {
                let due_ns = now_ns + self.pause_ns.unwrap_or(0);
                self.pauses.push_back((due_ns, conn));
            }
            Received::TimedOut | Received::Unblocked | Received::Settled { .. } => {
                self.waited(conn, meaning, now_ns);
            }
            Received::Unchanged
            | Received::Withdrawal
            | Received::Elsewhere { .. }
            | Received::Other => {}
        }
    }

    fn confirmed(&mut self, conn: ConnId) {
        if let State::Asking { left } = &mut self.receivers[conn.0 as usize].state {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.is_ready(conn);
            }
        }
    }

    /// Number of receivers that are not known to have read the last message of their place; 0 without polling
    /// receivers.
    pub(super) fn behind(&self) -> u64 {
        if self.gap.is_none() {
            return 0;
        }
        let Some(finals) = self.context.roles.finals.get() else {
            return self.receivers.len() as u64;
        };
        let behind = self.receivers.iter().filter(|receiver| {
            let last = finals.get(receiver.first_place as usize).copied().flatten();
            last.is_some() && receiver.consumer.last() != last
        });
        behind.count() as u64
    }
}
