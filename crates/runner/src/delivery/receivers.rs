//! The loop of one thread of receivers: set up, receive probes, receive until all has come.
//!
//! The [`Kind`] defines requests and the meaning of replies. Nothing is shared with the senders on a
//! message's way: the message itself carries the data of its sample.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use engine::{Address, ConnId, Engine, Event};
use measure::{DeliveryCounts, Invalidations, Latency, Waits, WorkerUse};
use wire::resp::{Resp, RespDecoder};
use wire::{Decode, Reply};
use workload::Plan;

use super::caches::CacheCounts;
use super::first_and_last::FirstAndLast;
use super::homes::Replacements;
use super::kind::{Consumer, Kind, Received};
use super::listeners::Listener;
use super::order::RecentNumbers;
use super::probe::Prober;
use super::reply_strings::{Capture, ReplyStrings};
use super::under_way::InFlightTimeline;
use super::{NO_END, ReceiverTotals, Roles};
use crate::collect::Message as Report;
use crate::concrete::last_words;
use crate::handshake::{Handshake, HandshakeReply};
use crate::opening::Origins;
use crate::recorder::Recorder;
use crate::reopening::ReconnectQueue;
use crate::thread_clocks::ThreadClocks;
use crate::{Fatal, Gauges, Progress};

/// Interval at which a thread checks whether the run has ended: while load runs, and after the senders are
/// done.
const LOOK_NS: u64 = 20_000_000;
pub(super) const DRAIN_LOOK_NS: u64 = 1_000_000;

/// Events after which a thread checks for other work.
const EVENTS_AT_ONCE: usize = 1_000;

/// State of a receiver's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Handshake {
        answered: usize,
    },
    /// Awaiting this many confirmations.
    Asking {
        left: u32,
    },
    Ready,
}

pub(super) struct Receiver<'r> {
    pub(super) state: State,
    /// The server that the receiver connects to.
    pub(super) home: Address,
    pub(super) consumer: Box<dyn Consumer + 'r>,
    /// Number in the run.
    pub(super) number: u32,
    pub(super) decoder: RespDecoder,
    pub(super) strings: ReplyStrings,
    /// Latest numbers of each sender; for kinds that name places, of each sender and place.
    pub(super) latest: Vec<RecentNumbers>,
    /// First place of the receiver.
    pub(super) first_place: u32,
    /// Probes that the receiver may still get.
    pub(super) probes: u32,
    /// Number of receivers that get each of its messages, if equal for all of them.
    pub(super) copies: u32,
    /// Measured messages received.
    pub(super) received: u64,
    pub(super) cache: CacheCounts,
    /// Time at which the receiver asked for messages last.
    pub(super) asked_ns: u64,
    /// Failed attempts to reopen its connection.
    pub(super) attempts: u32,
    /// Time of its last reply, if receivers poll.
    read_ns: u64,
    pub(super) was_lost: bool,
    /// Set once the server has let a blocking command wait on this connection rather than reject it.
    pub(super) is_proved: bool,
}

/// Context of a thread of receivers.
pub(crate) struct ReceiverContext<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) roles: &'r Roles<'r>,
    pub(crate) origins: Origins,
    /// Number of the thread among the threads of receivers.
    pub(crate) thread: u16,
    /// The receivers of this thread, by their numbers in the run.
    pub(crate) receivers: Vec<u32>,
}

impl ReceiverContext<'_> {
    /// Number of connections that its engine needs room for.
    pub(crate) fn connections(&self) -> u32 {
        // Another for the probes.
        let each = self.roles.delivery.kind.connections_each();
        self.receivers.len() as u32 * each + 1
    }

    /// Returns whether a receiver that loses its connection now comes back.
    pub(super) fn reconnects(&self) -> bool {
        self.plan.recovery.reconnect && self.roles.gate.start_ns().is_some()
    }

    /// Returns the final reports of a thread that never began.
    pub(crate) fn idle(&self, recorder: Recorder, why: String) -> (Vec<Report>, ReceiverTotals) {
        self.roles.gate.fail(Fatal::new(why));
        let words = last_words(self.thread, recorder, Vec::new(), WorkerUse::default());
        (words, ReceiverTotals::default())
    }
}

