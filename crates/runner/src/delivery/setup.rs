//! Setup of receivers: connections, first requests, and the probes that show that messages come through.

use std::sync::atomic::Ordering;

use engine::{Address, ConnId, Engine};
use wire::resp::RespDecoder;
use workload::DeliveryKind;

use super::Roles;
use super::kind::Dispatch;
use super::probe::{ProbeAction, Prober};
use super::receivers::{DRAIN_LOOK_NS, Receivers, State};
use crate::Fatal;
use crate::opening::Opening;

/// Longest wait for the first messages while none comes.
const PATIENCE_NS: u64 = 10_000_000_000;

impl<E: Engine> Receivers<'_, E> {
    /// Opens all connections, sends the first requests, and waits until a probe has come through each place
    /// and load has begun. Returns false if the run was stopped.
    pub(super) fn set_up(&mut self) -> Result<bool, Fatal> {
        let (roles, plan) = (self.context.roles, self.context.plan);
        self.wait(0)?;
        let mut opening = Opening::new(self.receivers.len() as u32, self.engine.now_ns(), None);
        let mut progress = (self.engine.now_ns(), u64::MAX);
        let mut arrived = false;
        let patience_ns = PATIENCE_NS + roles.delivery.kind.delay_ns();
        loop {
            let now_ns = self.engine.now_ns();
            while let Some(number) = opening.next(now_ns) {
                self.connect(ConnId(number));
            }
            self.reopen(now_ns);
            let before = self.ready;
            if let Some(start_ns) = roles.gate.start_ns().filter(|_| arrived) {
                self.recorder.start(start_ns, plan.load.warmup_ns);
                self.recorder.expect_every(plan.due_every_ns());
                return Ok(true);
            }
            let until_ns = if opening.is_complete() { u64::MAX } else { opening.wake_ns() };
            self.turn(until_ns.min(now_ns + DRAIN_LOOK_NS))?;
            (before..self.ready).for_each(|_| opening.opened(self.engine.now_ns()));
            if roles.gate.stopped() {
                return Ok(false);
            }
            let missing = u64::from(self.unready()) << 32 | u64::from(roles.probes_left());
            let now_ns = self.engine.now_ns();
            if missing < progress.1 || arrived {
                progress = (now_ns, missing);
            }
            if now_ns > progress.0 + patience_ns {
                return Err(Fatal::new(self.what_is_missing()));
            }
            self.probe()?;
            if self.is_probed() && !std::mem::replace(&mut arrived, true) {
                roles.gate.arrive(now_ns);
            }
            self.report_progress(false);
        }
    }

    /// Continues reading the last message of each place. Only the first thread does this.
    pub(super) fn read_finals(&mut self) -> Result<(), Fatal> {
        if self.prober.is_none() || self.context.roles.finals.get().is_some() {
            return Ok(());
        }
        let roles = self.context.roles;
        let stops = || roles.stops(&roles.copies_by_place());
        self.prober.iter_mut().for_each(|prober| prober.read_finals(roles.delivery, &stops));
        self.go_on_probing();
        if let Some(finals) = self.prober.as_mut().and_then(Prober::take_finals) {
            let _ = self.context.roles.finals.set(finals);
        }
        Ok(())
    }

    /// Sends a last probe behind the last message through each place, where messages come from other
    /// processes.
    pub(super) fn begin_last_probes(&mut self) {
        let roles = self.context.roles;
        if !roles.exchanges || roles.competes {
            return;
        }
        if let Some(prober) = &mut self.prober {
            let stops = roles.stops(&roles.copies_by_place());
            *prober = Prober::new(prober.conn, stops, self.context.plan.numbers_messages());
        }
    }

    /// Continues with the probes, which the first thread sends when all receivers are ready.
    fn probe(&mut self) -> Result<(), Fatal> {
        let roles = self.context.roles;
        if self.unready() > 0 {
            return Ok(());
        }
        let all_ready = roles.is_subscribed(self.context.thread);
        if all_ready {
            self.go_on_probing();
        }
        Ok(())
    }

    pub(super) fn go_on_probing(&mut self) {
        let roles = self.context.roles;
        let Some(prober) = &mut self.prober else { return };
        let now_ns = self.engine.now_ns();
        let (sequence, delivery) = (&self.context.plan.sequence, roles.delivery);
        match prober.next(sequence, delivery, roles.run, roles.prober, now_ns, &mut self.out) {
            ProbeAction::Connect => {
                let (conn, count) = (prober.conn, roles.delivery.receivers);
                // One server may have moved since.
                let named = prober.address().filter(|_| roles.homes.is_cluster()).cloned();
                let address = named.unwrap_or_else(|| roles.homes.name());
                self.engine.open(conn, &address, &self.context.origins.options(count));
            }
            ProbeAction::Send => {
                self.engine.send(prober.conn, &self.out);
            }
            ProbeAction::Close => self.engine.close(prober.conn),
            ProbeAction::Nothing => {}
        }
    }

    pub(super) fn is_prober(&self, conn: ConnId) -> bool {
        conn.0 as usize == self.receivers.len()
    }

    /// Opens the connection of a receiver; with listeners, the listener's first.
    pub(super) fn connect(&mut self, conn: ConnId) {
        if !self.connect_listener(conn) {
            self.open_receiver(conn);
        }
    }

    pub(super) fn open_receiver(&mut self, conn: ConnId) {
        let receiver = &mut self.receivers[conn.0 as usize];
        receiver.decoder = RespDecoder::default();
        receiver.strings.clear();
        let number = self.context.plan.own_connections() + self.context.receivers[conn.0 as usize];
        self.engine.open(conn, &receiver.home, &self.context.origins.options(number));
    }

    /// Greets on an open connection: the handshake, then the first requests.
    pub(super) fn greet(&mut self, conn: ConnId) -> Result<(), Fatal> {
        let has_login = !self.handshake.steps.is_empty();
        if self.is_listener(conn) {
            self.greet_listener(conn);
        } else if self.is_prober(conn) {
            self.prober.iter_mut().for_each(|prober| prober.opened(self.handshake.steps.len()));
        } else if has_login {
            self.receivers[conn.0 as usize].state = State::Handshake { answered: 0 };
        } else {
            self.ask(conn);
        }
        if has_login { self.log_in(conn) } else { Ok(()) }
    }

    pub(super) fn ask(&mut self, conn: ConnId) {
        let receiver = &mut self.receivers[conn.0 as usize];
        self.out.clear();
        let left = receiver.consumer.ask(&mut self.out);
        receiver.state = State::Asking { left };
        receiver.asked_ns = self.engine.send(conn, &self.out);
        if left == 0 {
            self.is_ready(conn);
        }
    }

    pub(super) fn is_ready(&mut self, conn: ConnId) {
        let receiver = &mut self.receivers[conn.0 as usize];
        receiver.state = State::Ready;
        self.ready += 1;
        // Whether a command that waits is let wait shows later.
        if self.block_ns.is_none() {
            self.is_proved(conn);
        }
    }

    /// Notes that the server serves a receiver, which is back if it was lost.
    #[inline]
    pub(super) fn is_proved(&mut self, conn: ConnId) {
        let receiver = &mut self.receivers[conn.0 as usize];
        if std::mem::replace(&mut receiver.is_proved, true) {
            return;
        }
        receiver.attempts = 0;
        if std::mem::take(&mut receiver.was_lost) {
            self.recorder.connections().reconnects += 1;
            self.reopening.back(self.engine.now_ns());
        }
    }

    pub(super) fn hear_prober(&mut self) -> Result<(), Fatal> {
        let Some(prober) = &mut self.prober else { return Ok(()) };
        let homes = &self.context.roles.homes;
        let consumed = prober.hear(&self.handshake, homes, self.engine.inbox())?;
        self.engine.consume(consumed);
        Ok(())
    }

    /// Number of receivers that do not wait for messages yet.
    pub(super) fn unready(&self) -> u32 {
        self.receivers.len() as u32 - self.ready
    }

    /// Returns the reason why load cannot begin.
    fn what_is_missing(&self) -> String {
        let (address, of) = (self.context.roles.homes.name(), self.receivers.len());
        match self.unready() {
            0 => {
                let roles = self.context.roles;
                let hint = match roles.delivery.kind {
                    DeliveryKind::Notify { .. } => "; see notify-keyspace-events of the server",
                    _ => "",
                };
                format!(
                    "{address}: {} of {} messages that should show whether receivers get any did not arrive within \
                     10 s{hint}",
                    roles.probes_left(),
                    roles.probes
                )
            }
            unready => format!(
                "{address} does not answer: {unready} of {of} receivers have no confirmation after 10 s"
            ),
        }
    }
}

