//! The loop of one worker: open connections, send what is due, settle what arrived.
//!
//! This file is the loop; the path of a request is in its two halves, [`send`] and [`receive`].
//! What goes wrong is dealt with in [`mend`]. On that path nothing is allocated, locked or
//! formatted, and the kernel is asked for nothing but to send, to receive and to wait.

pub(crate) mod mend;
mod receive;
mod send;

use std::collections::VecDeque;

use engine::{Address, ConnId, Engine, Event};
use measure::NodeTally;
use wire::{Batch, Protocol};
use workload::{Pace, Pacer, Plan, RequestStream, Stop, Window};

use crate::carrier::Carries;
use crate::destination::Destination;
use crate::gate::Gate;
use crate::opening::Origins;
use crate::prelude::Prelude;
use crate::recorder::Recorder;
use crate::reopening::Reopening;
use crate::session::Session;
use crate::spin::Spin;
use crate::{Fatal, Standing};
use mend::Watch;

/// How long the replies to the last requests of a run by time are waited for, where lost
/// connections are no end of it.
pub(crate) const DRAIN_MAX_NS: u64 = 10_000_000_000;

/// What a worker needs of the run that it belongs to.
pub(crate) struct Shift<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) destination: &'r Destination,
    pub(crate) gate: &'r Gate<'r>,
    pub(crate) worker: u16,
    pub(crate) workers: u16,
    /// Connections of this worker, and the number of its first in the whole run.
    pub(crate) connections: u32,
    /// Connections that its engine has room for.
    pub(crate) connections_max: u32,
    pub(crate) first_connection: u32,
    pub(crate) origins: &'r Origins,
    pub(crate) stream: RequestStream<'r>,
    pub(crate) warmup: RequestStream<'r>,
    /// Whether there is a CPU for it alone.
    pub(crate) may_spin: bool,
}

/// See the module.
pub(crate) struct Worker<'r, E, P: Protocol> {
    engine: E,
    shift: Shift<'r>,
    /// Where the server is, and how often it had moved when that was so.
    address: Address,
    generation: u32,
    sessions: Vec<Session<P::Decoder>>,
    prelude: Prelude,
    batch: Batch,
    recorder: Recorder,
    sequence_len: u32,
    depth: u32,
    rolling: bool,
    spin: Spin,
    /// Open loop: the schedule, and the connections with room for what it holds.
    pacer: Option<Pacer>,
    queue: VecDeque<ConnId>,
    /// Since when a connection has had room.
    room_ns: u64,
    /// When the requests of the pipeline being put together were due.
    due_ns: Vec<u64>,
    /// Connections to be opened again, and deadlines.
    reopening: Reopening,
    watch: Watch,
    /// Requests in flight on all connections.
    in_flight: u64,
    /// Connections that are open and ready.
    ready: u32,
    /// No request is sent from then on.
    stop_ns: u64,
    /// Nothing is left to send.
    spent: bool,
    /// Once load runs.
    started: bool,
}

impl<'r, E: Engine, P: Protocol> Worker<'r, E, P> {
    pub(crate) fn new(engine: E, shift: Shift<'r>, recorder: Recorder) -> Self {
        let plan = shift.plan;
        let sessions = (0..shift.connections).map(|_| Session::default()).collect();
        Self {
            engine,
            generation: shift.destination.generation(),
            address: shift.destination.address(),
            sessions,
            prelude: Prelude::new::<P>(plan),
            batch: Batch::new::<P>(plan),
            recorder,
            sequence_len: plan.sequence.len() as u32,
            depth: plan.fleet.pipeline_depth,
            rolling: plan.fleet.window == Window::Rolling,
            spin: Spin::new(shift.may_spin),
            pacer: None,
            queue: VecDeque::with_capacity(shift.connections as usize),
            room_ns: 0,
            due_ns: Vec::with_capacity(plan.fleet.pipeline_depth as usize),
            reopening: Reopening::new(shift.connections, plan.seed, shift.worker),
            watch: Watch::NOTHING,
            in_flight: 0,
            ready: 0,
            stop_ns: u64::MAX,
            spent: false,
            started: false,
            shift,
        }
    }

    /// Hands the interval over if it has ended.
    #[inline]
    fn turn(&mut self) {
        let now_ns = self.engine.now_ns();
        let Self { recorder, pacer, in_flight, ready, spent, stop_ns, .. } = self;
        recorder.turn(now_ns, || {
            let over = *spent || now_ns >= *stop_ns;
            let units = |pacer: &Pacer| if over { 0 } else { pacer.backlog(now_ns) };
            Standing {
                in_flight: *in_flight,
                backlog: pacer.as_ref().map(|p| units(p) * u64::from(self.sequence_len)),
                connections: *ready,
                ..Standing::default()
            }
        });
    }

