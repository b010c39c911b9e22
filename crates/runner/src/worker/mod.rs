//! The loop of one worker: open connections, send due requests, settle arrived replies.
//!
//! This file is the loop. [`open`] opens the connections, [`receive`] settles replies, [`inspect`] looks closer at
//! those for which a plan asks it, [`operations`] knows the next steps of a mix, [`retry`] retries failed requests,
//! [`deadline`] gives up overdue ones, [`recovery`] handles faults, and [`renewing`] renews connections. The [`Route`]
//! chooses the connection of a request. On the path of a request nothing is allocated, locked or formatted, and system
//! calls only send, receive and wait.

pub(crate) mod captures;
mod checked;
pub(crate) mod cursor_scan;
pub(crate) mod deadline;
pub(crate) mod ending;
pub(crate) mod growing;
mod inspect;
mod joining;
mod logins;
mod message_origin;
mod open;
pub(crate) mod operations;
mod paced;
mod queued;
mod quiet;
mod read_end;
mod receive;
pub(crate) mod recovery;
mod renewing;
mod repeats;
mod reply_rules;
mod retry;
mod thinking;
pub(crate) mod verify;

use std::ops::Range;
use std::sync::Arc;

use engine::{ConnId, Engine};
use wire::{Batch, Protocol};
use workload::{Inserts, MessageNumbers, Pacer, Plan, RequestStream, SequenceBatch, Stop, Window};

use crate::connection::{Connection, State};
use crate::destination::Destination;
use crate::gate::Gate;
use crate::handshake::Handshake;
use crate::messages::{AckLog, SentTimes};
use crate::opening::Origins;
use crate::password::PasswordSource;
use crate::recorded::source::RecordedSource;
use crate::recorder::Recorder;
use crate::route::{Route, RouteHooks};
use crate::spin::Spin;
use crate::{Fatal, Gauges, LiveRate};
use deadline::Deadline;
use inspect::Inspections;
use joining::ActiveClients;
use operations::Steps;
use recovery::Recovery;
use renewing::Renewals;
use reply_rules::ReplyRules;
use retry::Retries;
use thinking::Thinking;
use verify::Verifier;

/// Minimum excess of a wait or a turn that shows that the thread did not run.
const ABSENT_MIN_NS: u64 = 100_000_000;

/// Parts of its run that a worker needs.
pub(crate) struct WorkerContext<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) destination: &'r Destination,
    pub(crate) gate: &'r Gate<'r>,
    pub(crate) worker: u16,
    pub(crate) workers: u16,
    /// Number of this worker's connections, and the number of its first in the whole run.
    pub(crate) connections: u32,
    /// Connections that its engine has room for.
    pub(crate) connections_max: u32,
    pub(crate) first_connection: u32,
    /// Number of its first connection among all that workers may have at once.
    pub(crate) first_sender: u32,
    pub(crate) origins: &'r Origins,
    pub(crate) stream: RequestStream<'r>,
    pub(crate) warmup: RequestStream<'r>,
    /// Inserts of all workers of the run.
    pub(crate) inserts: Option<Arc<Inserts>>,
    /// Source of the current password, if logins ask for it.
    pub(crate) password: Option<&'r dyn PasswordSource>,
    /// The rate of the run, if it may change.
    pub(crate) rate: Option<&'r LiveRate>,
    /// Run number that marks its messages, and their numbering, if it sends messages.
    pub(crate) messages: Option<(u32, MessageNumbers)>,
    /// Records of acknowledgements.
    pub(crate) acknowledgements: AckLog<'r>,
    /// Record of its messages' due and sending times, unless messages carry them.
    pub(crate) sent_times: Option<&'r SentTimes>,
    /// Recorded traffic that it sends, if any.
    pub(crate) record: Option<RecordedSource>,
    /// Set if it has a CPU to itself.
    pub(crate) may_spin: bool,
}

pub(crate) type ConnectionOf<P, R> =
    Connection<<P as Protocol>::Decoder, <R as Route>::Mark, <R as Route>::RouteState>;

