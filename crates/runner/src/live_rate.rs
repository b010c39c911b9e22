//! A rate that may change while a plan is carried out.
//!
//! The caller keeps a [`LiveRate`] and sets new rates. Workers compare one number at each turn, and take the
//! lock only when it has changed. A change is announced before it takes effect, by more than a worker ever
//! sleeps. All workers therefore turn at the same nanosecond of the schedule, and the number of due requests
//! follows from the areas below its rates. Results belong to the plan with the final schedule.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use workload::{Pace, Plan, Stop};

use crate::INTERVAL_NS;

/// Notice before a change takes effect: longer than the sleep of a worker, which hands over its figures every
/// [`INTERVAL_NS`].
const AHEAD_NS: u64 = INTERVAL_NS + 50_000_000;

/// The rate of a running plan; clones of an `Arc` of it are shared with the workers.
#[derive(Debug)]
pub struct LiveRate {
    state: Mutex<State>,
    changes: AtomicU32,
}

#[derive(Debug)]
struct State {
    /// The plan with its current schedule.
    plan: Plan,
    /// Start of the engines' clock, and start of load on that clock.
    origin: Option<Instant>,
    start_ns: Option<u64>,
}

impl LiveRate {
    /// The rate of a plan; `None` for a closed loop.
    pub fn from_plan(plan: &Plan) -> Option<Self> {
        plan.load.pace.schedule()?;
        let state = State { plan: plan.clone(), origin: None, start_ns: None };
        Some(Self { state: Mutex::new(state), changes: AtomicU32::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests another rate, in requests per second of all workers (and all shares of the plan) together. It
    /// holds from a third of a second later until the schedule's next stage. `None` lifts the limit from then
    /// on.
    ///
    /// # Errors
    /// Returns an error if the run ends before then, or if the rate or one more stage exceeds the limits of
    /// plans.
    pub fn set(&self, rate_per_s: Option<f64>) -> Result<(), String> {
        let state = self.lock();
        let at_ns = state.origin.zip(state.start_ns).map_or(0, |(origin, start_ns)| {
            (origin.elapsed().as_nanos() as u64).saturating_sub(start_ns).saturating_add(AHEAD_NS)
        });
        self.change(state, at_ns, rate_per_s)
    }

    /// Sets the rate as of a time since load began.
    #[cfg(test)]
    pub(crate) fn set_at(&self, at_ns: u64, rate_per_s: Option<f64>) -> Result<(), String> {
        self.change(self.lock(), at_ns, rate_per_s)
    }

    /// Changes the rate at a time since load began.
    fn change(
        &self,
        mut state: MutexGuard<'_, State>,
        at_ns: u64,
        rate_per_s: Option<f64>,
    ) -> Result<(), String> {
        let plan = &state.plan;
        // The time before keeps its initial rate, so that there always is one.
        let at_ns = at_ns.saturating_sub(plan.load.warmup_ns).max(1);
        if matches!(plan.load.stop, Stop::AfterNs(ends_ns) if at_ns >= ends_ns) {
            return Err("the run ends before the new rate would take effect".to_owned());
        }
        let Some(schedule) = plan.load.pace.schedule() else { return Ok(()) };
        let pace = Pace::Open(schedule.changed(at_ns, rate_per_s));
        let changed = plan.with(|parts| parts.load.pace = pace);
        state.plan = changed.map_err(|why| why.to_string())?;
        self.changes.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Returns the plan with its current schedule.
    pub fn plan(&self) -> Plan {
        self.lock().plan.clone()
    }

    /// The rate of all at a time since the measured part began, in requests per second.
    pub fn at(&self, elapsed_ns: u64) -> f64 {
        self.lock().plan.load.pace.schedule().map_or(0.0, |schedule| schedule.rate_at(elapsed_ns))
    }

    /// The clock of the engines began then.
    pub(crate) fn counts_from(&self, origin: Instant) {
        self.lock().origin = Some(origin);
    }

    /// Notes the start of load on the engines' clock.
    pub(crate) fn begins(&self, start_ns: u64) {
        self.lock().start_ns = Some(start_ns);
    }

    /// Number of changes so far.
    #[inline]
    pub(crate) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }
}
