//! State shared by workers: the common start and the request to stop.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::Instant;

use naming::START_AT;

use crate::{Barrier, Fatal};

const UNKNOWN: u64 = u64::MAX;
/// Sleep of a ready worker between checks of a closed gate.
const GATE_EVERY_NS: u64 = 200_000;
/// Sleep between checks while a slow party, which will notify, is awaited.
const BARRIER_EVERY_NS: u64 = 2_000_000;
/// Sleep between checks when the time of opening is known.
const STOP_EVERY_NS: u64 = 100_000_000;

/// Shared by the workers of one run and the thread that collects.
pub(crate) struct Gate<'r> {
    workers: u16,
    arrived: AtomicU16,
    /// Time at which load starts; [`UNKNOWN`] while some worker is still connecting.
    start_ns: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<Fatal>>,
    interrupted: &'r AtomicBool,
    opens: GateOpening<'r>,
}

/// Time at which the gate opens once all workers have arrived.
pub(crate) enum GateOpening<'r> {
    /// At once.
    AtOnce,
    /// At this time, which is negative if it passed before the engines' clocks began.
    At(i64),
    /// Upon release of the barrier; engines' clocks began at this instant.
    Released(&'r Barrier, Instant),
}

impl<'r> Gate<'r> {
    pub(crate) fn new(workers: u16, opens: GateOpening<'r>, interrupted: &'r AtomicBool) -> Self {
        Self {
            workers,
            arrived: AtomicU16::new(0),
            start_ns: AtomicU64::new(UNKNOWN),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            interrupted,
            opens,
        }
    }

    /// Says that one worker is ready. The last one opens the gate for all at one moment: now, at the agreed
    /// time, or upon release.
    pub(crate) fn arrive(&self, now_ns: u64) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 < self.workers {
            return;
        }
        let start_ns = match &self.opens {
            GateOpening::AtOnce => now_ns,
            GateOpening::At(agreed_ns) => {
                let late_ns = i128::from(now_ns) - i128::from(*agreed_ns);
                if late_ns > 0 {
                    self.fail(Fatal::new(format!(
                        "{START_AT}: the connections were open {:.3} s after the agreed start; \
                         use a later one",
                        late_ns as f64 / 1e9
                    )));
                }
                u64::try_from(*agreed_ns).unwrap_or_default()
            }
            GateOpening::Released(barrier, _) => return barrier.arrived(),
        };
        self.start_ns.store(start_ns, Ordering::Release);
    }

    /// Time at which load starts, once that is known.
    pub(crate) fn start_ns(&self) -> Option<u64> {
        match (self.start_ns.load(Ordering::Acquire), &self.opens) {
            (UNKNOWN, GateOpening::Released(barrier, origin)) => barrier.start_ns(*origin),
            (UNKNOWN, _) => None,
            (start_ns, _) => Some(start_ns),
        }
    }

    /// Common start of all processes of a run; 0 for a single process or before the start is known.
    pub(crate) fn agreed_ns(&self) -> u64 {
        match &self.opens {
            GateOpening::Released(barrier, origin) => barrier.agreed_ns(*origin).unwrap_or(0),
            GateOpening::AtOnce | GateOpening::At(_) => 0,
        }
    }

    /// Barrier of the run, if it has one.
    pub(crate) fn barrier(&self) -> Option<&'r Barrier> {
        match self.opens {
            GateOpening::Released(barrier, _) => Some(barrier),
            GateOpening::AtOnce | GateOpening::At(_) => None,
        }
    }

    /// Returns when a worker that waits for the start should look again; `None` once the start has come.
    pub(crate) fn look_again_ns(&self, now_ns: u64) -> Option<u64> {
        match self.start_ns() {
            Some(start_ns) if start_ns <= now_ns => None,
            // Also now and then before the start, in case the run is stopped.
            Some(start_ns) => Some(start_ns.min(now_ns + STOP_EVERY_NS)),
            None if matches!(self.opens, GateOpening::Released(..)) => {
                Some(now_ns + BARRIER_EVERY_NS)
            }
            None => Some(now_ns + GATE_EVERY_NS),
        }
    }

    /// Stops all workers for this reason. Only the first reason is kept.
    pub(crate) fn fail(&self, fatal: Fatal) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(fatal);
        }
        self.failed.store(true, Ordering::Release);
    }

    /// Returns whether workers are to stop at once.
    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.interrupted()
    }

    /// Returns whether some worker cannot go on.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Returns whether the caller asked for the end.
    #[inline]
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// The first failure.
    pub(crate) fn failure(&self) -> Option<Fatal> {
        self.failure.lock().ok().and_then(|f| f.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_has_passed_says_by_how_much_of_the_wall_clock() {
        let interrupted = AtomicBool::new(false);
        let describe = |agreed_ns| {
            let gate = Gate::new(1, GateOpening::At(agreed_ns), &interrupted);
            gate.arrive(4_000_000);
            gate.failure().map(|fatal| fatal.text)
        };
        assert_eq!(describe(5_000_000), None);
        assert!(describe(1_000_000).unwrap().contains("were open 0.003 s"));
        let years = describe(-200_000_000_000_000_000).unwrap();
        assert!(years.contains("were open 200000000.004 s"), "{years}");
    }
}
