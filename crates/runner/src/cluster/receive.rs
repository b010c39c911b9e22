//! What arrived: events become settled replies, ready connections, or the end of the run.

use engine::{ConnId, Engine, Event, Handshake};
use measure::Outcome;
use wire::cluster::Redirect;
use wire::{Decode, Protocol, Reply};
use workload::OnError;

use super::link::begun;
use super::worker::ClusterWorker;
use crate::prelude::Greeting;
use crate::session::State;
use crate::{Fatal, explain};

impl<E: Engine, P: Protocol> ClusterWorker<'_, E, P> {
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
        if self.prelude.steps.is_empty() {
            return Some(self.ready(conn));
        }
        self.links[conn.0 as usize].state = State::Greeting { answered: 0 };
        self.engine.send(conn, &self.prelude.bytes);
        None
    }

    fn ready(&mut self, conn: ConnId) -> ConnId {
        let link = &mut self.links[conn.0 as usize];
        link.state = State::Ready;
        let was_lost = std::mem::take(&mut link.lost);
        let took_ns = self.engine.now_ns().saturating_sub(link.asked_ns);
        self.lanes.count_ready(link.node, true);
        self.recorder.connections().connect.record_n(took_ns, 1);
        if was_lost {
            self.recorder.connections().reconnects += 1;
            self.reopening.back(self.engine.now_ns());
        }
        conn
    }

    /// Frames and settles what a connection received.
    #[inline]
    fn receive(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        let now_ns = self.engine.now_ns();
        let link = &self.links[conn.0 as usize];
        if link.state != State::Ready {
            return self.greeted(conn);
        }
        self.record_of(link.node);
        let link = &mut self.links[conn.0 as usize];
        let tally = &mut self.tallies[usize::from(link.node)];
        let inbox = self.engine.inbox();
        let (mut at, mut settled_at, mut settled) = (0, 0, 0);
        let mut turned_away = false;
        let outcome = loop {
            let step = match link.decoder.decode(&inbox[at..]) {
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
            let first_byte_ns = begun(&mut link.first_byte, &link.requests, now_ns);
            let Some(request) = link.requests.front_mut() else {
                turned_away = explain::is_farewell(&reply);
                break Err(Fatal(explain::unasked(&reply)));
            };
            if std::mem::take(&mut request.asking) {
                continue; // The reply to ASKING.
            }
            let command = request.command + request.answered;
            request.answered += 1;
            let is_last = request.answered == request.commands;
            let mut failure = None;
            match reply {
                Reply::Error(text) => {
                    let text = self.prelude.masked(explain::text(text));
                    if Redirect::parse(&text).is_some() {
                        link.away.get_or_insert(text);
                    } else if link.away.is_none() {
                        let flight = request.flight(command, first_byte_ns);
                        self.recorder.error(&flight, explain::kind(&text), &text, now_ns);
                        tally.errors += u64::from(request.measured);
                        failure = Some(text);
                    } // Else an EXEC that fails because of the redirect.
                }
                Reply::Done | Reply::Miss | Reply::Push => {
                    let outcome = if reply == Reply::Miss { Outcome::Miss } else { Outcome::Ok };
                    if request.commands == 1 {
                        let flight = request.flight(command, first_byte_ns);
                        self.recorder.reply(&flight, outcome, now_ns);
                        if request.measured {
                            tally.ok += 1;
                            tally.response.record_n(now_ns - flight.intended_ns, 1);
                        }
                    } else {
                        link.held.push((command, outcome));
                    }
                }
            }
            if is_last {
                let request = *request;
                link.requests.pop_front();
                settled += 1;
                match link.away.take() {
                    Some(text) => {
                        link.held.clear();
                        self.turned_away.push((link.node, request, text));
                    }
                    None => self.in_flight -= 1,
                }
                for (command, outcome) in link.held.drain(..) {
                    let flight = request.flight(command, first_byte_ns);
                    self.recorder.reply(&flight, outcome, now_ns);
                    if request.measured {
                        tally.ok += 1;
                        tally.response.record_n(now_ns - flight.intended_ns, 1);
                    }
                }
            }
            if let Some(text) = failure
                && self.shift.plan.on_error == OnError::Stop
            {
                break Err(Fatal(explain::error_reply(&text)));
            }
        };
        if inbox.len() > settled_at {
            link.begun(now_ns);
        }
        self.recorder.read_ended(now_ns, inbox.len());
        self.engine.consume(at);
        if turned_away && self.mends() {
            self.hang_up(conn, 0);
        } else {
            outcome?;
        }
        if !self.turned_away.is_empty() {
            self.redirect()?;
        }
        Ok((settled > 0).then_some(conn))
    }

    /// Settles replies to the prelude.
    fn greeted(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        let mends = self.mends();
        let link = &mut self.links[conn.0 as usize];
        let State::Greeting { answered } = link.state else {
            return Ok(None);
        };
        let inbox = self.engine.inbox();
        match self.prelude.hear(&mut link.decoder, inbox, answered, mends)? {
            Greeting::NotNow => {
                self.hang_up(conn, 0);
                Ok(None)
            }
            Greeting::Answered { steps, consumed } => {
                link.state = State::Greeting { answered: steps };
                self.engine.consume(consumed);
                Ok((steps == self.prelude.steps.len()).then(|| self.ready(conn)))
            }
        }
    }
}