/// Worker: its engine, its connections and the state of its requests.
pub(crate) struct Worker<'r, E, P: Protocol, R: Route> {
    pub(crate) engine: E,
    pub(crate) context: WorkerContext<'r>,
    pub(crate) connections: Vec<ConnectionOf<P, R>>,
    pub(crate) route: R,
    handshake: Handshake,
    reply_rules: ReplyRules,
    pub(crate) batch: Batch,
    pub(crate) recorder: Recorder,
    pub(crate) steps: Steps<R::Mark>,
    /// Verifier of returned values, in a plan that verifies.
    verifier: Option<Verifier>,
    inspections: Inspections,
    /// Commands of a sequence.
    pub(crate) sequence_len: u32,
    /// Scheduled requests that one request number counts as.
    per_number: u64,
    /// Commands of a request, which go to one server in one piece. `None` if requests differ.
    request_len: Option<u32>,
    /// Maximum number of requests in flight on a connection.
    depth: u32,
    /// Set if room is used as soon as there is some.
    pub(crate) rolling: bool,
    spin: Spin,
    joined: ActiveClients,
    renewals: Renewals,
    thinking: Thinking,
    /// Schedule of an open loop, and the number of rate changes in it.
    pub(crate) pacer: Option<Pacer>,
    /// The recorded requests, each with its own time.
    pub(crate) record: Option<RecordedSource>,
    rate_changes: u32,
    pub(crate) recovery: Recovery,
    retries: Retries<R::Mark>,
    pub(crate) deadline: Deadline,
    /// Time of the next check of waiting requests for their deadline; `u64::MAX` for never.
    look_for_over_ns: u64,
    /// Connection of the next undrawn request to give up.
    given_up_of: u32,
    /// Commands that were sent and have no reply yet, including those to be retried.
    pub(crate) in_flight: u64,
    /// Connections that are open and ready.
    ready: u32,
    /// Time from which on no request is sent.
    pub(crate) stop_ns: u64,
    /// Set once nothing is left to draw.
    pub(crate) spent: bool,
    /// Set once load runs.
    pub(crate) started: bool,
}

impl<'r, E: Engine, P: Protocol, R: RouteHooks> Worker<'r, E, P, R> {
    pub(crate) fn new(
        engine: E,
        mut context: WorkerContext<'r>,
        recorder: Recorder,
        route: R,
    ) -> Self {
        let plan = context.plan;
        let sequence_len = plan.sequence.len() as u32;
        let steps = Steps::new(plan, context.inserts.clone());
        let whole = if route.splits_sequences() { 1 } else { sequence_len };
        let is_one_piece = steps.operations.is_none() && !plan.is_recorded();
        let request_len = is_one_piece.then_some(whole);
        let (reply_rules, verifier) =
            (ReplyRules::for_plan::<P>(plan), Verifier::for_plan::<P>(plan));
        let inspections = Inspections::new::<P, R>(plan, &steps, verifier.as_ref(), &reply_rules);
        let places = route.places(context.connections);
        let thinking = Thinking::new(plan, places.len());
        let mut worker = Self {
            engine,
            connections: places.into_iter().map(Connection::new).collect(),
            route,
            handshake: Handshake::new::<P>(plan),
            reply_rules,
            batch: Batch::new::<P>(plan),
            recorder,
            verifier,
            inspections,
            steps,
            sequence_len,
            per_number: plan.requests_per_number() as u64,
            request_len,
            depth: (plan.load.concurrency.pipeline_depth)
                .saturating_mul(request_len.map_or(1, |len| sequence_len / len)),
            rolling: plan.load.concurrency.window == Window::Rolling,
            spin: Spin::new(context.may_spin),
            joined: ActiveClients::from_plan(plan),
            renewals: Renewals::new(plan, context.worker, context.workers),
            thinking,
            pacer: None,
            record: context.record.take(),
            rate_changes: 0,
            recovery: Recovery::new(context.connections_max, plan, context.worker),
            retries: Retries::new(plan, context.worker),
            deadline: Deadline::from_plan(plan),
            look_for_over_ns: u64::MAX,
            given_up_of: 0,
            in_flight: 0,
            ready: 0,
            stop_ns: u64::MAX,
            spent: false,
            started: false,
            context,
        };
        R::prepare(&mut worker);
        worker
    }

