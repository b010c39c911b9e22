//! What comes to a run from outside: a coordinator sets the start when all processes are ready, and says when the
//! last of them has sent everything.
//!
//! Owns no clock: whoever releases it says when to begin, on this process's own clock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Holds a run that is ready until it is released.
pub struct Barrier {
    ready: Box<dyn Fn() + Send + Sync>,
    start: OnceLock<Start>,
    sent: Option<Box<dyn Fn() + Send + Sync>>,
    all_sent: AtomicBool,
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
            sent: None,
            all_sent: AtomicBool::new(false),
        }
    }

    /// The same for a run whose receivers get what other processes send: it calls `sent` when its own senders are
    /// done, and receives until [`all_have_sent`](Self::all_have_sent).
    #[must_use]
    pub fn with_end(self, sent: impl Fn() + Send + Sync + 'static) -> Self {
        Self { sent: Some(Box::new(sent)), ..self }
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

    /// The senders of this process are done.
    pub(crate) fn sent(&self) {
        self.sent.iter().for_each(|sent| sent());
    }

    /// Whether those of all are, or no other process sends what this one receives.
    pub(crate) fn is_all_sent(&self) -> bool {
        self.sent.is_none() || self.all_sent.load(Ordering::Acquire)
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
