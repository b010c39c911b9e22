//! Signals that a coordinator sends to a run: the start, once all processes are ready; the end of sending;
//! the arrival of all messages; and the departure of the last receiver.
//!
//! Owns no clock: the caller that releases the barrier gives the start on the clock of this process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Barrier that holds a run, once it is ready, until its release.
pub struct Barrier {
    ready: Box<dyn Fn() + Send + Sync>,
    start: OnceLock<Start>,
    exchange: Option<Box<dyn ExchangeObserver>>,
    all_sent: AtomicBool,
    all_received: AtomicBool,
    removes: OnceLock<bool>,
}

/// Counts messages that go between processes.
pub trait ExchangeObserver: Send + Sync {
    /// Reports that all senders of this process are done.
    fn sent(&self);

    /// Reports the progress of this process when it has changed, before load begins and once all have sent.
    fn progress(&self, progress: Progress);

    /// Reports which messages came to this process, if each goes to one receiver. Called after its receivers
    /// are gone and before [`Progress::closed`].
    fn received(&self, page: ReceivedPage<'_>);
}

/// Received messages of a range of numbers.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedPage<'p> {
    /// The group of receivers; each message goes to one of them.
    pub group: usize,
    /// Number of the page; all pages hold equally many message numbers.
    pub page: usize,
    /// A bit for each number, the lowest first.
    pub bits: &'p [u64],
}

/// Progress of a process with messages that go between processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Expected deliveries of the probes that this process sends, where any process may receive them.
    pub probes: u64,
    /// Probes that came to receivers of this process from any process.
    pub probed: u64,
    /// Expected deliveries, at any process, of the messages that this process sent; `None` while its senders
    /// are at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// Messages that the receivers of this process got.
    pub received: u64,
    /// Set once the receivers of this process are gone.
    pub closed: bool,
}

/// The common start of all processes, and the start of this one.
#[derive(Debug, Clone, Copy)]
struct Start {
    agreed: Instant,
    actual: Instant,
}

impl Barrier {
    /// Creates a barrier that calls `ready`, from a worker's thread, when every connection is open.
    pub fn new(ready: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            ready: Box::new(ready),
            start: OnceLock::new(),
            exchange: None,
            all_sent: AtomicBool::new(false),
            all_received: AtomicBool::new(false),
            removes: OnceLock::new(),
        }
    }

    /// Adds an observer, for a run whose receivers get messages of other processes. The run receives until
    /// [`all_have_sent`](Self::all_have_sent) was called and everything has come. At the end it waits for
    /// [`all_are_closed`](Self::all_are_closed), which says who removes the keys.
    pub fn with_exchange(self, observer: impl ExchangeObserver + 'static) -> Self {
        Self { exchange: Some(Box::new(observer)), ..self }
    }

    /// Lets load begin at this instant, or now if that has passed, and returns the chosen instant. Only the
    /// first call counts.
    pub fn release(&self, at: Instant) -> Instant {
        self.start.get_or_init(|| Start { agreed: at, actual: at.max(Instant::now()) }).actual
    }

    /// Says that the senders of all processes are done.
    pub fn all_have_sent(&self) {
        self.all_sent.store(true, Ordering::Release);
    }

    /// Says that the receivers of each process have everything that was sent to them.
    pub fn all_have_received(&self) {
        self.all_received.store(true, Ordering::Release);
    }

    /// Says that the receivers of all processes are gone, and whether this process removes the keys.
    pub fn all_are_closed(&self, removes: bool) {
        let _ = self.removes.set(removes);
    }

    /// Observer of messages that go between processes, if any.
    pub(crate) fn exchange(&self) -> Option<&dyn ExchangeObserver> {
        self.exchange.as_deref()
    }

    /// Returns whether the senders of all processes are done; true if no other process sends what this one receives.
    pub(crate) fn is_all_sent(&self) -> bool {
        self.exchange.is_none() || self.all_sent.load(Ordering::Acquire)
    }

    /// Returns whether all messages between processes have come.
    pub(crate) fn is_all_received(&self) -> bool {
        self.all_received.load(Ordering::Acquire)
    }

    /// Returns whether this process removes the keys of the run; `None` while some process has receivers.
    pub(crate) fn removes(&self) -> Option<bool> {
        self.removes.get().copied()
    }

    pub(crate) fn arrived(&self) {
        (self.ready)();
    }

    /// Start of this process on the engines' clock, which began at `origin`; `None` before the release.
    pub(crate) fn start_ns(&self, origin: Instant) -> Option<u64> {
        let start = self.start.get()?.actual;
        Some(start.saturating_duration_since(origin).as_nanos() as u64)
    }

    /// Common start of all processes, on the engines' clock; `None` before the release.
    pub(crate) fn agreed_ns(&self, origin: Instant) -> Option<u64> {
        let start = self.start.get()?.agreed;
        Some(start.saturating_duration_since(origin).as_nanos() as u64)
    }
}
