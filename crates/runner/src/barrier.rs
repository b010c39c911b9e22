//! A common start that comes from outside: a coordinator sets the time when all processes are ready.
//!
//! Owns no clock: whoever releases it says when to begin, on this process's own clock.

use std::sync::OnceLock;
use std::time::Instant;

/// Holds a run that is ready until it is released.
pub struct Barrier {
    ready: Box<dyn Fn() + Send + Sync>,
    start: OnceLock<Instant>,
}

impl Barrier {
    /// A barrier that calls `ready`, from the thread of a worker, when every connection is open.
    pub fn new(ready: impl Fn() + Send + Sync + 'static) -> Self {
        Self { ready: Box::new(ready), start: OnceLock::new() }
    }

    /// Lets load begin at this instant, or now if that has passed, and says which it is. Only the
    /// first word counts.
    pub fn release(&self, at: Instant) -> Instant {
        *self.start.get_or_init(|| at.max(Instant::now()))
    }

    pub(crate) fn arrived(&self) {
        (self.ready)();
    }

    /// The start on the clock of the engines, which began at `origin`; `None` before the release.
    pub(crate) fn start_ns(&self, origin: Instant) -> Option<u64> {
        let start = self.start.get()?;
        Some(start.saturating_duration_since(origin).as_nanos() as u64)
    }
}
