//! The loop of one worker on a cluster: the same steps as [`crate::worker`], by node.

use engine::{Address, ConnId, Engine, Event};
use measure::NodeTally;
use wire::cluster::{KeyPlace, is_session_command};
use wire::{Batch, Protocol, Slots};
use workload::{Pace, Pacer, Plan, ReadFrom, Stop, Window};

use super::lanes::Lanes;
use super::link::{Link, Request};
use super::router::Router;
use super::{ClusterJob, Watch};
use crate::carrier::Carries;
use crate::prelude::Prelude;
use crate::recorder::Recorder;
use crate::reopening::Reopening;
use crate::spin::Spin;
use crate::worker::{DRAIN_MAX_NS, Shift};
use crate::{Fatal, Standing};

/// Requests that may wait for each connection of a node while other nodes have some left to do,
/// in pipelines. Nodes are not all equally fast at every moment, and keys do not fall evenly.
const WAITING_PIPELINES: usize = 4;
/// The same of a node that is not to be reached, or of an open loop, in requests.
const WAITING_LARGE: usize = 1 << 20;

/// See the module.
pub(crate) struct ClusterWorker<'r, E, P: Protocol> {
    pub(super) engine: E,
    pub(super) shift: Shift<'r>,
    pub(super) links: Vec<Link<P::Decoder>>,
    pub(super) lanes: Lanes,
    pub(super) router: Router,
    pub(super) watch: &'r Watch,
    pub(super) seen: u64,
    pub(super) commands: Commands,
    pub(super) prelude: Prelude,
    pub(super) batch: Batch,
    /// Buffers: what is sent together, and a key.
    pub(super) out: Vec<u8>,
    pub(super) key: Vec<u8>,
    /// `ASKING`, encoded.
    pub(super) asking: Vec<u8>,
    pub(super) recorder: Recorder,
    pub(super) tallies: Vec<NodeTally>,
    /// Requests that a link may have in flight, and that all of them may.
    pub(super) depth: usize,
    pub(super) limit: usize,
    pub(super) rolling: bool,
    /// There are fewer connections to fill than nodes to reach.
    pub(super) scarce: bool,
    /// Connections do not stand where they should.
    pub(super) unbalanced: bool,
    spin: Spin,
    pub(super) pacer: Option<Pacer>,
    /// Requests that were sent and have no reply yet, those that are to be sent again included.
    pub(super) in_flight: usize,
    /// What is to be sent elsewhere or again: found while reading, and waiting for its time.
    pub(super) turned_away: Vec<(u16, Request, String)>,
    pub(super) later: Vec<(u64, Request)>,
    /// Links without a connection, and when they try again.
    pub(super) reopening: Reopening,
    /// When to look at deadlines; and since when something has waited for a node without any
    /// connection.
    pub(super) look_ns: u64,
    pub(super) cut_off_since_ns: Option<u64>,
    /// The number of each node that all workers know it by.
    numbers: Vec<u16>,
    pub(super) stop_ns: u64,
    pub(super) spent: bool,
    pub(super) started: bool,
}

/// What is known of the commands of the sequence.
pub(super) struct Commands {
    pub(super) slots: Slots,
    pub(super) read_only: Vec<bool>,
    /// The sequence is one request, sent to the node of this command's key.
    pub(super) whole: Option<usize>,
}

impl Commands {
    /// A sequence that sets up something for its own later commands cannot be taken apart.
    fn new(plan: &Plan, job: &ClusterJob<'_>) -> Self {
        let keys: Vec<Option<usize>> = job
            .routings
            .iter()
            .map(|routing| match routing.key {
                KeyPlace::Arg(n) => Some(n),
                KeyPlace::Keyless | KeyPlace::Movable => None,
            })
            .collect();
        let bound = plan.sequence.iter().any(|command| is_session_command(&command.name()));
        Self {
            slots: Slots::new(plan, &keys),
            read_only: job.routings.iter().map(|r| r.read_only && !bound).collect(),
            whole: bound.then(|| keys.iter().position(Option::is_some).unwrap_or(0)),
        }
    }
}

