//! Recorder of settled replies, which produces intervals.
//!
//! Owns a worker's tally of the current interval, the boundary between warm-up and measured part, and the
//! slices that show outages. It exchanges full tallies for empty ones with the collector, and allocates none
//! unless the collector falls behind; then intervals wait in the [`Outbox`].

mod by_command;
mod deadline;
mod groups;
mod handover;
mod lateness;
mod optional;
mod outbox;
mod silence;

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use engine::{ConnId, thread_cpu};
use measure::{
    ByConnection, CORRUPT, ConnectStages, Failures, Latency, OperationLog, OperationOutcome,
    Sample, Slices, Stamps, Tally, TallyShape,
};

use self::groups::ReplyGroups;
use self::optional::OptionalRecorders;
use self::outbox::Outbox;
use self::silence::Silence;
use crate::collect::Message;
use crate::request::{CommandReply, LostRequests, OperationState, Request, SettledReply};
use crate::{FailedRequest, FailedRequests, Gauges, INTERVAL_NS};

/// Maximum number of absences of a worker that are kept.
const ABSENCES_MAX: usize = 1000;

pub(crate) struct Recorder {
    worker: u16,
    shape: TallyShape,
    /// Index in the tally of each command of the sequence.
    tallies: Arc<[u32]>,
    tally: Tally,
    /// The replies of the current read.
    groups: ReplyGroups,
    phase: Phase,
    /// Number and end of the tally's interval.
    interval: u32,
    interval_end_ns: u64,
    last_end_ns: u64,
    /// Successes and failures of the current interval, and its start, for each node.
    slices: Vec<Slices>,
    interval_from_ns: u64,
    /// Node of the current read.
    node: usize,
    /// Recorders of figures that the tally lacks, if the plan has some.
    optional: OptionalRecorders,
    /// Silence of each node.
    silences: Vec<Silence>,
    /// Spans in which this worker did not run.
    absences: Vec<Range<u64>>,
    /// Shortest silence that is longer than the schedule explains.
    usual_ns: u64,
    /// Response times of requests that fell due during an outage.
    delayed: Option<Latency>,
    /// Successes of the current read.
    fresh: u32,
    /// Time at which the bytes of the current read arrived in the kernel, if it stamps them.
    arrived_ns: Option<u64>,
    /// CPU time of this thread when load began.
    cpu_from: Duration,
    /// Gauges of the next interval that is handed over.
    gauges: Gauges,
    /// Requests that failed since the last hand-over, if the plan asks for each.
    failed: FailedRequests,
    full: Outbox,
    empty: Receiver<Tally>,
}

/// Part of the run, which decides what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Connections are being opened; nothing is recorded.
    Before,
    /// Warm-up, shown but not kept; ends at this time.
    Warmup { end_ns: u64 },
    /// Measured part; began at this time.
    Measured { from_ns: u64 },
}

impl Recorder {
    pub(crate) fn new(
        worker: u16,
        shape: TallyShape,
        tallies: Arc<[u32]>,
        full: SyncSender<Message>,
        empty: Receiver<Tally>,
    ) -> Self {
        Self {
            worker,
            shape,
            tallies,
            tally: Tally::new(&shape),
            groups: ReplyGroups::new(),
            phase: Phase::Before,
            interval: 0,
            interval_end_ns: u64::MAX,
            last_end_ns: 0,
            slices: vec![Slices::default()],
            interval_from_ns: 0,
            node: 0,
            optional: OptionalRecorders::default(),
            silences: vec![Silence::since(0)],
            absences: Vec::new(),
            usual_ns: 0,
            delayed: shape.scheduled.then(|| Latency::new(shape.precision)),
            fresh: 0,
            arrived_ns: None,
            cpu_from: Duration::ZERO,
            gauges: Gauges::default(),
            failed: FailedRequests::default(),
            full: Outbox::new(full, &shape),
            empty,
        }
    }

