//! What arrived: replies become settled requests.

use engine::{ConnId, Engine};
use measure::{CORRUPT, MISSING, Outcome};
use wire::{Decode, Protocol, Reply};
use workload::OnError;

use super::Worker;
use super::verify::{Checker, asked, failed};
use crate::connection::State;
use crate::request::{Answer, Keys};
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
        self.recorder.of_connection(self.route.counted_as(&connection.place, conn));
        self.route.record_of(&connection.place, &mut self.recorder);
        let inbox = self.engine.inbox();
        let before = connection.requests.commands();
        let (mut at, mut settled_at) = (0, 0);
        let by_command = self.steps.operations.is_some();
        let queues = self.answers.has_queues();
        let looks = self.verifier.is_some() || self.keeps || self.by_place || queues;
        let (mut turned_away, mut uncertain, mut refused) = (false, false, false);
        let outcome = loop {
            let decoded = match (looks, connection.requests.oldest_mut()) {
                (true, Some(oldest)) => {
                    if self.keeps {
                        self.steps.kept.expect(oldest.command, &mut connection.coming);
                    }
                    let mut checker = Checker {
                        batch: &self.batch,
                        given: oldest.given(&self.steps.kept),
                        command: oldest.command,
                        comparison: &mut connection.comparison,
                        verifier: self.verifier.as_mut(),
                        queue: if queues { self.answers.queue(oldest.command) } else { None },
                        coming: self.keeps.then_some(&mut connection.coming),
                        found: self.by_place.then_some(&mut connection.found),
                    };
                    connection.decoder.decode_shown(&inbox[at..], &mut checker)
                }
                _ => connection.decoder.decode(&inbox[at..]),
            };
            let step = match decoded {
                Ok(step) => step,
                Err(error) => break Err(Fatal(error.to_string())),
            };
            at += step.consumed;
            let Some(mut reply) = step.reply else {
                break Ok(());
            };
            let bytes = if by_command { (at - settled_at) as u64 } else { 0 };
            settled_at = at;
            if reply == Reply::Push {
                self.recorder.connections().pushes += 1;
                continue;
            }
            if let Some(oldest) = connection.requests.oldest_mut()
                && self.route.passes_over(oldest)
            {
                continue;
            }
            if matches!(reply, Reply::Empty | Reply::Number(_)) {
                let command = connection.requests.oldest_mut().map_or(0, |oldest| oldest.command);
                reply = self.answers.meant(reply, command);
            }
            if P::QUIET
                && self.answers.may_be_missing()
                && let Some(kept) = reply.without_text()
            {
                reply = kept;
                let mark = connection.decoder.mark();
                let seen = (&mut self.route, &mut self.recorder, &mut self.steps);
                let settled = self.answers.settle_silent(mark, connection, seen, now_ns);
                if let Err(fatal) = settled {
                    break Err(fatal);
                }
            }
            let mut wrong = None;
            let misses_fail = self.answers.misses_fail();
            // Of a sequence that is sent whole nobody asks how far it has come.
            if (by_command || looks || misses_fail)
                && let Some(oldest) = connection.requests.oldest_mut()
            {
                let command = oldest.command;
                let asked = |command: u32| {
                    let given = oldest.given(&self.steps.kept);
                    asked::<P>(self.context.plan, &self.batch, (given, command))
                };
                let comparison = &mut connection.comparison;
                let mut lacking =
                    (misses_fail && self.answers.lacks(reply, command)).then_some(command);
                if queues && let Some(queue) = self.answers.queue(command) {
                    let (replies, lacks) = comparison.queued.ended(queue);
                    lacking = lacks;
                    // One that failed, or was called off, answers for none.
                    if !matches!(reply, Reply::Error(_) | Reply::Miss) {
                        comparison.answered_queue((queue, command), replies);
                    }
                }
                if queues || self.verifier.is_some() {
                    let told = comparison.ended(&self.batch, command, asked);
                    wrong = told.map(|told| (CORRUPT, told));
                }
                if let (Some(command), None) = (lacking, &wrong) {
                    wrong = Some((MISSING, format!("{MISSING}: {}", asked(command))));
                }
                oldest.progress.failed |= wrong.is_some();
                if self.keeps {
                    let coming = &mut connection.coming;
                    self.steps.kept.keep(oldest.command, coming, &mut oldest.progress);
                }
                match reply {
                    Reply::Miss => oldest.progress.missed = true,
                    Reply::Error(_) => oldest.progress.failed = true,
                    Reply::Done
                    | Reply::Empty
                    | Reply::Found(_)
                    | Reply::Number(_)
                    | Reply::Push => {}
                }
            }
            let alone = connection.requests.commands() == 1;
            let Some((first_byte_ns, request)) = connection.requests.settle(now_ns) else {
                turned_away = explain::is_farewell(&reply);
                break Err(Fatal(explain::unasked(&reply)));
            };
            let place = &mut connection.place;
            let mut refusal = None;
            match reply {
                Reply::Error(text) => {
                    // Of those that may keep silent nobody knows which it answers.
                    let command = &self.context.plan.sequence[request.command as usize];
                    uncertain = P::QUIET && self.answers.may_be_missing()
                        || P::is_last_words(command, text, alone);
                    // Nothing more is sent to a server that is about to hang up.
                    refused = P::is_refusal(text);
                    let text = self.handshake.masked(explain::text(text));
                    let times = (now_ns, self.stop_ns);
                    if !uncertain
                        && self.retries.apply(request, &text, times)
                        && self.route.may_retry(place, request, &text)
                    {
                        request.progress.again = true;
                    } else if self.route.counts_error(place, request, &text) {
                        let said = (explain::kind(&text), &*text);
                        self.recorder.error(&request.answered(first_byte_ns), said, bytes, now_ns);
                        if self.context.plan.peer.each_failure && request.measured {
                            let given = request.given(&self.steps.kept);
                            let asked = (self.context.plan, &self.batch, (given, request.command));
                            let retries = request.progress.retries;
                            self.recorder.tell(failed::<P>(asked, &text, retries));
                        }
                        refusal = Some(text)
                            .filter(|_| self.context.plan.recovery.on_error == OnError::Stop);
                    }
                }
                _ if let Some((kind, text)) = &wrong => {
                    if self.route.counts_error(place, request, text) {
                        let answered = request.answered(first_byte_ns);
                        self.recorder.error(&answered, (kind, text), bytes, now_ns);
                    }
                }
                Reply::Done
                | Reply::Empty
                | Reply::Found(_)
                | Reply::Miss
                | Reply::Number(_)
                | Reply::Push => {
                    let outcome = if reply == Reply::Miss { Outcome::Miss } else { Outcome::Ok };
                    let asked = self.answers.keys(request.command);
                    let keys = match reply {
                        Reply::Found(found) => Keys { asked, found: found.min(asked) },
                        Reply::Miss => Keys { asked, found: 0 },
                        // It says nothing of them, such as that the command was queued.
                        _ => Keys { asked: 0, found: 0 },
                    };
                    let answered = request.answered(first_byte_ns);
                    let answer = Answer { answered, outcome, bytes, keys };
                    if self.route.counts(place, request, &answer, now_ns) {
                        self.recorder.reply(&answer, now_ns);
                        if self.by_place && connection.found.len() == asked as usize {
                            self.recorder.found(&answered, &connection.found);
                        }
                    }
                }
            }
            if self.by_place {
                connection.found.clear();
            }
            if request.left == 0 {
                let completed = self.route.completed(place, request, &mut self.recorder, now_ns);
                let request = (&*request, &mut connection.walk);
                self.steps.completed(completed, request, &mut self.recorder, now_ns);
            }
            connection.requests.advance(self.sequence_len);
            if let Some(text) = refusal {
                break Err(Fatal(explain::error_reply(&text)));
            }
            if uncertain || refused {
                break Ok(());
            }
        };
        if inbox.len() > settled_at {
            connection.requests.reply_begun(now_ns);
        }
        self.recorder.read_ended(now_ns, inbox.len());
        let settled = before - connection.requests.commands();
        self.engine.consume(at);
        self.in_flight -= u64::from(settled);
        // After such an error replies cannot be told apart any more, so that connection ends here; the
        // run goes on with another in its place.
        let gone = outcome.is_ok() && (uncertain || refused && self.reconnects())
            || turned_away && self.reconnects();
        if gone {
            self.hang_up(conn, 0);
        } else {
            outcome?;
        }
        if !self.steps.failed.is_empty() {
            self.put_off(conn);
        }
        if !self.steps.due.is_empty() {
            R::follow(self, conn);
        }
        R::after_read(self)?;
        Ok((settled > 0 && !gone).then_some(conn))
    }
}