    fn start(&mut self) {
        let plan = self.shift.plan;
        let start_ns = self.shift.gate.start_ns().unwrap_or_default();
        let due_every_ns = plan.due_every_ns().saturating_mul(u64::from(self.shift.workers));
        self.recorder.start(start_ns, plan.warmup_ns, due_every_ns);
        if let Stop::AfterNs(ns) = plan.stop {
            self.stop_ns = start_ns + plan.warmup_ns + ns;
        }
        self.started = true;
        self.start_watch();
        match &plan.pace {
            Pace::Closed => {
                for n in 0..self.shift.connections {
                    self.fire(ConnId(n));
                }
            }
            Pace::Open(_) => {
                let (worker, workers) = (self.shift.worker, self.shift.workers);
                self.pacer = plan.pacer(start_ns, worker, workers);
                for n in 0..self.shift.connections {
                    self.queue_up(ConnId(n));
                }
                self.launch_due();
            }
        }
    }

    /// When a request is due that could be sent.
    fn due_ns(&self) -> u64 {
        let over = self.spent || self.queue.is_empty() || self.engine.now_ns() >= self.stop_ns;
        self.pacer.as_ref().filter(|_| !over).map_or(u64::MAX, Pacer::due_ns)
    }

    /// When to wake up if nothing happens.
    fn wake_ns(&self, due_ns: u64) -> u64 {
        let now_ns = self.engine.now_ns();
        let stop_ns = if self.stop_ns > now_ns { self.stop_ns } else { u64::MAX };
        let give_up_ns = self.give_up_ns();
        self.recorder.wake_ns().min(stop_ns).min(due_ns).min(self.watch.due_ns).min(give_up_ns)
    }

    fn is_done(&self) -> bool {
        let now_ns = self.engine.now_ns();
        let nothing_to_send = self.spent || now_ns >= self.stop_ns;
        nothing_to_send && (self.in_flight == 0 || now_ns >= self.give_up_ns())
    }

    /// When a run by time no longer waits for replies: with reconnecting it ends by itself, even
    /// if the server has fallen silent.
    fn give_up_ns(&self) -> u64 {
        if self.shift.plan.reconnect { self.stop_ns.saturating_add(DRAIN_MAX_NS) } else { u64::MAX }
    }
}

impl<'r, E: Engine, P: Protocol> Carries<'r> for Worker<'r, E, P> {
    type Engine = E;

    #[inline]
    fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    fn shift(&self) -> &Shift<'r> {
        &self.shift
    }

    fn connections(&self) -> u32 {
        self.shift.connections
    }

    fn connect(&mut self, conn: ConnId) {
        self.connect(conn);
    }

    #[inline]
    fn settle_event(&mut self, event: Event) -> Result<Option<ConnId>, Fatal> {
        self.settle_event(event)
    }

    fn unready(&self) -> String {
        self.address.to_string()
    }

    fn load(&mut self) -> Result<(), Fatal> {
        self.start();
        loop {
            let due_ns = self.due_ns();
            let until_ns = self.spin.until_ns(self.engine.now_ns(), self.wake_ns(due_ns), due_ns);
            self.wait(Some(until_ns))?;
            let mut quiet = self.engine.now_ns() < due_ns;
            while let Some(event) = self.engine.next() {
                quiet = false;
                if let Some(conn) = self.settle_event(event)? {
                    self.refill(conn);
                }
                if self.pacer.is_some() {
                    self.launch_due();
                }
            }
            if self.pacer.is_some() {
                self.launch_due();
            }
            if self.engine.now_ns() >= self.watch.due_ns {
                self.mend()?;
            }
            self.spin.turned(self.engine.now_ns(), quiet);
            self.turn();
            if self.is_done() || self.shift.gate.stopped() {
                return Ok(());
            }
        }
    }

    fn spun_ns(&self) -> u64 {
        self.spin.spun_ns()
    }

    fn finish(mut self) -> (Recorder, Vec<NodeTally>) {
        if let Some(pacer) = &self.pacer {
            let due = pacer.due_before(self.stop_ns.min(self.engine.now_ns()));
            self.recorder.due(due.saturating_mul(self.sequence_len.into()));
        }
        let unanswered = self.sessions.iter_mut().map(|s| s.flights.abandon(0).lost);
        self.recorder.connections().unanswered += unanswered.sum::<u64>();
        (self.recorder, Vec::new())
    }
}
