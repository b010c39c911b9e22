//! What arrived: replies become settled requests.

use engine::{ConnId, Engine};
use measure::Outcome;
use wire::{Decode, Protocol, Reply};
use workload::OnError;

use super::Worker;
use super::operations::next_step;
use crate::connection::State;
use crate::request::Answer;
use crate::route::Route;
use crate::{Fatal, explain};

impl<E: Engine, P: Protocol, R: Route> Worker<'_, E, P, R> {
    /// Frames and settles what a connection received. That connection, if it has settled replies.
    #[inline]
    pub(super) fn receive(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        let now_ns = self.engine.now_ns();
        let connection = &mut self.connections[conn.0 as usize];
        if connection.state != State::Ready {
            return self.greeted(conn);
        }
        self.route.record_of(&connection.place, &mut self.recorder);
        let inbox = self.engine.inbox();
        let before = connection.requests.commands();
        let (mut at, mut settled_at) = (0, 0);
        let by_command = self.operations.is_some();
        let mut turned_away = false;
        let outcome = loop {
            let step = match connection.decoder.decode(&inbox[at..]) {
                Ok(step) => step,
                Err(error) => break Err(Fatal(error.to_string())),
            };
            at += step.consumed;
            let Some(reply) = step.reply else {
                break Ok(());
            };
            let bytes = if by_command { (at - settled_at) as u64 } else { 0 };
            settled_at = at;
            if reply == Reply::Push {
                self.recorder.connections().pushes += 1;
                continue;
            }
            if let Some(oldest) = connection.requests.oldest_mut() {
                if self.route.passes_over(oldest) {
                    continue;
                }
                match reply {
                    Reply::Miss => oldest.progress.missed = true,
                    Reply::Error(_) => oldest.progress.failed = true,
                    Reply::Done | Reply::Push => {}
                }
            }
            let Some((answered, request)) = connection.requests.settle(now_ns, self.sequence_len)
            else {
                turned_away = explain::is_farewell(&reply);
                break Err(Fatal(explain::unasked(&reply)));
            };
            let place = &mut connection.place;
            let mut refusal = None;
            match reply {
                Reply::Error(text) => {
                    let text = self.handshake.masked(explain::text(text));
                    if self.route.counts_error(place, &request, &text) {
                        let said = (explain::kind(&text), &*text);
                        self.recorder.error(&answered, said, bytes, now_ns);
                        refusal =
                            Some(text).filter(|_| self.context.plan.on_error == OnError::Stop);
                    }
                }
                Reply::Done | Reply::Miss | Reply::Push => {
                    let outcome = if reply == Reply::Miss { Outcome::Miss } else { Outcome::Ok };
                    let answer = Answer { answered, outcome, bytes };
                    if self.route.counts(place, &request, &answer, now_ns) {
                        self.recorder.reply(&answer, now_ns);
                    }
                }
            }
            if request.left == 0
                && self.route.completed(place, request, &mut self.recorder, now_ns)
                && let Some(operations) = &self.operations
            {
                match next_step(operations, &request) {
                    Some(next) => self.followers.push(next),
                    None => self.recorder.operation(&request, now_ns),
                }
            }
            if let Some(text) = refusal {
                break Err(Fatal(explain::error_reply(&text)));
            }
        };
        if inbox.len() > settled_at {
            connection.requests.reply_begun(now_ns);
        }
        self.recorder.read_ended(now_ns, inbox.len());
        let settled = before - connection.requests.commands();
        self.engine.consume(at);
        self.in_flight -= u64::from(settled);
        let gone = turned_away && self.reconnects();
        if gone {
            self.hang_up(conn, 0);
        } else {
            outcome?;
        }
        if !self.followers.is_empty() {
            R::follow(self, conn);
        }
        R::after_read(self)?;
        Ok((settled > 0 && !gone).then_some(conn))
    }
}