impl Roles<'_> {
    /// Notes that all receivers of a thread are subscribed. Returns whether those of all threads are.
    fn is_subscribed(&self, thread: u16) -> bool {
        self.threads[usize::from(thread)].subscribed.store(true, Ordering::Release);
        self.are_subscribed()
    }

    /// Returns whether all receivers wait for messages.
    pub(super) fn are_subscribed(&self) -> bool {
        self.threads.iter().all(|thread| thread.subscribed.load(Ordering::Acquire))
    }

    /// Returns the servers that probes go to, each with those of its places that have receivers.
    pub(super) fn stops(&self, receivers_by_place: &[u32]) -> Vec<(Address, Vec<u32>)> {
        let mut stops: Vec<(Address, Vec<u32>)> = Vec::new();
        let places = (0..).zip(receivers_by_place).filter(|(_, receivers)| **receivers > 0);
        for (place, _) in places {
            let address = self.homes.of_place(self.delivery, place);
            match stops.iter_mut().find(|(known, _)| *known == address) {
                Some((_, places)) => places.push(place),
                None => stops.push((address, vec![place])),
            }
        }
        stops
    }

    pub(super) fn probe_arrived(&self) {
        self.probed.fetch_add(1, Ordering::AcqRel);
    }

    /// Deliveries of probes that have not come.
    pub(super) fn probes_left(&self) -> u32 {
        self.probes.saturating_sub(self.probed.load(Ordering::Acquire))
    }

    /// Number of probes that a receiver is to get, or the most where one of several receivers gets each.
    pub(super) fn probes_of(&self, receiver: u32) -> u32 {
        match self.kind.sharing() {
            // Of messages that go between clients, others show the end.
            Dispatch::FanOut => {
                let places = self.delivery.places_of(receiver).count() as u32;
                places * (1 + u32::from(self.exchanges))
            }
            Dispatch::Competing { .. } => u32::MAX,
        }
    }

    /// Deliveries of a message through each place: to receivers of this process only, unless receivers of all
    /// processes compete for it.
    pub(super) fn copies_by_place(&self) -> Vec<u32> {
        let sharing = self.kind.sharing();
        let receivers = if self.competes {
            self.delivery.of_all_clients().receivers_by_place()
        } else {
            self.delivery.receivers_by_place()
        };
        receivers.into_iter().map(|receivers| sharing.copies(receivers)).collect()
    }
}