    /// Sets the usual silence, given the time between two requests of this worker's schedule, or 0 without
    /// one.
    pub(crate) fn expect_every(&mut self, due_every_ns: u64) {
        // Nodes share a schedule.
        self.usual_ns = due_every_ns.saturating_mul(20 * self.silences.len() as u64);
    }

    /// Also keeps the figures of each connection.
    pub(crate) fn keep_connections(&mut self, empty: ByConnection) {
        self.optional.keep_connections(empty);
    }

    /// Keeps a log, too.
    pub(crate) fn keep_log(&mut self, empty: OperationLog) {
        self.optional.keep_log(empty);
    }

    /// Notes the start of load on the calling thread.
    pub(crate) fn start(&mut self, start_ns: u64, warmup_ns: u64) {
        self.cpu_from = thread_cpu();
        self.silences.iter_mut().for_each(|silence| *silence = Silence::since(start_ns));
        if warmup_ns == 0 {
            self.measure_from(start_ns);
        } else {
            self.phase = Phase::Warmup { end_ns: start_ns + warmup_ns };
            self.interval_end_ns = start_ns + INTERVAL_NS.min(warmup_ns);
        }
    }

    /// Makes room for nodes up to this number.
    pub(crate) fn know_nodes(&mut self, nodes: usize, now_ns: u64) {
        if self.slices.len() < nodes {
            self.slices.resize_with(nodes, Slices::default);
            self.silences.resize(nodes, Silence::since(now_ns));
        }
    }

    /// Sets the node that the next records belong to.
    #[inline]
    pub(crate) fn of_node(&mut self, node: u16) {
        self.node = usize::from(node);
    }

    /// Sets the connection of the next replies, and the arrival time of their bytes.
    #[inline]
    pub(crate) fn of_read(&mut self, conn: ConnId, arrived_ns: Option<u64>) {
        self.arrived_ns = arrived_ns;
        self.optional.of_connection(conn);
    }

    /// Notes which nodes are asked anything. Called before an interval ends.
    pub(crate) fn asks(&mut self, asked: impl Fn(u16) -> bool) {
        for (node, slices) in (0..).zip(&mut self.slices) {
            slices.ask(asked(node));
        }
    }

    /// Returns whether requests sent now are measured. Ends the warm-up when its time has come.
    #[inline]
    pub(crate) fn measuring(&mut self, now_ns: u64) -> bool {
        match self.phase {
            Phase::Measured { .. } => true,
            Phase::Before => false,
            Phase::Warmup { end_ns } => {
                if now_ns >= end_ns {
                    // Replies of the current read so far are of the warm-up.
                    self.read_ended(now_ns, 0);
                    self.hand_over();
                    assert!(self.is_empty(), "nothing of the warm-up is measured");
                    self.measure_from(end_ns);
                }
                now_ns >= end_ns
            }
        }
    }

    /// Returns whether nothing was counted since the last interval was handed over.
    fn is_empty(&self) -> bool {
        self.tally.is_empty() && self.groups.is_empty() && self.fresh == 0 && self.failed.is_empty()
    }

    fn measure_from(&mut self, from_ns: u64) {
        self.phase = Phase::Measured { from_ns };
        self.interval = 0;
        self.delayed.iter_mut().for_each(Latency::clear);
        self.optional.begin(from_ns);
        self.interval_from_ns = from_ns;
        self.interval_end_ns = from_ns + INTERVAL_NS;
        self.last_end_ns = from_ns;
    }

    /// Returns whether no reply is known to have come; replies during a warm-up do not count.
    pub(crate) fn is_unheard(&self) -> bool {
        match self.phase {
            Phase::Before => true,
            Phase::Warmup { .. } => false,
            Phase::Measured { from_ns } => {
                self.last_end_ns <= from_ns && self.fresh == 0 && self.groups.is_empty()
            }
        }
    }

    /// Adds one reply that was settled at `now_ns`.
    #[inline]
    pub(crate) fn reply(&mut self, answer: &SettledReply, now_ns: u64) {
        self.replies(answer, 1, now_ns);
    }

