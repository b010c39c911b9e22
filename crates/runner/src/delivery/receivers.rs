//! The state of one thread of receivers: their connections, and what they have received.
//!
//! Nothing is shared with the senders on a message's way: the message itself carries the data of its sample.

use std::collections::VecDeque;

use engine::{Address, ConnId, Engine};
use measure::{DeliveryCounts, Invalidations, Latency, Waits, WorkerUse};
use wire::resp::{Resp, RespDecoder};
use workload::Plan;

use super::first_and_last::FirstAndLast;
use super::homes::Replacements;
use super::kind::{Consumer, Kind};
use super::order::RecentNumbers;
use super::probe::Prober;
use super::reply_strings::{Capture, ReplyStrings};
use super::roles::Roles;
use super::totals::ReceiverTotals;
use super::under_way::InFlightTimeline;
use crate::collect::Message as Report;
use crate::handshake::Handshake;
use crate::opening::Origins;
use crate::recorder::Recorder;
use crate::reopening::ReconnectQueue;
use crate::{Fatal, Progress};

/// Interval at which a thread checks whether the run has ended, after the senders are done.
pub(super) const DRAIN_LOOK_NS: u64 = 1_000_000;

/// State of a receiver's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Handshake {
        answered: usize,
    },
    /// Awaiting this many confirmations.
    Asking {
        left: u32,
    },
    Ready,
}

pub(super) struct Receiver<'r> {
    pub(super) state: State,
    /// The server that the receiver connects to.
    pub(super) home: Address,
    pub(super) consumer: Box<dyn Consumer + 'r>,
    /// Number in the run.
    pub(super) number: u32,
    pub(super) decoder: RespDecoder,
    pub(super) strings: ReplyStrings,
    /// Latest numbers of each sender; for kinds that name places, of each sender and place.
    pub(super) latest: Vec<RecentNumbers>,
    /// First place of the receiver.
    pub(super) first_place: u32,
    /// Probes that the receiver may still get.
    pub(super) probes: u32,
    /// Number of receivers that get each of its messages, if equal for all of them.
    pub(super) copies: u32,
    /// Measured messages received.
    pub(super) received: u64,
    pub(super) cache: CacheCounts,
    /// Time at which the receiver asked for messages last.
    pub(super) asked_ns: u64,
    /// Failed attempts to reopen its connection.
    pub(super) attempts: u32,
    /// Time of its last reply, if receivers poll.
    pub(super) read_ns: u64,
    pub(super) was_lost: bool,
    /// Set once the server has let a blocking command wait on this connection rather than reject it.
    pub(super) is_proved: bool,
}

/// Counts of one cache beside invalidations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CacheCounts {
    /// Messages that the cache had already read.
    pub(super) covered: u64,
    /// Messages that may have been removed before the cache had them, as of the last invalidation of all
    /// keys.
    pub(super) removable: u64,
}

/// The second connection of a cache.
pub(super) struct Listener {
    pub(super) state: State,
    pub(super) decoder: RespDecoder,
    pub(super) strings: ReplyStrings,
    /// Server-side number of the connection.
    pub(super) id: Option<u64>,
}

impl Listener {
    pub(super) fn new(strings: ReplyStrings) -> Self {
        Self { state: State::Closed, decoder: RespDecoder::default(), strings, id: None }
    }

    /// Makes ready for another connection.
    pub(super) fn forget(&mut self) {
        (self.state, self.decoder, self.id) = (State::Closed, RespDecoder::default(), None);
        self.strings.clear();
    }
}

/// Receives on the calling thread; returns the final reports and the totals.
pub(crate) type Receive<'r> =
    dyn for<'w> Fn(ReceiverContext<'w>, Recorder) -> (Vec<Report>, ReceiverTotals) + Sync + 'r;

/// Context of a thread of receivers.
pub(crate) struct ReceiverContext<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) roles: &'r Roles<'r>,
    pub(crate) origins: Origins,
    /// Number of the thread among the threads of receivers.
    pub(crate) thread: u16,
    /// The receivers of this thread, by their numbers in the run.
    pub(crate) receivers: Vec<u32>,
}

impl ReceiverContext<'_> {
    /// Number of connections that its engine needs room for.
    pub(crate) fn connections(&self) -> u32 {
        // Another for the probes.
        let each = self.roles.delivery.kind.connections_each();
        self.receivers.len() as u32 * each + 1
    }

    /// Returns whether a receiver that loses its connection now comes back.
    pub(super) fn reconnects(&self) -> bool {
        self.plan.recovery.reconnect && self.roles.gate.start_ns().is_some()
    }

    /// Returns the final reports of a thread that never began.
    pub(crate) fn idle(&self, recorder: Recorder, why: String) -> (Vec<Report>, ReceiverTotals) {
        self.roles.gate.fail(Fatal::new(why));
        (recorder.finish(Vec::new(), WorkerUse::default()), ReceiverTotals::default())
    }
}

