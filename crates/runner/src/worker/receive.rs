//! Settling of arrived replies.
//!
//! [`Worker::receive`] is called for each read, [`Settler::settle`] for each reply.
//! [`inspect`](super::inspect) takes a closer look where the plan asks for it.

use std::marker::PhantomData;

use engine::{ConnId, Engine};
use measure::Outcome;
use wire::{Batch, Decode, Protocol, Reply};
use workload::{OnError, Plan};

use super::Worker;
use super::cursor_scan::CursorScan;
use super::inspections::Inspections;
use super::operations::Steps;
use super::read_end::{ReadEnd, unexpected};
use super::reply_rules::ReplyRules;
use super::retry::Retries;
use super::verify::{Verifier, failed};
use crate::connection::{IncomingReply, State};
use crate::handshake::Handshake;
use crate::messages::AckLog;
use crate::recorder::Recorder;
use crate::request::{Keys, Request, Requests, SettledReply};
use crate::route::{Route, RouteHooks};
use crate::{Fatal, explain};

/// Minimum length of the rest of a string for which it is dropped unseen; less is cheaper to copy.
const DROPPED_LEAST: u64 = 16 * 1024;

/// Bytes of a read: those that were decoded, and those of whole replies.
#[derive(Default)]
struct Span {
    /// Bytes of the first reply that came before this read.
    begun: u64,
    decoded: usize,
    settled: usize,
}

impl Span {
    /// Decoded bytes of the incomplete reply.
    #[inline]
    fn of_reply(&self) -> u64 {
        self.begun + (self.decoded - self.settled) as u64
    }
}

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Frames and settles the replies on a connection. Returns the connection if there were any.
    #[inline]
    pub(super) fn receive(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        let now_ns = self.engine.now_ns();
        let connection = &mut self.connections[conn.0 as usize];
        if connection.state != State::Ready {
            return self.greeted(conn);
        }
        let arrived_ns = self.engine.arrived_ns();
        self.recorder.of_read(self.route.counted_as(&connection.place, conn), arrived_ns);
        self.route.record_of(&connection.place, &mut self.recorder);
        let inbox = self.engine.inbox();
        let commands = connection.requests.commands();
        let mut settler = Settler::<P, R> {
            context: ReplyContext {
                plan: self.context.plan,
                batch: &self.batch,
                reply_rules: &self.reply_rules,
                handshake: &self.handshake,
                retries: &self.retries,
                acknowledgements: self.context.acknowledgements,
                asks: self.inspections,
                sequence_len: self.sequence_len,
                stop_ns: self.stop_ns,
            },
            route: &mut self.route,
            recorder: &mut self.recorder,
            steps: &mut self.steps,
            verifier: &mut self.verifier,
            place: &mut connection.place,
            scan: &mut connection.scan,
            incoming: &mut connection.incoming,
            now_ns,
            ended: Ok(ReadEnd::Read),
            protocol: PhantomData,
        };
        let requests = &mut connection.requests;
        let before = Span { begun: connection.reply_bytes, ..Span::default() };
        let span = settler.settle_all(&mut connection.decoder, requests, inbox, before);
        let ended = settler.ended;
        if inbox.len() > span.settled {
            requests.reply_begun(now_ns);
        }
        let settled = commands - requests.commands();
        connection.reply_bytes = span.of_reply();
        let arrived = inbox.len() + std::mem::take(&mut connection.dropped) as usize;
        self.recorder.read_ended(now_ns, arrived);
        self.engine.consume(span.decoded);
        let to_come = connection.decoder.text_to_come();
        if to_come >= DROPPED_LEAST && !self.inspections.strings {
            self.drop_text(conn, to_come);
        }
        self.in_flight -= u64::from(settled);
        self.read_ended(conn, ended, settled)
    }

    /// Has the engine drop the rest of a string that nothing inspects.
    #[cold]
    fn drop_text(&mut self, conn: ConnId, to_come: u64) {
        let connection = &mut self.connections[conn.0 as usize];
        let dropped = self.engine.discard(conn, to_come);
        connection.decoder.skip_text(dropped);
        connection.dropped = dropped;
        connection.reply_bytes += dropped;
    }

    /// Continues after the replies of a read: replaces a connection that is no longer useful, and sends the
    /// steps that have become due.
    #[inline]
    fn read_ended(
        &mut self,
        conn: ConnId,
        ended: Result<ReadEnd, Fatal>,
        settled: u32,
    ) -> Result<Option<ConnId>, Fatal> {
        let is_gone = match ended {
            Ok(ReadEnd::Read) => false,
            Ok(ReadEnd::Uncertain) => true,
            Ok(ReadEnd::Refused) => self.reconnects(),
            Ok(ReadEnd::TurnedAway(fatal)) if self.reconnects() => {
                self.note_refusal(conn, fatal.text);
                true
            }
            Ok(ReadEnd::TurnedAway(fatal)) | Err(fatal) => return Err(fatal),
        };
        if is_gone {
            self.hang_up(conn, 0);
        }
        if !self.steps.failed.is_empty() {
            self.postpone(conn);
        }
        self.follow(conn);
        R::after_read(self)?;
        Ok((settled > 0 && !is_gone).then_some(conn))
    }
}