    /// Adds `count` equal replies that were settled together at `now_ns`.
    #[inline]
    pub(crate) fn replies(&mut self, answer: &SettledReply, count: u32, now_ns: u64) {
        let SettledReply { answered, outcome, bytes, keys } = answer;
        let (outcome, bytes) = (*outcome, *bytes);
        if !self.counts(answered.measured) {
            return;
        }
        if self.fresh == 0 {
            self.silences[self.node].heard(now_ns, self.usual_ns);
        }
        self.fresh += count;
        let count = u64::from(count);
        let command = self.tallies[answered.command as usize] as usize;
        if keys.asked > 0 {
            let (asked, found) = (u64::from(keys.asked), u64::from(keys.found));
            self.tally.commands[command].keys.add(asked * count, found * count);
        }
        let reply = Sample {
            command,
            outcome,
            count,
            bytes: bytes * count,
            intended_ns: answered.intended_ns,
            sent_ns: answered.sent_ns,
            first_byte_ns: answered.first_byte_ns,
            arrived_ns: self.arrived_ns,
            done_ns: now_ns,
        };
        if let Some(group) = self.groups.find(&reply) {
            group.count += reply.count;
            group.bytes += reply.bytes;
            return;
        }
        if self.groups.is_full() {
            self.settle_groups();
        }
        self.groups.push(reply);
    }

    /// Adds the complete groups.
    #[inline]
    fn settle_groups(&mut self) {
        let mut at = 0;
        while let Some(group) = self.groups.get(at) {
            self.record_group(&group);
            at += 1;
        }
        self.groups.clear();
    }

    /// Adds a complete group.
    #[inline]
    fn record_group(&mut self, group: &Sample) {
        self.tally.record(group);
        if self.tally.operations.is_empty() {
            self.ended(group.intended_ns, group.done_ns, group.count);
        }
        self.silences[self.node].record(group, &mut self.delayed);
        self.optional.record_group(group);
    }

    /// Adds an error reply of this kind and text, and its bytes if they are counted.
    pub(crate) fn error(
        &mut self,
        answered: &CommandReply,
        kind: &str,
        text: &str,
        bytes: u64,
        now_ns: u64,
    ) {
        if self.counts(answered.measured) {
            self.tally.errors.add(kind, text);
            let command = self.tallies[answered.command as usize] as usize;
            let tally = &mut self.tally.commands[command];
            tally.errors += 1;
            tally.bytes_in += bytes;
            let CommandReply { intended_ns, sent_ns, .. } = *answered;
            if let Some(failures) = &mut tally.separate_failures {
                failures.failed.record_n(intended_ns, sent_ns, now_ns, 1);
            }
            let stamps = Stamps { intended_ns, sent_ns, done_ns: now_ns };
            self.optional.error(command, kind == CORRUPT, bytes, &stamps);
            self.failed(&Failures { errors: 1, ..Failures::default() }, now_ns);
            self.last_end_ns = now_ns;
        }
    }

    /// Adds an error reply to a recorded command that is in no other figure, because it may wait for other
    /// clients.
    pub(crate) fn error_unmeasured(&mut self, command: u32, kind: &str, text: &str, now_ns: u64) {
        self.tally.errors.add(kind, text);
        self.tally.commands[self.tallies[command as usize] as usize].errors += 1;
        self.failed(&Failures { errors: 1, ..Failures::default() }, now_ns);
        self.last_end_ns = now_ns;
    }

    /// Adds a measured request to the list of those that failed for good.
    pub(crate) fn tell(&mut self, failed: FailedRequest) {
        self.failed.push(failed);
    }

    /// Notes a retry of a request, the first or a later one.
    pub(crate) fn retried<M>(&mut self, request: &Request<M>) {
        if self.counts(request.measured) {
            self.tally.connections.retries += 1;
            self.tally.connections.retried += u64::from(request.progress.retries == 1);
        }
    }