/// Thread of receivers.
pub(crate) struct Receivers<'r, E> {
    pub(super) engine: E,
    pub(super) context: ReceiverContext<'r>,
    pub(super) handshake: Handshake,
    pub(super) receivers: Vec<Receiver<'r>>,
    /// Listener of each receiver, if the kind has listeners.
    pub(super) listeners: Vec<Listener>,
    pub(super) prober: Option<Prober>,
    /// Replaced servers that the thread has seen.
    pub(super) replaced: Replacements,
    /// Last reported progress of messages between processes.
    pub(super) reported: Progress,
    pub(super) recorder: Recorder,
    pub(super) reopening: ReconnectQueue,
    pub(super) counts: DeliveryCounts,
    pub(super) spread: Option<FirstAndLast>,
    /// Time from one reply to the next, if receivers poll.
    pub(super) gap: Option<Latency>,
    /// Counts of receivers that cache.
    pub(super) invalidations: Option<Invalidations>,
    /// Number of receivers that are ready.
    pub(super) ready: u32,
    /// Longest wait of a blocking command, if the kind has one, and the waits seen since load began.
    pub(super) block_ns: Option<u64>,
    pub(super) waits: Option<Waits>,
    pub(super) under_way: Option<InFlightTimeline>,
    /// Pause between polls, if the kind polls, and the time of each receiver's next poll.
    pub(super) pause_ns: Option<u64>,
    pub(super) pauses: VecDeque<(u64, ConnId)>,
    pub(super) out: Vec<u8>,
    /// Beginning of the times in messages, on this process's clock.
    pub(super) epoch_ns: u64,
}

impl<'r, E: Engine> Receivers<'r, E> {
    pub(crate) fn new(engine: E, context: ReceiverContext<'r>, recorder: Recorder) -> Self {
        let (plan, roles) = (context.plan, context.roles);
        let delivery = roles.delivery;
        let kind: &'r dyn Kind = &*roles.kind;
        let capture = kind.capture();
        let copies = roles.copies_by_place();
        let distinguished = delivery.distinguished_places();
        let latest = if kind.is_ordered() { roles.senders * distinguished } else { 0 };
        let receiver = |number: &u32| {
            let place = delivery.places_of(*number).next().unwrap_or(0);
            Receiver {
                state: State::Closed,
                home: roles.homes.of_receiver(delivery, *number),
                consumer: kind.consumer(*number),
                number: *number,
                decoder: RespDecoder::default(),
                strings: ReplyStrings::new(Capture { numbers: plan.numbers_messages(), ..capture }),
                latest: vec![RecentNumbers::default(); latest as usize],
                first_place: place,
                probes: roles.probes_of(*number),
                copies: copies[place as usize],
                received: 0,
                cache: CacheCounts::default(),
                asked_ns: 0,
                attempts: 0,
                read_ns: 0,
                was_lost: false,
                is_proved: false,
            }
        };
        let receivers: Vec<_> = context.receivers.iter().map(receiver).collect();
        let even = copies.iter().min() == copies.iter().max();
        let is_alone = delivery.threads == 1;
        let together = delivery.places_each == 1 && !delivery.kind.follows_acknowledgements();
        let known = (together || (even && is_alone)) && !roles.exchanges;
        let spread = (known && copies.iter().any(|copies| *copies > 1))
            .then(|| FirstAndLast::new(plan.recording.precision));
        let count = receivers.len() as u32;
        Self {
            engine,
            handshake: Handshake::new::<Resp>(plan),
            prober: (context.thread == 0)
                .then(|| Prober::new(ConnId(count), roles.stops(&copies), plan.numbers_messages())),
            replaced: Replacements::default(),
            listeners: roles.listeners(receivers.len()),
            receivers,
            reported: Progress::default(),
            recorder,
            reopening: ReconnectQueue::new(
                count,
                plan.load.seed,
                context.thread,
                plan.recovery.backoff,
            ),
            counts: DeliveryCounts::default(),
            spread,
            gap: kind.is_sampled().then(|| Latency::new(plan.recording.precision)),
            invalidations: (delivery.kind.follows_acknowledgements())
                .then(|| Invalidations::new(plan.recording.precision)),
            ready: 0,
            block_ns: kind.block_ns(),
            waits: None,
            under_way: None,
            pause_ns: kind.pause_ns(),
            pauses: VecDeque::new(),
            out: Vec::new(),
            epoch_ns: 0,
            context,
        }
    }
}
