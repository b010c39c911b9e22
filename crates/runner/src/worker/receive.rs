//! What arrived: events become settled replies, ready connections, or the end of the run.

use engine::{ConnId, Engine, Event, Handshake};
use measure::Outcome;
use wire::{Decode, Protocol, Reply};
use workload::OnError;

use super::Worker;
use crate::prelude::Greeting;
use crate::session::State;
use crate::{Fatal, explain};

impl<E: Engine, P: Protocol> Worker<'_, E, P> {
    /// Deals with one event. The connection that has become ready or has settled replies, if any.
    #[inline]
    pub(super) fn settle_event(&mut self, event: Event) -> Result<Option<ConnId>, Fatal> {
        match event {
            Event::Received(conn) => self.receive(conn),
            Event::Opened(conn) => {
                self.note_handshake(conn);
                Ok(self.greet(conn))
            }
            Event::Closed(conn, reason) => self.lost(conn, &reason).map(|()| None),
        }
    }

    /// Counts the TLS handshake of a connection that is open, if it had one.
    fn note_handshake(&mut self, conn: ConnId) {
        if let Some(Handshake { took_ns, resumed, version, cipher }) = self.engine.handshake(conn) {
            self.recorder.connections().tls.add(took_ns, resumed, version, cipher);
        }
    }

    /// A connection is open: it says who it is, or is ready if there is nothing to say.
    fn greet(&mut self, conn: ConnId) -> Option<ConnId> {
        let session = &mut self.sessions[conn.0 as usize];
        if self.prelude.steps.is_empty() {
            return Some(self.ready(conn));
        }
        session.state = State::Greeting { answered: 0 };
        self.engine.send(conn, &self.prelude.bytes);
        None
    }

    fn ready(&mut self, conn: ConnId) -> ConnId {
        let session = &mut self.sessions[conn.0 as usize];
        session.state = State::Ready;
        self.ready += 1;
        let took_ns = self.engine.now_ns().saturating_sub(session.asked_ns);
        let was_lost = session.lost;
        self.recorder.connections().connect.record_n(took_ns, 1);
        if was_lost {
            self.mended(conn);
        }
        conn
    }

    /// Frames and settles what a connection received.
    #[inline]
    fn receive(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        let now_ns = self.engine.now_ns();
        let session = &mut self.sessions[conn.0 as usize];
        if session.state != State::Ready {
            return self.greeted(conn);
        }
        let inbox = self.engine.inbox();
        let before = session.flights.commands();
        let (mut at, mut settled_at) = (0, 0);
        let mut turned_away = false;
        let outcome = loop {
            let step = match session.decoder.decode(&inbox[at..]) {
                Ok(step) => step,
                Err(error) => break Err(Fatal(error.to_string())),
            };
            at += step.consumed;
            let Some(reply) = step.reply else {
                break Ok(());
            };
            settled_at = at;
            if reply == Reply::Push {
                self.recorder.connections().pushes += 1;
                continue;
            }
            let Some(flight) = session.flights.settle(now_ns, self.sequence_len) else {
                turned_away = explain::is_farewell(&reply);
                break Err(Fatal(explain::unasked(&reply)));
            };
            match reply {
                Reply::Done => self.recorder.reply(&flight, Outcome::Ok, now_ns),
                Reply::Miss => self.recorder.reply(&flight, Outcome::Miss, now_ns),
                Reply::Error(text) => {
                    let text = self.prelude.masked(explain::text(text));
                    let kind = explain::kind(&text);
                    self.recorder.error(&flight, kind, &text, now_ns);
                    if self.shift.plan.on_error == OnError::Stop {
                        break Err(Fatal(explain::error_reply(&text)));
                    }
                }
                Reply::Push => {}
            }
        };
        if inbox.len() > settled_at {
            session.flights.reply_begun(now_ns);
        }
        self.recorder.read_ended(now_ns, inbox.len());
        let settled = before - session.flights.commands();
        self.engine.consume(at);
        self.in_flight -= u64::from(settled);
        if turned_away && self.mends() {
            self.hang_up(conn, 0);
            return Ok(None);
        }
        outcome.map(|()| (settled > 0).then_some(conn))
    }

    /// Settles replies to the prelude.
    fn greeted(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        let mends = self.mends();
        let session = &mut self.sessions[conn.0 as usize];
        let State::Greeting { answered } = session.state else {
            return Ok(None);
        };
        let inbox = self.engine.inbox();
        match self.prelude.hear(&mut session.decoder, inbox, answered, mends)? {
            Greeting::NotNow => {
                self.hang_up(conn, 0);
                Ok(None)
            }
            Greeting::Answered { steps, consumed } => {
                session.state = State::Greeting { answered: steps };
                self.engine.consume(consumed);
                Ok((steps == self.prelude.steps.len()).then(|| self.ready(conn)))
            }
        }
    }
}
