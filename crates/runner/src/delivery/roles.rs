//! State that senders and receivers share, which they touch a few times a second.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use measure::Tally;
use workload::random::SplitMix;
use workload::{Delivery, message};

use super::homes::Homes;
use super::kind::{Dispatch, Kind};
use super::kinds::from_delivery;
use super::seen::NumberBitmap;
use super::totals::ReceiverTotals;
use crate::destination::Destination;
use crate::gate::Gate;
use crate::job::RunJob;
use crate::messages::{Acknowledgements, SentTimes};
use crate::password::PasswordSource;
use crate::route::cluster::TopologyWatch;

/// Value of an unknown end.
pub(super) const NO_END: u64 = u64::MAX;

/// State that the threads of a run with receivers share.
pub(crate) struct Roles<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) kind: Box<dyn Kind + 'r>,
    /// Number that marks the messages of this run.
    pub(crate) run: u32,
    /// Sender number in this process's own probes.
    pub(super) prober: u32,
    /// Set if receivers get messages of other processes.
    pub(super) exchanges: bool,
    /// Set if one receiver in any of the processes gets each exchanged message.
    pub(super) competes: bool,
    pub(super) homes: Homes<'r>,
    /// Maximum number of connections that all senders may have at once.
    pub(super) senders: u32,
    /// The last message of each place, known once the senders are done, if receivers poll.
    pub(super) finals: OnceLock<Vec<Option<workload::Message>>>,
    pub(super) gate: &'r Gate<'r>,
    /// Source of the current password, if logins ask for it.
    pub(super) password: Option<&'r dyn PasswordSource>,
    pub(super) engine: &'static str,
    /// Expected deliveries; [`NO_END`] while the senders are at work.
    pub(super) expected: AtomicU64,
    pub(super) threads: Vec<ReceiverThread>,
    /// Expected deliveries of probes, and those that have come.
    pub(super) probes: u32,
    pub(super) probed: AtomicU32,
    /// Messages already received: by each group, if its receivers compete; by each receiver, if messages come
    /// in no order.
    pub(super) seen: Vec<NumberBitmap>,
    /// Acknowledgement times of messages, if receivers measure from them.
    pub(super) acknowledgements: Option<Acknowledgements>,
    /// Due and sending times of messages, if messages do not carry them.
    pub(super) sent_times: Option<SentTimes>,
    /// Measurements of the senders so far.
    pub(super) sent: Mutex<Option<Tally>>,
    /// Totals of each thread in the end.
    pub(super) ended: Mutex<Vec<ReceiverTotals>>,
}

/// State of a thread of receivers while load runs.
#[derive(Debug, Default)]
pub(super) struct ReceiverThread {
    pub(super) subscribed: AtomicBool,
    /// Set if all receivers of the thread have read the last message of their place.
    pub(super) caught_up: AtomicBool,
    pub(super) received: AtomicU64,
    pub(super) ended: AtomicBool,
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
        let kind = from_delivery(delivery, homes.is_cluster());
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

    /// Returns the number of expected deliveries, once the senders are done.
    pub(super) fn expected(&self) -> Option<u64> {
        Some(self.expected.load(Ordering::Acquire)).filter(|expected| *expected != NO_END)
    }

    pub(super) fn tell_received(&self, thread: u16, received: u64) {
        self.threads[usize::from(thread)].received.store(received, Ordering::Release);
    }

    /// Returns whether all threads of receivers but this one have closed their connections.
    pub(super) fn others_ended(&self, thread: u16) -> bool {
        let threads = (0..).zip(&self.threads).filter(|(number, _)| *number != thread);
        threads.map(|(_, other)| other).all(|other| other.ended.load(Ordering::Acquire))
    }

    /// Returns whether no more messages will be sent to receivers of this process.
    pub(super) fn is_sent(&self) -> bool {
        let is_last = self.gate.barrier().is_none_or(|barrier| barrier.is_all_sent());
        (is_last || self.gate.interrupted()) && self.expected().is_some()
    }

    /// Returns whether everything has come. The number of messages from other processes is unknown here, but
    /// a server delivers them before the probes that follow them.
    pub(super) fn is_complete(&self) -> bool {
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
}