    /// Runs the load to its end.
    pub(crate) fn load(&mut self) -> Result<(), Fatal> {
        self.start();
        let mut woke_ns = self.engine.now_ns();
        loop {
            let due_ns = self.due_ns();
            let before_ns = self.engine.now_ns();
            if before_ns > woke_ns + ABSENT_MIN_NS {
                self.was_absent(woke_ns..before_ns);
            }
            let until_ns = self.spin.until_ns(before_ns, self.wake_ns(due_ns), due_ns);
            self.wait(Some(until_ns))?;
            woke_ns = self.engine.now_ns();
            if woke_ns > until_ns.max(before_ns).saturating_add(ABSENT_MIN_NS) {
                self.was_absent(before_ns..woke_ns);
            }
            self.follow_rate();
            let mut quiet = self.engine.now_ns() < due_ns;
            while let Some(event) = self.engine.next() {
                quiet = false;
                if let Some(conn) = self.settle_event(event)? {
                    self.refill(conn);
                }
                R::after_event(self);
            }
            let now_ns = self.engine.now_ns();
            if now_ns >= self.recovery.due_ns || self.route.has_news(now_ns) {
                self.recover()?;
            }
            if now_ns >= self.retries.due_ns {
                self.retry();
            }
            if now_ns >= self.next_over_ns() {
                self.give_up_over();
            }
            if now_ns >= self.joined.next_ns {
                self.join();
            }
            if now_ns >= self.renewals.next_ns {
                self.renew();
            }
            while let Some(conn) = self.thinking.take(now_ns) {
                R::refill(self, conn);
            }
            R::dispatch(self);
            if self.engine.now_ns() >= self.recorder.wake_ns() {
                R::note_asked(self);
            }
            self.spin.turned(self.engine.now_ns(), quiet);
            self.turn();
            if self.context.gate.stopped() {
                self.recorder.stopped(self.engine.now_ns().min(self.stop_ns));
                return Ok(());
            }
            if self.is_done() {
                return Ok(());
            }
        }
    }

    /// Handles a jump of the clock over this span. Unless the thread was at work, it did not run, and the
    /// span says nothing about a server.
    #[cold]
    fn was_absent(&mut self, span: Range<u64>) {
        if span.end - span.start < self.recorder.cpu_since_turn_ns() + ABSENT_MIN_NS {
            return;
        }
        R::note_asked(self);
        // Later replies belong to an interval of their own.
        self.turn();
        self.recorder.was_absent(span);
    }

    fn start(&mut self) {
        let context = &self.context;
        let plan = context.plan;
        let start_ns = context.gate.start_ns().unwrap_or_default();
        self.recorder.start(start_ns, plan.load.warmup_ns);
        if let Some(ledger) = context.acknowledgements.ledger {
            ledger.begin(start_ns + plan.load.warmup_ns);
        }
        let ends_ns = match plan.load.stop {
            Stop::AfterNs(ns) => Some(ns),
            Stop::Requests(_) => plan.load.at_most_ns,
        };
        if let Some(ns) = ends_ns {
            self.stop_ns = start_ns + plan.load.warmup_ns + ns;
        }
        self.start_schedule(start_ns);
        self.joined.start(start_ns, self.context.connections);
        self.renewals.start(start_ns);
        self.thinking.start(start_ns);
        self.started = true;
        self.start_recovery();
        self.start_deadline();
        R::start(self);
    }

    /// Gives more work to a connection that has become ready or has settled replies.
    #[inline]
    fn refill(&mut self, conn: ConnId) {
        let used_up = self.is_used_up(conn);
        let connection = &self.connections[conn.0 as usize];
        // One that is not there is being opened again already.
        let is_idle = connection.state == State::Ready && connection.is_idle();
        if (used_up || connection.renews) && is_idle {
            self.replace(conn);
        } else if !self.thinking.pauses(conn, is_idle, || self.engine.now_ns()) {
            R::refill(self, conn);
        }
    }

