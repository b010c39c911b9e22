//! The worker: its engine, its connections, and the state of its requests.
//!
//! This file has the state, which other files of this folder act on: [`load`] is the loop, [`open`] opens connections,
//! [`receive`] settles replies, [`inspect`] looks closer at those for which a plan asks it, [`operations`] knows the
//! next steps of a mix, [`pending`] retries failed requests and gives up overdue ones, and [`faults`] handles lost
//! connections. The [`Route`] chooses the connection of a request. On the path of a request nothing is allocated,
//! locked or formatted, and system calls only send, receive and wait.

pub(crate) mod captures;
mod checked;
pub(crate) mod cursor_scan;
pub(crate) mod deadline;
pub(crate) mod ending;
mod faults;
pub(crate) mod growing;
mod inspect;
mod inspections;
mod joining;
mod load;
mod logins;
mod message_origin;
mod open;
pub(crate) mod operations;
mod paced;
mod pending;
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

use std::sync::Arc;

use engine::{ConnId, Engine};
use wire::{Batch, Protocol};
use workload::{Inserts, MessageNumbers, Pace, Pacer, Plan, RequestStream, SequenceBatch, Window};

use crate::LiveRate;
use crate::connection::Connection;
use crate::destination::Destination;
use crate::gate::Gate;
use crate::handshake::Handshake;
use crate::messages::{AckLog, SentTimes};
use crate::opening::Origins;
use crate::password::PasswordSource;
use crate::recorder::Recorder;
use crate::route::Route;
use crate::source::blocks::WorkerSource;
use crate::spin::Spin;
use deadline::Deadline;
use inspections::Inspections;
use joining::ActiveClients;
use operations::Steps;
use recovery::Recovery;
use renewing::Renewals;
use reply_rules::ReplyRules;
use retry::Retries;
use thinking::Thinking;
use verify::Verifier;

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
    /// Source of its requests, if they do not derive from the plan.
    pub(crate) source: Option<WorkerSource>,
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
    /// Source of requests that have due times of their own.
    pub(crate) source: Option<WorkerSource>,
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

impl<'r, E: Engine, P: Protocol, R: Route> Worker<'r, E, P, R> {
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
        let is_one_piece = steps.operations.is_none() && !plan.has_source();
        let request_len = is_one_piece.then_some(whole);
        let (reply_rules, verifier) =
            (ReplyRules::for_plan::<P>(plan), Verifier::for_plan::<P>(plan));
        let inspections = Inspections::new::<P, R>(plan, &steps, verifier.as_ref(), &reply_rules);
        let places = route.places(context.connections);
        let thinking = Thinking::new(plan, places.len());
        Self {
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
            source: context.source.take(),
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

    /// Time spent waiting without sleeping.
    pub(crate) fn spun_ns(&self) -> u64 {
        self.spin.spun_ns()
    }

    /// Returns whether each operation is one request of which nothing is kept and that is not retried.
    #[inline]
    pub(crate) fn has_single_operations(&self) -> bool {
        self.inspections.single
    }

    /// Notes that the last `count` requests of a connection were handed to it, in `bytes` bytes, at
    /// `sent_ns`. On a schedule they have due times of their own.
    #[inline]
    pub(crate) fn note_handed(
        &mut self,
        conn: ConnId,
        count: usize,
        bytes: usize,
        room_ns: u64,
        sent_ns: u64,
    ) {
        let closed_loop = !self.is_scheduled();
        let mut measured = false;
        for request in self.connections[conn.0 as usize].requests.newest_mut(count) {
            measured |= request.measured;
            if request.handed(sent_ns, closed_loop) && !closed_loop && request.measured {
                self.recorder.sent(request.intended_ns, room_ns, sent_ns, 1);
            }
        }
        self.count_sent(conn, bytes, sent_ns, measured);
    }

    /// Returns whether requests have due times of their own.
    #[inline]
    pub(crate) fn is_scheduled(&self) -> bool {
        self.pacer.is_some()
            || self.source.is_some() && matches!(self.context.plan.load.pace, Pace::Open(_))
    }

    /// Returns whether a connection carries load, or will once it is open.
    #[inline]
    pub(super) fn has_joined(&self, conn: ConnId) -> bool {
        let place = &self.connections[conn.0 as usize].place;
        self.joined.count == u32::MAX || self.route.counted_as(place, conn).0 < self.joined.count
    }
}