impl<'r, E: Engine, P: Protocol> ClusterWorker<'r, E, P> {
    pub(crate) fn new(
        engine: E,
        shift: Shift<'r>,
        recorder: Recorder,
        job: &ClusterJob<'r>,
        watch: &'r Watch,
    ) -> Self {
        let plan = shift.plan;
        let commands = Commands::new(plan, job);
        let read_from = plan.target.cluster.unwrap_or_default().read_from;
        let reads = commands.read_only.iter().any(|read| *read) && read_from != ReadFrom::Masters;
        let writes = commands.read_only.iter().any(|read| !read) || read_from != ReadFrom::Replicas;
        let router = Router::new(job.topology, read_from, (writes, reads));
        let used: Vec<u16> =
            (0..router.nodes().len() as u16).filter(|n| router.is_used(*n)).collect();
        let connections = shift.connections as usize;
        // A pipeline is as deep in commands as without a cluster.
        let parts = if commands.whole.is_some() { 1 } else { plan.sequence.len() };
        let depth = plan.fleet.pipeline_depth as usize * parts;
        let rolling = plan.fleet.window == Window::Rolling;
        let open = matches!(plan.pace, Pace::Open(_));
        let links = connections.max(used.len());
        let per_node = links.div_ceil(used.len().max(1));
        let closed = (WAITING_PIPELINES * per_node * depth).min(WAITING_LARGE);
        let capacity = if open { WAITING_LARGE } else { closed };
        let mut worker = Self {
            engine,
            links: Vec::with_capacity(links),
            lanes: Lanes::new(if rolling { 1 } else { depth }, capacity, WAITING_LARGE),
            router,
            watch,
            seen: 0,
            commands,
            prelude: Prelude::new::<P>(plan),
            batch: Batch::new::<P>(plan),
            out: Vec::new(),
            key: Vec::new(),
            asking: Vec::new(),
            recorder,
            tallies: Vec::new(),
            depth,
            limit: connections * depth,
            rolling,
            scarce: connections < used.len(),
            unbalanced: false,
            spin: Spin::new(shift.may_spin),
            pacer: None,
            in_flight: 0,
            turned_away: Vec::new(),
            later: Vec::new(),
            reopening: Reopening::new(shift.connections_max, plan.seed, shift.worker),
            look_ns: u64::MAX,
            cut_off_since_ns: None,
            numbers: Vec::new(),
            stop_ns: u64::MAX,
            spent: false,
            started: false,
            shift,
        };
        P::encode(&[b"ASKING"], &mut worker.asking);
        worker.know_nodes();
        for number in 0..links {
            let node = used[number % used.len()];
            worker.links.push(Link::new(node));
            worker.lanes.count_link(node, true);
        }
        worker
    }

    /// Has a lane and a tally for every node that the router knows.
    pub(super) fn know_nodes(&mut self) {
        self.lanes.grow(self.router.nodes().len());
        let precision = self.shift.plan.precision;
        for node in self.router.nodes().iter().skip(self.tallies.len()) {
            self.tallies.push(NodeTally::new(node.name.clone(), precision));
            self.numbers.push(self.watch.number(&node.name));
        }
        let most = self.numbers.iter().max().map_or(0, |most| usize::from(*most) + 1);
        self.recorder.know_nodes(most, self.engine.now_ns());
    }

    /// What is recorded next is of this node, or of the one whose place it took.
    #[inline]
    pub(super) fn record_of(&mut self, node: u16) {
        self.recorder.of_node(self.numbers[usize::from(self.router.node(node).stands_for)]);
    }

    /// Tells the recorder which nodes anything is asked of.
    fn note_asked(&mut self) {
        let mut asked = vec![false; self.numbers.len()];
        let links = self.links.iter().filter(|link| !link.requests.is_empty());
        let waiting = (0..self.numbers.len() as u16).filter(|n| self.lanes.peek(*n).is_some());
        for node in links.map(|link| link.node).chain(waiting) {
            asked[usize::from(self.router.node(node).stands_for)] = true;
        }
        for (_, request) in &self.later {
            if let Some(owner) = self.router.owner(request.slot) {
                asked[usize::from(self.router.node(owner).stands_for)] = true;
            }
        }
        let numbers = &self.numbers;
        self.recorder.asks(|number| {
            numbers.iter().zip(&asked).any(|(known, asked)| *known == number && *asked)
        });
    }

    /// Asks for the connection of a link, to its node.
    pub(super) fn connect(&mut self, conn: ConnId) {
        let link = &mut self.links[conn.0 as usize];
        link.reopen(self.engine.now_ns());
        let address = Address::Tcp(self.router.node(link.node).address);
        let options = self.shift.origins.options(self.shift.first_connection + conn.0);
        self.engine.open(conn, &address, &options);
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
        for n in 0..self.links.len() as u32 {
            self.queue_up(ConnId(n));
        }
        self.pacer = plan.pacer(start_ns, self.shift.worker, self.shift.workers);
        self.pump();
    }

    /// Hands the interval over if it has ended.
    #[inline]
    fn turn(&mut self) {
        let now_ns = self.engine.now_ns();
        let Self { recorder, pacer, lanes, shift, in_flight, spent, stop_ns, .. } = self;
        recorder.turn(now_ns, || {
            let over = *spent || now_ns >= *stop_ns;
            let units = |pacer: &Pacer| if over { 0 } else { pacer.backlog(now_ns) };
            let requests = |pacer| units(pacer) * shift.plan.sequence.len() as u64;
            Standing {
                in_flight: *in_flight as u64,
                backlog: pacer.as_ref().map(|p| requests(p) + lanes.waiting() as u64),
                connections: lanes.ready() as u32,
                ..Standing::default()
            }
        });
    }

