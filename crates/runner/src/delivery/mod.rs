//! Messages and their receivers: the second role of a plan whose senders are ordinary workers.
//!
//! The receivers have threads, connections and tallies of their own, and pass the senders' gate: load begins
//! when every subscription is confirmed and a probe has come through each place. Senders and receivers share
//! [`Roles`], which they touch a few times a second.

mod awaited;
mod between;
mod cached_reads;
mod caches;
mod closing;
mod finals;
mod first_and_last;
mod homes;
mod invalidate;
mod kind;
mod listeners;
mod logins;
mod lost;
mod moving;
mod order;
mod probe;
mod pubsub;
mod queue;
mod receivers;
mod replica;
mod reply_strings;
mod seen;
mod setup;
mod stops;
mod taking;
mod totals;
mod under_way;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, Scope};
use std::time::{SystemTime, UNIX_EPOCH};

use measure::{Deliveries, Measurement, Polls, Tally, TallyShape};
use workload::random::SplitMix;
use workload::{Delivery, Plan, message};

pub(crate) use receivers::{ReceiverContext, Receivers};
pub(crate) use totals::ReceiverTotals;

use crate::FailedRequests;
use crate::Fatal;
use crate::collect::{Collector, Message, Observer, Snapshot};
use crate::concrete::Receive;
use crate::destination::Destination;
use crate::gate::Gate;
use crate::launch::RunJob;
use crate::messages::{Acknowledgements, SentTimes};
use crate::opening::Origins;
use crate::password::PasswordSource;
use crate::recorder::Recorder;
use crate::route::cluster::TopologyWatch;
use homes::Homes;
use kind::{Dispatch, Kind};
use seen::NumberBitmap;
use under_way::InFlightTimeline;

/// Intervals that a thread may be ahead of the collector.
const AHEAD_MAX: usize = 4;

/// Value of an unknown end.
const NO_END: u64 = u64::MAX;

/// State that the threads of a run with receivers share.
pub(crate) struct Roles<'r> {
    delivery: &'r Delivery,
    kind: Box<dyn Kind + 'r>,
    /// Number that marks the messages of this run.
    pub(crate) run: u32,
    /// Sender number in this process's own probes.
    pub(super) prober: u32,
    /// Set if receivers get messages of other processes.
    exchanges: bool,
    /// Set if one receiver in any of the processes gets each exchanged message.
    competes: bool,
    homes: Homes<'r>,
    /// Maximum number of connections that all senders may have at once.
    senders: u32,
    /// The last message of each place, known once the senders are done, if receivers poll.
    finals: OnceLock<Vec<Option<workload::Message>>>,
    gate: &'r Gate<'r>,
    /// Source of the current password, if logins ask for it.
    password: Option<&'r dyn PasswordSource>,
    engine: &'static str,
    /// Expected deliveries; [`NO_END`] while the senders are at work.
    expected: AtomicU64,
    threads: Vec<ReceiverThread>,
    /// Expected deliveries of probes, and those that have come.
    probes: u32,
    probed: AtomicU32,
    /// Messages already received: by each group, if its receivers compete; by each receiver, if messages come
    /// in no order.
    seen: Vec<NumberBitmap>,
    /// Acknowledgement times of messages, if receivers measure from them.
    acknowledgements: Option<Acknowledgements>,
    /// Due and sending times of messages, if messages do not carry them.
    sent_times: Option<SentTimes>,
    /// Measurements of the senders so far.
    sent: Mutex<Option<Tally>>,
    /// Totals of each thread in the end.
    ended: Mutex<Vec<ReceiverTotals>>,
}

/// State of a thread of receivers while load runs.
#[derive(Debug, Default)]
struct ReceiverThread {
    subscribed: AtomicBool,
    /// Set if all receivers of the thread have read the last message of their place.
    caught_up: AtomicBool,
    received: AtomicU64,
    ended: AtomicBool,
}

/// Observer of senders: keeps their figures for those who watch the receivers.
struct SendersWatch<'r>(&'r Roles<'r>);

impl Observer for SendersWatch<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let mut sent = self.0.sent.lock().unwrap_or_else(|e| e.into_inner());
        match &mut *sent {
            _ if snapshot.warming_up => {}
            Some(sent) => sent.merge(snapshot.tally),
            sent => *sent = Some(snapshot.tally.clone()),
        }
    }
}

/// Observer of receivers: shows their figures beside the senders'.
pub(crate) struct ReceiversWatch<'r> {
    pub(crate) roles: &'r Roles<'r>,
    pub(crate) observer: &'r mut dyn Observer,
}

