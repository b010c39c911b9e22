//! What comes to a run from outside: a coordinator sets the start when all processes are ready, and says when the
//! last of them has sent everything, when everything has come, and when the last receiver is gone.
//!
//! Owns no clock: whoever releases it says when to begin, on this process's own clock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Holds a run that is ready until it is released.
pub struct Barrier {
    ready: Box<dyn Fn() + Send + Sync>,
    start: OnceLock<Start>,
    exchange: Option<Box<dyn ExchangeObserver>>,
    all_sent: AtomicBool,
    all_received: AtomicBool,
    removes: OnceLock<bool>,
}

/// Adds up messages that go between processes.
pub trait ExchangeObserver: Send + Sync {
    /// The senders of this process are done.
    fn sent(&self);

    /// Reports the progress of this process: whenever that has changed, before load begins and once all have sent.
    fn progress(&self, progress: Progress);

    /// Reports which messages came to this process, if each goes to one receiver: after its receivers are gone, before
    /// [`Progress::closed`].
    fn received(&self, page: ReceivedPage<'_>);
}

/// Received messages of a range of numbers.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedPage<'p> {
    /// The group of receivers of which one gets each message.
    pub group: usize,
    /// The page; all have as many numbers.
    pub page: usize,
    /// A bit for each number, the lowest first.
    pub bits: &'p [u64],
}

/// Progress of a process with messages that go between processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Deliveries that there must be of the probes that it sends, where any process may get them.
    pub probes: u64,
    /// Probes of any process that came to its receivers, where any may get them.
    pub probed: u64,
    /// Deliveries that there must be of what its senders sent, at whichever process; `None` while they are at work.
    pub expected: Option<u64>,
    /// Messages that its receivers had.
    pub received: u64,
    /// Set once its receivers are gone.
    pub closed: bool,
}

/// The start that all processes were given, and when this one begins.
#[derive(Debug, Clone, Copy)]
struct Start {
    agreed: Instant,
    actual: Instant,
}

impl Barrier {
    /// A barrier that calls `ready`, from the thread of a worker, when every connection is open.
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

    /// Adds an observer, for a run whose receivers get what other processes send: it receives until
    /// [`all_have_sent`](Self::all_have_sent) and all has come, and waits at the end until it is known who removes the
    /// keys of the run ([`all_are_closed`](Self::all_are_closed)).
    #[must_use]
    pub fn with_exchange(self, observer: impl ExchangeObserver + 'static) -> Self {
        Self { exchange: Some(Box::new(observer)), ..self }
    }

    /// Lets load begin at this instant, or now if that has passed, and says which it is. Only the
    /// first word counts.
    pub fn release(&self, at: Instant) -> Instant {
        self.start.get_or_init(|| Start { agreed: at, actual: at.max(Instant::now()) }).actual
    }

    /// Says that the senders of all processes are done.
    pub fn all_have_sent(&self) {
        self.all_sent.store(true, Ordering::Release);
    }

    /// Says that all that was sent has come to the receivers of some process.
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

    /// The start on the clock of the engines, which began at `origin`; `None` before the release.
    pub(crate) fn start_ns(&self, origin: Instant) -> Option<u64> {
        let start = self.start.get()?.actual;
        Some(start.saturating_duration_since(origin).as_nanos() as u64)
    }

    /// The start that all processes were given, on the same clock; `None` before the release.
    pub(crate) fn agreed_ns(&self, origin: Instant) -> Option<u64> {
        let start = self.start.get()?.agreed;
        Some(start.saturating_duration_since(origin).as_nanos() as u64)
    }
}
