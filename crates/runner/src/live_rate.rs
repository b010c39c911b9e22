//! A rate that may be changed while a plan is carried out.
//!
//! Whoever carries out a plan keeps one of these and tells it the new rate. Workers compare one number at
//! each turn, and take the lock only when that has changed. A change is made known before it is due, by
//! more than a worker ever sleeps: so all of them turn at the same nanosecond of the schedule, and how many
//! requests were due in all follows from the areas below its rates. The plan with the schedule that was
//! kept in the end is what the results are of.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use workload::{Pace, Plan, PlanParts, Stop};

use crate::INTERVAL_NS;

/// Notice of a change before it takes effect: longer than the sleep of a worker, which hands over its figures every
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
    /// The plan as it is carried out now.
    plan: Plan,
    /// Start of the engines' clock, and of load by that clock.
    origin: Option<Instant>,
    start_ns: Option<u64>,
}

impl LiveRate {
    /// The rate of a plan; `None` of a closed loop, which has none.
    #[must_use]
    pub fn from_plan(plan: &Plan) -> Option<Self> {
        plan.load.pace.schedule()?;
        let state = State { plan: plan.clone(), origin: None, start_ns: None };
        Some(Self { state: Mutex::new(state), changes: AtomicU32::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for another rate of all workers together (and of all shares of the plan), in requests per
    /// second: in a third of a second, and until the next stage of the schedule begins. With `None` there
    /// is no limit from then on.
    ///
    /// # Errors
    /// The run ends before, or the rate or one more stage is beyond the limits of plans.
    pub fn set(&self, rate_per_s: Option<f64>) -> Result<(), String> {
        let state = self.lock();
        let since_ns = |(origin, start_ns): (Instant, u64)| {
            (origin.elapsed().as_nanos() as u64).saturating_sub(start_ns).saturating_add(AHEAD_NS)
        };
        let at_ns = state.origin.zip(state.start_ns).map_or(0, since_ns);
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
        // What comes before keeps the rate that it began with, so that there is one.
        let at_ns = at_ns.saturating_sub(plan.load.warmup_ns).max(1);
        if matches!(plan.load.stop, Stop::AfterNs(ends_ns) if at_ns >= ends_ns) {
            return Err("the run ends before the new rate would take effect".to_owned());
        }
        let Some(schedule) = plan.load.pace.schedule() else { return Ok(()) };
        let pace = Pace::Open(schedule.changed(at_ns, rate_per_s));
        let mut changed = PlanParts::clone(plan);
        changed.load.pace = pace;
        state.plan = changed.build().map_err(|why| why.to_string())?;
        self.changes.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The plan, with the schedule as it is by now.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.lock().plan.clone()
    }

    /// The rate of all at a time since the measured part began, in requests per second.
    #[must_use]
    pub fn at(&self, elapsed_ns: u64) -> f64 {
        self.lock().plan.load.pace.schedule().map_or(0.0, |schedule| schedule.rate_at(elapsed_ns))
    }

    /// The clock of the engines began then.
    pub(crate) fn counts_from(&self, origin: Instant) {
        self.lock().origin = Some(origin);
    }

    /// Load begins, by that clock.
    pub(crate) fn begins(&self, start_ns: u64) {
        self.lock().start_ns = Some(start_ns);
    }

    /// Number of changes so far.
    #[inline]
    pub(crate) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }
}