/// Thread of receivers.
pub(crate) struct Receivers<'r, E> {
    pub(super) engine: E,
    pub(super) context: ReceiverContext<'r>,
    pub(super) handshake: Handshake,
    pub(super) receivers: Vec<Receiver<'r>>,
    /// Listener of each receiver, if the kind has listeners.
    pub(super) listeners: Vec<Listener>,
    pub(super) prober: Option<Prober>,
    /// Replaced servers that the thread has seen.
    pub(super) replaced: Replacements,
    /// Last reported progress of messages between processes.
    pub(super) reported: Progress,
    pub(super) recorder: Recorder,
    pub(super) reopening: ReconnectQueue,
    pub(super) counts: DeliveryCounts,
    pub(super) spread: Option<FirstAndLast>,
    /// Time from one reply to the next, if receivers poll.
    pub(super) gap: Option<Latency>,
    /// Counts of receivers that cache.
    pub(super) invalidations: Option<Invalidations>,
    /// Number of receivers that are ready.
    pub(super) ready: u32,
    /// Longest wait of a blocking command, if the kind has one, and the waits seen since load began.
    pub(super) block_ns: Option<u64>,
    pub(super) waits: Option<Waits>,
    pub(super) under_way: Option<InFlightTimeline>,
    /// Pause between polls, if the kind polls, and the time of each receiver's next poll.
    pub(super) pause_ns: Option<u64>,
    pub(super) pauses: VecDeque<(u64, ConnId)>,
    pub(super) out: Vec<u8>,
    /// Beginning of the times in messages, on this process's clock.
    pub(super) epoch_ns: u64,
}

impl<'r, E: Engine> Receivers<'r, E> {
    pub(crate) fn new(engine: E, context: ReceiverContext<'r>, recorder: Recorder) -> Self {
        let (plan, roles) = (context.plan, context.roles);
        let delivery = roles.delivery;
        let kind: &'r dyn Kind = &*roles.kind;
        let capture = kind.capture();
        let copies = roles.copies_by_place();
        let distinguished = delivery.distinguished_places();
        let latest = if kind.is_ordered() { roles.senders * distinguished } else { 0 };
        let receiver = |number: &u32| {
            let place = delivery.places_of(*number).next().unwrap_or(0);
            Receiver {
                state: State::Closed,
                home: roles.homes.of_receiver(delivery, *number),
                consumer: kind.consumer(*number),
                number: *number,
                decoder: RespDecoder::default(),
                strings: ReplyStrings::new(Capture { numbers: plan.numbers_messages(), ..capture }),
                latest: vec![RecentNumbers::default(); latest as usize],
                first_place: place,
                probes: roles.probes_of(*number),
                copies: copies[place as usize],
                received: 0,
                cache: CacheCounts::default(),
                asked_ns: 0,
                attempts: 0,
                read_ns: 0,
                was_lost: false,
                is_proved: false,
            }
        };
        let receivers: Vec<_> = context.receivers.iter().map(receiver).collect();
        let even = copies.iter().min() == copies.iter().max();
        let is_alone = delivery.threads == 1;
        let together = delivery.places_each == 1 && !delivery.kind.follows_acknowledgements();
        let known = (together || (even && is_alone)) && !roles.exchanges;
        let spread = (known && copies.iter().any(|copies| *copies > 1))
            .then(|| FirstAndLast::new(plan.recording.precision));
        let count = receivers.len() as u32;
        Self {
            engine,
            handshake: Handshake::new::<Resp>(plan),
            prober: (context.thread == 0)
                .then(|| Prober::new(ConnId(count), roles.stops(&copies), plan.numbers_messages())),
            replaced: Replacements::default(),
            listeners: roles.listeners(receivers.len()),
            receivers,
            reported: Progress::default(),
            recorder,
            reopening: ReconnectQueue::new(
                count,
                plan.load.seed,
                context.thread,
                plan.recovery.backoff,
            ),
            counts: DeliveryCounts::default(),
            spread,
            gap: kind.is_sampled().then(|| Latency::new(plan.recording.precision)),
            invalidations: (delivery.kind.follows_acknowledgements())
                .then(|| Invalidations::new(plan.recording.precision)),
            ready: 0,
            block_ns: kind.block_ns(),
            waits: None,
            under_way: None,
            pause_ns: kind.pause_ns(),
            pauses: VecDeque::new(),
            out: Vec::new(),
            epoch_ns: 0,
            context,
        }
    }

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
        let Self {
            context,
            recorder,
            receivers,
            counts,
            spread,
            gap,
            waits,
            under_way,
            invalidations,
            ..
        } = self;
        let polls = gap.map(|gap| (gap, behind));
        let reports = last_words(context.thread, recorder, Vec::new(), spent);
        let received = receivers.iter().map(|receiver| receiver.received);
        let removable = receivers.iter().map(|receiver| receiver.cache.removable).sum();
        let by_receiver = received.clone().min().zip(received.max());
        let spread: Option<(Latency, Latency)> = spread.map(FirstAndLast::latencies);
        (
            reports,
            ReceiverTotals {
                counts,
                by_receiver,
                spread,
                polls,
                waits,
                under_way,
                remains,
                invalidations,
                removable,
            },
        )
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
}