    /// Closes a connection that has sent its share and requests another, if something is left to send on it.
    fn replace(&mut self, conn: ConnId) {
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

    /// Number of requests that a connection has room for.
    #[inline]
    pub(crate) fn room(&self, conn: ConnId) -> u32 {
        if !self.has_joined(conn) || self.thinking.has(conn) {
            return 0;
        }
        let connection = &self.connections[conn.0 as usize];
        if connection.renews || connection.postponed >= self.retries.waiting_max {
            return 0;
        }
        let request_len = if self.has_single_operations() { Some(1) } else { self.request_len };
        let room = connection.room(self.depth, self.rolling, request_len);
        let concurrency = &self.context.plan.load.concurrency;
        if concurrency.keep_alive || concurrency.requests_each == 0 {
            room
        } else {
            room.min(concurrency.requests_each.saturating_sub(connection.begun))
        }
    }

    /// Returns whether a connection has begun its share of requests.
    #[inline]
    pub(crate) fn is_used_up(&self, conn: ConnId) -> bool {
        let concurrency = &self.context.plan.load.concurrency;
        !concurrency.keep_alive
            && self.connections[conn.0 as usize].begun >= concurrency.requests_each.max(1)
    }

    /// Notes that a connection begins `requests` requests.
    #[inline]
    pub(crate) fn begins(&mut self, conn: ConnId, requests: u32) {
        let begun = &mut self.connections[conn.0 as usize].begun;
        *begun = begun.saturating_add(requests);
    }

    /// Number of sequences that a connection may still send, at most `wanted`, by its own budget.
    #[inline]
    pub(crate) fn left(&mut self, now_ns: u64, conn: ConnId, wanted: u32) -> u32 {
        let measured = self.recorder.measuring(now_ns);
        let context = &self.context;
        let stream = if measured { &context.stream } else { &context.warmup };
        stream.left(conn.0, wanted)
    }

    /// Draws up to `sequences_max` sequences for a connection. Returns them and whether they are measured.
    #[inline]
    pub(crate) fn draw(
        &mut self,
        now_ns: u64,
        conn: ConnId,
        sequences_max: u32,
    ) -> Option<(SequenceBatch, bool)> {
        let measured = self.recorder.measuring(now_ns);
        let context = &mut self.context;
        let stream = if measured { &mut context.stream } else { &mut context.warmup };
        let turn = stream.take(conn.0, sequences_max);
        self.spent = stream.is_spent();
        turn.map(|turn| (turn, measured))
    }

    /// Notes that these requests were handed to a connection at `sent_ns`, in `bytes` bytes.
    #[inline]
    pub(crate) fn count_sent(&mut self, conn: ConnId, bytes: usize, sent_ns: u64, measured: bool) {
        if measured {
            let place = &self.connections[conn.0 as usize].place;
            self.recorder.handed(self.route.counted_as(place, conn), bytes, sent_ns);
        }
    }

    /// Returns whether there is no connection to any server while load runs.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.started && self.ready == 0
    }

    /// Hands the interval over if it has ended.
    #[inline]
    fn turn(&mut self) {
        let now_ns = self.engine.now_ns();
        let over = self.is_over();
        if self.retries.is_stranded() && now_ns >= self.stop_ns {
            self.drop_stranded(now_ns);
        }
        let is_scheduled = self.is_scheduled();
        let Self { recorder, pacer, route, in_flight, ready, per_number, .. } = self;
        recorder.turn(now_ns, || {
            let due = |pacer: &Pacer| if over { 0 } else { pacer.backlog(now_ns) };
            let due = pacer.as_ref().map_or(0, |pacer| due(pacer) * *per_number);
            Gauges {
                in_flight: *in_flight,
                backlog: is_scheduled.then(|| due + route.waiting()),
                connections: *ready,
                ..Gauges::default()
            }
        });
    }

    /// Time to wake up at if nothing happens.
    fn wake_ns(&self, due_ns: u64) -> u64 {
        let now_ns = self.engine.now_ns();
        let end_ns = if self.stop_ns > now_ns { self.stop_ns } else { self.give_up_ns() };
        let recovery_ns = self.recovery.due_ns.min(R::wake_ns(self, now_ns));
        let others_ns = self.joined.next_ns.min(self.renewals.next_ns).min(self.retries.due_ns);
        let others_ns = others_ns.min(self.next_over_ns()).min(self.thinking.next_ns());
        self.recorder.wake_ns().min(end_ns).min(due_ns).min(recovery_ns).min(others_ns)
    }

    /// Time spent waiting without sleeping.
    pub(crate) fn spun_ns(&self) -> u64 {
        self.spin.spun_ns()
    }
}
