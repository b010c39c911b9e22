//! Opening of connections: at the start, all that carry load from then on; later, those that join, those that are
//! renewed, and those that were lost.

use engine::{ConnId, Engine, Event, TlsHandshake};
use wire::Protocol;

use super::Worker;
use crate::Fatal;
use crate::connection::State;
use crate::handshake::HandshakeReply;
use crate::opening::{Gaps, Opening};
use crate::route::RouteHooks;

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Waits for events, or until this time on the engine's clock.
    #[inline]
    pub(super) fn wait(&mut self, until_ns: Option<u64>) -> Result<(), Fatal> {
        let waited = self.engine.wait(until_ns);
        waited.map_err(|e| Fatal::new(format!("waiting for the server: {e}")))
    }

    /// Opens the connections and waits for the other workers. Returns false if the run was stopped meanwhile.
    pub(crate) fn open(&mut self) -> Result<bool, Fatal> {
        R::prepare(self);
        self.wait(Some(0))?;
        let gate = self.context.gate;
        // Those of the first clients come first.
        let total = (0..self.connections.len() as u32)
            .filter(|conn| R::OPENS_FIRST && self.has_joined(ConnId(*conn)))
            .count() as u32;
        let mut opening = Opening::new(
            total,
            self.engine.now_ns(),
            Gaps::from_plan(self.context.plan, self.context.worker),
        );
        while !opening.is_complete() {
            let now_ns = self.engine.now_ns();
            while let Some(n) = opening.next(now_ns) {
                self.connect(ConnId(n));
            }
            self.greet_waiting()?;
            self.wait(Some(self.login_wake_ns(opening.wake_ns())))?;
            while let Some(event) = self.engine.next() {
                if self.settle_event(event)?.is_some() {
                    opening.opened(self.engine.now_ns());
                }
            }
            if gate.stopped() {
                return Ok(false);
            }
            if let Some(opened) = opening.stuck(self.engine.now_ns()) {
                return Err(Fatal::new(format!(
                    "{} does not answer: {opened} of {total} connections were opened, none in \
                     the last 10 s",
                    self.silent_server()
                )));
            }
        }
        gate.arrive(self.engine.now_ns());
        loop {
            if gate.stopped() {
                return Ok(false);
            }
            let Some(until_ns) = gate.look_again_ns(self.engine.now_ns()) else {
                return Ok(true);
            };
            self.wait(Some(until_ns))?;
            while let Some(event) = self.engine.next() {
                self.settle_event(event)?;
            }
        }
    }

    /// Returns a server with a connection that is not ready, as people write it.
    fn silent_server(&self) -> String {
        let silent = self.connections.iter().find(|connection| connection.state != State::Ready);
        silent
            .or(self.connections.first())
            .map_or_else(String::new, |connection| self.route.server(&connection.place))
    }

    /// Requests a connection, unless it is to join later.
    pub(crate) fn connect(&mut self, conn: ConnId) {
        if !self.has_joined(conn) {
            return;
        }
        // Whatever it waited for is of the connection before.
        self.handshake.waiting.retain(|waiting| *waiting != conn);
        let connection = &mut self.connections[conn.0 as usize];
        connection.reopen(self.engine.now_ns());
        let address = self.route.address(&connection.place);
        let options = self.context.origins.options(self.context.first_connection + conn.0);
        self.engine.open(conn, &address, &options);
    }

    /// Handles one event. Returns the connection that has become ready or has settled replies, if any.
    #[inline]
    pub(super) fn settle_event(&mut self, event: Event) -> Result<Option<ConnId>, Fatal> {
        match event {
            Event::Received(conn) => self.receive(conn),
            Event::Opened(conn) => {
                self.connections[conn.0 as usize].opened_ns = self.engine.now_ns();
                self.note_tls_handshake(conn);
                self.greet(conn)
            }
            Event::Closed(conn, reason) => self.lost(conn, &reason).map(|()| None),
        }
    }

    /// Counts the TLS handshake of an open connection, if it had one.
    fn note_tls_handshake(&mut self, conn: ConnId) {
        if let Some(TlsHandshake { took_ns, resumed, version, cipher }) =
            self.engine.handshake(conn)
        {
            self.recorder.connections().tls.add(took_ns, resumed, version, cipher);
        }
    }

    /// Returns whether connections have a handshake before they carry load.
    pub(crate) fn logs_in(&self) -> bool {
        !self.handshake.steps.is_empty()
    }

    /// Settles replies to the handshake.
    pub(super) fn greeted(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        let reconnects = self.reconnects();
        let connection = &mut self.connections[conn.0 as usize];
        let State::Handshake { answered } = connection.state else {
            return Ok(None);
        };
        let inbox = self.engine.inbox();
        match self.handshake.hear(&mut connection.decoder, inbox, answered, reconnects)? {
            HandshakeReply::NotNow(why) => {
                self.note_refusal(conn, why);
                self.hang_up(conn, 0);
                Ok(None)
            }
            HandshakeReply::Heard { steps, consumed } => {
                connection.state = State::Handshake { answered: steps };
                self.engine.consume(consumed);
                Ok((steps == self.handshake.steps.len()).then(|| self.ready(conn)))
            }
        }
    }

    /// A connection carries load from now on.
    pub(super) fn ready(&mut self, conn: ConnId) -> ConnId {
        let now_ns = self.engine.now_ns();
        let connection = &mut self.connections[conn.0 as usize];
        connection.state = State::Ready;
        let was_lost = std::mem::take(&mut connection.lost);
        let took_ns = now_ns.saturating_sub(connection.asked_ns);
        self.ready += 1;
        self.route.count_ready(&connection.place, true);
        self.recorder.connections().connect.record_n(took_ns, 1);
        if was_lost {
            self.recorder.connections().reconnects += 1;
            self.recovered(now_ns);
            self.retries.back(conn, now_ns);
        }
        conn
    }

    /// Notes that a connection is lost, or no longer carries load.
    pub(crate) fn unready(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.0 as usize];
        if std::mem::take(&mut connection.state) == State::Ready {
            self.ready -= 1;
            self.route.count_ready(&connection.place, false);
        }
        if connection.queued && self.route.dequeue(&connection.place, conn) {
            connection.queued = false;
        }
    }

    /// Opens the connections of every step that is due. They carry load when they are ready.
    #[cold]
    pub(super) fn join(&mut self) {
        let now_ns = self.engine.now_ns();
        let clients = self.context.connections;
        let all = || (0..self.connections.len() as u32).map(ConnId);
        let absent: Vec<ConnId> = all().filter(|conn| !self.has_joined(*conn)).collect();
        while let Some(joining) = self.joined.plan.filter(|_| now_ns >= self.joined.next_ns) {
            self.joined.steps += 1;
            self.joined.count = joining.after(self.joined.steps);
            self.joined.plan_next(clients);
        }
        for conn in absent {
            self.connect(conn);
        }
    }

    /// Renews the connection whose turn it is, at once or when it has its replies.
    #[cold]
    pub(super) fn renew(&mut self) {
        let now_ns = self.engine.now_ns();
        if self.is_over() {
            self.renewals.next_ns = u64::MAX;
            return;
        }
        while now_ns >= self.renewals.next_ns {
            let Some(conn) = self.next_to_renew() else {
                // The server takes no more of them, and would get all of these at once when it does.
                self.renewals.skip(now_ns);
                return;
            };
            self.renewals.take();
            let connection = &mut self.connections[conn.0 as usize];
            connection.renews = true;
            if connection.is_idle() {
                self.replace(conn);
            }
        }
    }

    /// Returns the next connection in turn that carries load and will continue to.
    fn next_to_renew(&mut self) -> Option<ConnId> {
        let all = self.connections.len();
        for _ in 0..all {
            let at = self.renewals.next;
            self.renewals.next = if at + 1 < all { at + 1 } else { 0 };
            let connection = &self.connections[at];
            if connection.state == State::Ready && !connection.renews {
                return Some(ConnId(at as u32));
            }
        }
        None
    }

    /// Closes a connection that has sent its share and requests another, if something is left to send on it.
    pub(super) fn replace(&mut self, conn: ConnId) {
        self.engine.close(conn);
        self.unready(conn);
        if self.connections[conn.0 as usize].renews {
            self.recorder.connections().renewed += 1;
            self.recovery.opens(self.engine.now_ns());
        }
        if R::wants_connections(self) {
            self.connect(conn);
        }
    }
}