/// Facts about requests and their replies that hold for the whole run.
pub(super) struct ReplyContext<'w, M> {
    pub(super) plan: &'w Plan,
    pub(super) batch: &'w Batch,
    pub(super) reply_rules: &'w ReplyRules,
    handshake: &'w Handshake,
    retries: &'w Retries<M>,
    acknowledgements: AckLog<'w>,
    pub(super) asks: Inspections,
    pub(super) sequence_len: u32,
    stop_ns: u64,
}

/// Parts of the worker and of the connection that settle the replies of one read.
pub(super) struct Settler<'w, P, R: Route> {
    pub(super) context: ReplyContext<'w, R::Mark>,
    route: &'w mut R,
    pub(super) recorder: &'w mut Recorder,
    pub(super) steps: &'w mut Steps<R::Mark>,
    pub(super) verifier: &'w mut Option<Verifier>,
    place: &'w mut R::RouteState,
    scan: &'w mut CursorScan,
    pub(super) incoming: &'w mut IncomingReply,
    pub(super) now_ns: u64,
    /// Reason why it stops, once it does.
    ended: Result<ReadEnd, Fatal>,
    protocol: PhantomData<P>,
}

impl<P: Protocol, R: Route> Settler<'_, P, R> {
    /// Decodes the replies in `inbox` and settles the oldest request with each, until the end or a reason in
    /// `ended`.
    #[inline]
    fn settle_all(
        &mut self,
        decoder: &mut P::Decoder,
        requests: &mut Requests<R::Mark>,
        inbox: &[u8],
        mut span: Span,
    ) -> Span {
        let mut may_repeat = self.context.asks.nothing || self.context.asks.alike;
        loop {
            let rest = &inbox[span.decoded..];
            if rest.is_empty() {
                return span;
            }
            let is_whole = may_repeat && decoder.is_between_replies();
            let decoded = if self.context.asks.strings
                && let Some(oldest) = requests.oldest_mut()
            {
                decoder.decode_shown(rest, &mut self.checker(oldest))
            } else {
                decoder.decode(rest)
            };
            let step = match decoded {
                Ok(step) => step,
                Err(error) => {
                    self.ended = Err(Fatal::new(error.to_string()));
                    return span;
                }
            };
            let consumed = step.consumed;
            span.decoded += consumed;
            let Some(reply) = step.reply else { return span };
            let bytes = if self.context.asks.operations { span.of_reply() } else { 0 };
            (span.begun, span.settled) = (0, span.decoded);
            if self.answers_nothing(reply, requests) {
                continue;
            }
            let receivers = self.receivers_named(reply);
            let mut reply = self.meant(reply, requests);
            if P::QUIET
                && self.context.reply_rules.may_be_missing()
                && let Some(kept) = reply.without_text()
            {
                reply = kept;
                if let Err(fatal) = self.settle_silent(requests, decoder.mark()) {
                    self.ended = Err(fatal);
                    return span;
                }
            }
            let repeated = if is_whole { reply.without_text() } else { None };
            if let Some(reply) = repeated.filter(|_| self.context.asks.alike) {
                let alike = self.settle_alike(requests, reply, bytes, rest, consumed);
                if alike > 0 {
                    span.decoded += (alike - 1) * consumed;
                    span.settled = span.decoded;
                    continue;
                }
            }
            if !self.settle(requests, reply, bytes) {
                return span;
            }
            if let Some(reply) = repeated.filter(|_| self.context.asks.nothing) {
                let more = self.settle_repeats(requests, reply, receivers, rest, consumed);
                span.decoded += more * consumed;
                span.settled = span.decoded;
                may_repeat = more > 0;
            }
        }
    }

    /// Returns whether a reply answers no request: a push, or the answer to a command sent on a request's
    /// behalf.
    #[inline]
    fn answers_nothing(&mut self, reply: Reply<'_>, requests: &mut Requests<R::Mark>) -> bool {
        if reply == Reply::Push {
            self.recorder.connections().pushes += 1;
            return true;
        }
        requests.oldest_mut().is_some_and(|oldest| self.route.passes_over(oldest))
    }

    /// Returns the number of receivers that a reply gives for a message, where replies give one.
    #[inline]
    fn receivers_named(&self, reply: Reply<'_>) -> u32 {
        match reply {
            Reply::Number(receivers) if self.context.asks.receivers => receivers,
            _ => 0,
        }
    }

    /// Returns the meaning of a reply to the command that it answers.
    #[inline]
    fn meant<'b>(&mut self, reply: Reply<'b>, requests: &mut Requests<R::Mark>) -> Reply<'b> {
        if self.context.asks.replicas.is_some() {
            return self.meant_by_replicas(reply);
        }
        if !matches!(reply, Reply::Empty | Reply::Number(_)) {
            return reply;
        }
        if self.context.acknowledgements.is_refusal(reply) {
            return Reply::Miss;
        }
        let oldest = requests.oldest_mut();
        if self.context.asks.receivers
            && let (Reply::Number(receivers), Some(oldest)) = (reply, &oldest)
        {
            self.recorder.reached(oldest, receivers.into());
        }
        self.context.reply_rules.meant(reply, oldest.map_or(0, |oldest| oldest.command))
    }

    /// Settles the oldest request with its reply. Returns whether the next reply can be settled too.
    #[inline]
    fn settle(&mut self, requests: &mut Requests<R::Mark>, reply: Reply<'_>, bytes: u64) -> bool {
        let wrong = match requests.oldest_mut() {
            Some(oldest) if self.context.asks.any => self.inspect(oldest, reply),
            _ => None,
        };
        let is_alone = requests.commands() == 1;
        let Some((first_byte_ns, request)) = requests.settle(self.now_ns) else {
            self.ended = unexpected(reply);
            return false;
        };
        self.context.acknowledgements.note(request, reply, wrong.is_some(), self.now_ns);
        let goes_on = match (reply, wrong) {
            (Reply::Error(text), _) => self.fail(request, first_byte_ns, text, bytes, is_alone),
            (_, Some((kind, text))) => {
                self.count_error(request, first_byte_ns, kind, &text, bytes);
                true
            }
            (reply, None) => {
                self.succeed(request, first_byte_ns, reply, bytes);
                true
            }
        };
        if self.has_found() {
            self.incoming.found.clear();
        }
        self.complete(request);
        requests.advance(self.context.sequence_len);
        goes_on
    }

    /// Records a reply that is no error.
    #[inline]
    fn succeed(
        &mut self,
        request: &Request<R::Mark>,
        first_byte_ns: u64,
        reply: Reply<'_>,
        bytes: u64,
    ) {
        let answer = self.answer(request, first_byte_ns, reply, bytes);
        if self.record(request, &answer)
            && self.context.asks.per_position
            && self.incoming.found.len() == self.context.reply_rules.keys(request.command) as usize
        {
            self.recorder.found(&answer.answered, &self.incoming.found);
        }
    }

    /// Returns the answer to a request from a reply that is no error.
    #[inline]
    pub(super) fn answer(
        &self,
        request: &Request<R::Mark>,
        first_byte_ns: u64,
        reply: Reply<'_>,
        bytes: u64,
    ) -> SettledReply {
        let outcome = if reply == Reply::Miss { Outcome::Miss } else { Outcome::Ok };
        let asked = self.context.reply_rules.keys(request.command);
        let keys = match reply {
            Reply::Found(found) => Keys { asked, found: found.min(asked) },
            Reply::Miss => Keys { asked, found: 0 },
            // It says nothing of keys, such as that the command was queued.
            _ => Keys { asked: 0, found: 0 },
        };
        SettledReply { answered: request.answered(first_byte_ns), outcome, bytes, keys }
    }

    /// Records an answer, unless the route does so later.
    #[inline]
    pub(super) fn record(&mut self, request: &Request<R::Mark>, answer: &SettledReply) -> bool {
        let counts = self.route.counts(self.place, request, answer, self.now_ns);
        if counts {
            self.recorder.reply(answer, self.now_ns);
        }
        counts
    }

    /// Retries a request that was answered with an error, or counts the error. Returns whether the next reply
    /// can be settled.
    fn fail(
        &mut self,
        request: &mut Request<R::Mark>,
        first_byte_ns: u64,
        text: &[u8],
        bytes: u64,
        is_alone: bool,
    ) -> bool {
        let command = &self.context.plan.sequence[request.command as usize];
        // It may answer any of the commands whose success is silent.
        let is_uncertain = P::QUIET && self.context.reply_rules.may_be_missing()
            || P::is_last_words(command, text, is_alone);
        let is_refused = P::is_refusal(text);
        let text = self.context.handshake.masked(explain::text(text));
        if !is_uncertain
            && self.context.retries.apply(request, &text, self.now_ns, self.context.stop_ns)
            && self.route.may_retry(self.place, request, &text)
        {
            request.progress.again = true;
        } else if self.count_error(request, first_byte_ns, explain::kind(&text), &text, bytes) {
            if self.context.plan.peer.each_failure && request.measured {
                let given = request.given(&self.steps.kept);
                let (plan, batch) = (self.context.plan, self.context.batch);
                let (command, retries) = (request.command, request.progress.retries);
                self.recorder.tell(failed::<P>(plan, batch, given, command, &text, retries));
            }
            if self.context.plan.recovery.on_error == OnError::Stop {
                self.ended = Err(explain::error_reply(&text));
                return false;
            }
        }
        if is_uncertain {
            self.ended = Ok(ReadEnd::Uncertain);
        } else if is_refused {
            self.ended = Ok(ReadEnd::Refused);
        }
        !is_uncertain && !is_refused
    }

    /// Counts an error if it is the result of a request. Returns whether it is.
    fn count_error(
        &mut self,
        request: &Request<R::Mark>,
        first_byte_ns: u64,
        kind: &str,
        text: &str,
        bytes: u64,
    ) -> bool {
        let counts = self.route.counts_error(self.place, request, text);
        if counts && !request.measured && self.context.plan.has_source() {
            self.recorder.error_unmeasured(request.command, kind, text, self.now_ns);
        } else if counts {
            let answered = request.answered(first_byte_ns);
            self.recorder.error(&answered, kind, text, bytes, self.now_ns);
        }
        counts
    }

    /// Continues the operation of a request that has all its replies.
    #[inline]
    pub(super) fn complete(&mut self, request: &mut Request<R::Mark>) {
        if request.left > 0 {
            return;
        }
        let completed = self.route.completed(self.place, request, self.recorder, self.now_ns);
        self.steps.completed(completed, request, self.scan, self.recorder, self.now_ns);
    }
}