    /// Adds requests that will have no reply.
    pub(crate) fn abandoned(&mut self, abandoned: LostRequests, now_ns: u64) {
        let LostRequests { timed_out, lost } = abandoned;
        if timed_out + lost > 0 {
            self.tally.connections.timed_out += timed_out;
            self.tally.connections.lost += lost;
            self.failed(&Failures { lost, timed_out, errors: 0 }, now_ns);
            self.last_end_ns = now_ns;
        }
    }

    /// Adds an operation that ended at `now_ns`, if operations have figures of their own.
    #[inline]
    pub(crate) fn operation<M>(&mut self, last: &Request<M>, now_ns: u64) {
        let Request { progress, intended_ns, sent_ns, measured, .. } = *last;
        if !self.counts(measured) {
            return;
        }
        if let Some(tally) = self.tally.operations.get_mut(progress.operation as usize) {
            let ended = match progress {
                OperationState { failed: true, .. } => OperationOutcome::Failed,
                progress if progress.has_missed() => OperationOutcome::Missed,
                _ => OperationOutcome::Ok,
            };
            tally.record(ended, intended_ns, sent_ns, now_ns);
            if ended != OperationOutcome::Failed {
                self.ended(intended_ns, now_ns, 1);
            }
            let stamps = Stamps { intended_ns, sent_ns, done_ns: now_ns };
            self.optional.operation(progress.operation as usize, ended, &stamps);
        }
    }

    /// Adds a measured request that a node redirected in the last read, `for_once` or for good.
    pub(crate) fn redirected(&mut self, command: u32, for_once: bool, now_ns: u64) {
        let command = self.tallies[command as usize] as usize;
        self.optional.redirected(command, for_once, now_ns);
    }

    /// Adds measured bytes that were handed to a connection at `sent_ns`.
    #[inline]
    pub(crate) fn handed(&mut self, conn: ConnId, bytes: usize, sent_ns: u64) {
        self.tally.connections.bytes_out += bytes as u64;
        self.optional.sent(conn, bytes as u64, sent_ns);
    }

    fn failed(&mut self, failures: &Failures, now_ns: u64) {
        self.silences[self.node].fail();
        let since_ns = now_ns.saturating_sub(self.interval_from_ns);
        self.slices[self.node].failed(since_ns, failures);
    }

    /// Stages of connections that carry one request each, measured or not; `None` while they do not count.
    pub(crate) fn stages(&mut self, measured: bool) -> Option<&mut ConnectStages> {
        let counts = self.counts(measured);
        let digits = self.shape.precision;
        let stages = &mut self.tally.connections.stages;
        counts.then(|| &mut **stages.get_or_insert_with(|| Box::new(ConnectStages::new(digits))))
    }

    /// A request of the warm-up counts while warming up, and never after.
    #[inline]
    fn counts(&self, measured: bool) -> bool {
        measured || matches!(self.phase, Phase::Warmup { .. })
    }

    /// Ends a read at `now_ns`, after all its replies were added.
    #[inline]
    pub(crate) fn read_ended(&mut self, now_ns: u64, bytes: usize) {
        if !self.groups.is_empty() {
            self.settle_groups();
            self.last_end_ns = now_ns;
            let fresh = std::mem::take(&mut self.fresh);
            let since_ns = now_ns.saturating_sub(self.interval_from_ns);
            self.slices[self.node].succeeded(since_ns, fresh);
        }
        self.tally.connections.bytes_in += bytes as u64;
        self.optional.received(bytes as u64, now_ns);
    }

    /// Notes that this worker did not run in this span.
    pub(crate) fn was_absent(&mut self, span: Range<u64>) {
        self.silences.iter_mut().for_each(|silence| silence.begin(span.end));
        if self.absences.len() < ABSENCES_MAX {
            self.absences.push(span);
        }
    }

    /// Ends the run at `now_ns` because the caller stopped it, rather than with its last reply.
    pub(crate) fn stopped(&mut self, now_ns: u64) {
        self.last_end_ns = self.last_end_ns.max(now_ns);
    }

    /// Returns the counts of connections.
    #[inline]
    pub(crate) fn connections(&mut self) -> &mut measure::ConnectionTally {
        &mut self.tally.connections
    }
}