impl Observer for ReceiversWatch<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let sent = self.roles.sent.lock().unwrap_or_else(|e| e.into_inner());
        let sending = sent.as_ref().map(|sent| (sent, self.roles.kind.expected(sent)));
        self.observer.interval(&Snapshot { sending, ..*snapshot });
    }

    fn failed(&mut self, failed: &FailedRequests) {
        self.observer.failed(failed);
    }
}

/// Returns a number that no other run has.
fn run_id(seed: u64) -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed = (now.as_nanos() as u64) ^ u64::from(std::process::id()).rotate_left(40) ^ seed;
    (SplitMix::new(mixed).draw() >> 32) as u32
}

impl<'r> Roles<'r> {
    /// Creates the roles of a run, if its plan has receivers. The destination and the watch are the senders';
    /// `senders` is the most connections that these may have at once, `engine` the engine's name.
    pub(crate) fn new(
        job: &'r RunJob<'r>,
        destination: &'r Destination,
        watch: Option<&'r TopologyWatch>,
        senders: u32,
        gate: &'r Gate<'r>,
        engine: &'static str,
    ) -> Option<Self> {
        let (plan, cluster) = (job.plan, job.cluster().map(|cluster| cluster.topology));
        let homes = Homes::new(destination, &job.receivers_at, cluster.zip(watch));
        let delivery = plan.delivery.as_ref()?;
        let kind = kind::from_delivery(delivery, homes.is_cluster());
        let groups = match kind.sharing() {
            Dispatch::FanOut if kind.is_ordered() => 0,
            Dispatch::FanOut => delivery.receivers,
            Dispatch::Competing { groups } => groups,
        };
        let mut roles = Self {
            delivery,
            kind,
            run: match (plan.exchange(), run_id(plan.load.seed)) {
                (Some(exchange), _) => exchange.run,
                (None, id) if plan.numbers_messages() => workload::Message::short_run(id),
                (None, id) => id,
            },
            prober: message::OUT_OF_TURN - plan.load.shard.index,
            exchanges: plan.exchange().is_some(),
            competes: plan.exchange().is_some() && delivery.competes_between_clients(),
            homes,
            senders,
            finals: OnceLock::new(),
            gate,
            password: job.password,
            engine,
            expected: AtomicU64::new(NO_END),
            threads: (0..delivery.threads).map(|_| ReceiverThread::default()).collect(),
            probes: 0,
            probed: AtomicU32::new(0),
            seen: (0..groups).map(|_| NumberBitmap::default()).collect(),
            acknowledgements: delivery
                .kind
                .follows_acknowledgements()
                .then(|| Acknowledgements::new(plan.message_numbers())),
            sent_times: plan.numbers_messages().then(|| SentTimes::new(&plan.load.stop)),
            sent: Mutex::default(),
            ended: Mutex::default(),
        };
        roles.probes = roles.copies_by_place().iter().sum();
        Some(roles)
    }