    /// When a request is due that could be sent.
    fn due_ns(&self) -> u64 {
        let over = self.spent || !self.lanes.wants_more() || self.engine.now_ns() >= self.stop_ns;
        self.pacer.as_ref().filter(|_| !over).map_or(u64::MAX, Pacer::due_ns)
    }

    /// When to wake up if nothing happens.
    fn wake_ns(&self, due_ns: u64) -> u64 {
        let now_ns = self.engine.now_ns();
        let stop_ns = if self.stop_ns > now_ns { self.stop_ns } else { u64::MAX };
        let later_ns = self.later.iter().map(|(ns, _)| *ns).min().unwrap_or(u64::MAX);
        let broken_ns = self.reopening.wake_ns().min(self.look_ns);
        // While something is amiss, news of the cluster may come at any time.
        let amiss = self.unbalanced || self.reopening.waiting() > 0 || !self.later.is_empty();
        let news_ns = if amiss { now_ns + NEWS_EVERY_NS } else { u64::MAX };
        // Past the end, the waiting itself has one.
        let amiss_ns = if now_ns >= self.stop_ns { now_ns + NEWS_EVERY_NS } else { u64::MAX };
        let soon_ns = later_ns.min(amiss_ns).min(broken_ns).min(news_ns);
        self.recorder.wake_ns().min(stop_ns).min(due_ns).min(soon_ns)
    }

    fn is_done(&self) -> bool {
        let now_ns = self.engine.now_ns();
        if now_ns < self.stop_ns {
            return self.in_flight == 0 && self.spent && self.lanes.waiting() == 0;
        }
        // After the end, what was sent is waited for, and what is to be sent again for a while.
        let since_ns = now_ns - self.stop_ns;
        self.in_flight == 0
            || self.shift.plan.reconnect && since_ns > DRAIN_MAX_NS
            || since_ns > SEND_AGAIN_MAX_NS
                && self.links.iter().all(|link| link.requests.is_empty())
    }
}

/// How long after its end a run by time goes on sending what was turned away.
const SEND_AGAIN_MAX_NS: u64 = 2_000_000_000;
/// How often to look for news of the cluster while nothing else happens.
const NEWS_EVERY_NS: u64 = 20_000_000;

impl<'r, E: Engine, P: Protocol> Carries<'r> for ClusterWorker<'r, E, P> {
    type Engine = E;

    #[inline]
    fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    fn shift(&self) -> &Shift<'r> {
        &self.shift
    }

    fn connections(&self) -> u32 {
        self.links.len() as u32
    }

    fn connect(&mut self, conn: ConnId) {
        self.connect(conn);
    }

    #[inline]
    fn settle_event(&mut self, event: Event) -> Result<Option<ConnId>, Fatal> {
        self.settle_event(event)
    }

    fn unready(&self) -> String {
        let silent = self.links.iter().find(|link| link.room(1, false) == 0);
        self.router.node(silent.map_or(0, |link| link.node)).name.clone()
    }

    fn spun_ns(&self) -> u64 {
        self.spin.spun_ns()
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
            }
            self.mend()?;
            self.pump();
            if self.engine.now_ns() >= self.recorder.wake_ns() {
                self.note_asked();
            }
            self.spin.turned(self.engine.now_ns(), quiet);
            self.turn();
            if self.is_done() || self.shift.gate.stopped() {
                return Ok(());
            }
        }
    }

    fn finish(mut self) -> (Recorder, Vec<NodeTally>) {
        self.note_asked();
        let mut abandoned = Vec::new();
        for link in &mut self.links {
            abandoned.extend(link.requests.drain(..).map(|request| (link.node, request)));
        }
        for (node, request) in abandoned {
            self.never_answered(node, &request);
        }
        // Those that were to be sent again were not answered either.
        let resent = |request: &Request| request.sent_ns > 0;
        for node in 0..self.tallies.len() as u16 {
            for request in self.lanes.drain(node).into_iter().filter(resent) {
                self.never_answered(node, &request);
            }
        }
        for (_, request) in std::mem::take(&mut self.later) {
            let node = self.router.route(request.slot, request.read_only);
            self.never_answered(node, &request);
        }
        for (number, tally) in (0..).zip(&mut self.tallies) {
            (tally.master, tally.slots) = self.router.role(number);
            tally.used |= self.router.is_used(number);
        }
        (self.recorder, self.tallies)
    }
}