    /// Starts the threads of the receivers. Returns the collector and the channel of their reports.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        plan: &'scope Plan,
        origins: &'scope Origins,
        receive: &'scope Receive<'scope>,
    ) -> io::Result<(Collector, Receiver<Message>)> {
        let shape = tally_shape(plan);
        let (full, messages) = mpsc::sync_channel(AHEAD_MAX * self.threads.len());
        let mut empties = Vec::new();
        for thread in 0..self.delivery.threads {
            let (empty, ready) = mpsc::channel();
            let _ = empty.send(Tally::new(&shape));
            empties.push(empty);
            let recorder = Recorder::new(thread, shape, Arc::new([0]), full.clone(), ready);
            let all = 0..self.delivery.receivers;
            let receivers = all.filter(|receiver| self.delivery.thread_of(*receiver) == thread);
            let receivers = receivers.collect();
            let origins = origins.of_receivers(plan);
            let context = ReceiverContext { plan, roles: self, origins, thread, receivers };
            let full = full.clone();
            let started = thread::Builder::new().name(format!("receiver-{thread}"));
            let started = started.spawn_scoped(scope, move || {
                let (reports, had) = receive(context, recorder);
                self.threads[usize::from(thread)].ended.store(true, Ordering::Release);
                self.ended.lock().unwrap_or_else(|e| e.into_inner()).push(had);
                reports.into_iter().for_each(|report| drop(full.send(report)));
            });
            if let Err(error) = started {
                self.gate.fail(Fatal::new(format!("starting a thread: {error}")));
                return Err(error);
            }
        }
        Ok((Collector::new(shape, empties, self.engine), messages))
    }

    /// Starts a thread that collects the senders' figures and tells the receivers when they are complete.
    pub(crate) fn collect<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        sending: &'scope mut Collector,
        messages: Receiver<Message>,
    ) -> io::Result<()> {
        let thread = thread::Builder::new().name("collector".to_owned());
        let started = thread.spawn_scoped(scope, move || {
            sending.collect(&messages, &mut SendersWatch(self));
            self.expected.store(self.kind.expected(&sending.total), Ordering::Release);
            self.observer().iter().for_each(|observer| observer.sent());
        });
        if let Err(error) = &started {
            self.gate.fail(Fatal::new(format!("starting a thread: {error}")));
        }
        started.map(drop)
    }

    /// Returns the number of expected deliveries, once the senders are done.
    fn expected(&self) -> Option<u64> {
        Some(self.expected.load(Ordering::Acquire)).filter(|expected| *expected != NO_END)
    }

    fn tell_received(&self, thread: u16, received: u64) {
        self.threads[usize::from(thread)].received.store(received, Ordering::Release);
    }

    /// Returns whether all threads of receivers but this one have closed their connections.
    fn others_ended(&self, thread: u16) -> bool {
        let threads = (0..).zip(&self.threads).filter(|(number, _)| *number != thread);
        threads.map(|(_, other)| other).all(|other| other.ended.load(Ordering::Acquire))
    }

    /// Returns whether no more messages will be sent to receivers of this process.
    fn is_sent(&self) -> bool {
        let is_last = self.gate.barrier().is_none_or(|barrier| barrier.is_all_sent());
        (is_last || self.gate.interrupted()) && self.expected().is_some()
    }

    /// Returns whether everything has come. The number of messages from other processes is unknown here, but
    /// a server delivers them before the probes that follow them.
    fn is_complete(&self) -> bool {
        if self.competes {
            return self.is_received_by_all();
        }
        if self.exchanges {
            return self.probed.load(Ordering::Acquire) >= self.probes.saturating_mul(2);
        }
        if self.kind.is_sampled() {
            return self.threads.iter().all(|thread| thread.caught_up.load(Ordering::Acquire));
        }
        let received = self.threads.iter().map(|thread| thread.received.load(Ordering::Acquire));
        self.expected().is_some_and(|expected| received.sum::<u64>() >= expected)
    }

    /// Combines both measurements: latencies are deliveries', while lateness, errors and connections include
    /// both sides'.
    pub(crate) fn together(self, sending: Measurement, mut receiving: Measurement) -> Measurement {
        let expected = self.expected().unwrap_or_else(|| self.kind.expected(&sending.total));
        let ended = self.ended.into_inner().unwrap_or_else(|e| e.into_inner());
        let ReceiverTotals {
            counts,
            by_receiver,
            spread,
            mut waits,
            under_way,
            remains,
            polls,
            mut invalidations,
            removable,
        } = ended.into_iter().reduce(ReceiverTotals::merged).unwrap_or_default();
        if let Some(waits) = &mut waits {
            waits.backlog = under_way.iter().flat_map(InFlightTimeline::backlog).collect();
            totals::count_remains(waits, remains.as_ref(), sending.elapsed_ns);
        }
        let polls = polls.map(|(gap, behind)| {
            Box::new(Polls {
                gap,
                overtaken: expected.saturating_sub(counts.received + behind),
                behind,
            })
        });
        let (first, last) = spread.unzip();
        receiving.workers = [sending.workers, receiving.workers].concat();
        receiving.total.add_senders(&sending.total);
        // A reply counts receivers at its own node. One that stayed at a node which turned replica receives, too.
        let missed_while_away = self.kind.missed_while_away(&sending.total);
        let missed = match &mut invalidations {
            Some(caches) => {
                caches::missed(self.delivery.kind, caches, removable, expected, &counts)
            }
            None => pubsub::missed(self.delivery.kind, expected, &counts),
        };
        let (expected, missed_while_away) = (expected - missed, missed_while_away + missed);
        let uncounted = if self.exchanges {
            // Both are of other clients' messages, too.
            0
        } else {
            counts.received.saturating_sub(expected).min(missed_while_away)
        };
        receiving.deliveries = Some(Box::new(Deliveries {
            sending: sending.total,
            sending_ns: sending.elapsed_ns,
            expected: expected + uncounted,
            missed_while_away: missed_while_away - uncounted,
            counts,
            first,
            last,
            polls,
            by_receiver,
            receivers: self.delivery.receivers,
            waits,
            invalidations: invalidations.map(Box::new),
            kept: remains.and_then(|remains| remains.kept),
        }));
        receiving
    }
}

/// Returns the shape of the receivers' tallies: one kind of event, which was due at a time of its own.
fn tally_shape(plan: &Plan) -> TallyShape {
    TallyShape {
        commands: 1,
        precision: plan.recording.precision,
        scheduled: true,
        first_byte: false,
        operations: 0,
        separate_failures: false,
        places: 0,
        spans: plan.recording.kernel_stamps,
        deadline_ns: None,
    }
}
