//! Runs of plans on a test bed: the server prepared, the receivers placed, a probe beside the load.

use std::sync::PoisonError;
use std::time::{Instant, SystemTime};

use anyhow::Result;
use report::Run;
use runner::{LiveRate, Observer, Start};
use workload::Plan;

use super::{LoadContext, RunSettings, TestBed};
use crate::fill::{fill, prepare};
use crate::{deliveries, harmful, item_limit, latency_settings, probe};

impl TestBed<'_> {
    /// Carries out one plan, from `start_at` on if a start was agreed.
    ///
    /// # Errors
    /// Returns an error if it could not be started. A run that the server ends is a run with that ending.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        start_at: Option<SystemTime>,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        let plan = &*deliveries::placed(self, self.server.fitted(plan)?)?;
        self.prepare(plan)?;
        let with = LoadContext { start_at, probe: None, rate: self.settings.rate.as_deref() };
        let mut run = match self.settings.probe {
            None => self.run_without_probe(plan, with, observer),
            Some(rate_per_s) => self.run_beside_probe(plan, rate_per_s, with, observer),
        }?;
        run.warnings.extend(self.filled.evicted());
        if !self.settings.keeps_data {
            self.filled.forget_used(&run);
        }
        Ok(run)
    }

    /// Ensures that the server takes the data that a plan writes, and holds the data that it reads.
    ///
    /// # Errors
    /// Returns an error if it does not, or the data could not be written.
    pub(crate) fn prepare(&self, plan: &Plan) -> Result<()> {
        harmful::check(&self.server, plan)?;
        item_limit::check(&self.server, plan)?;
        if !self.settings.keeps_data {
            fill(self, plan)?;
        }
        if plan.protocol.is_memcache() { prepare(self, plan) } else { self.server.prepare(plan) }
    }

    /// Carries out a plan without adding the run of a probe, and releases the probe's barrier when load begins.
    pub(crate) fn run_without_probe(
        &self,
        plan: &Plan,
        with: LoadContext<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        let LoadContext { start_at, probe, rate } = with;
        let _changed = deliveries::enable(&self.server, plan)?;
        let RunSettings { sample, journal, server_latency, so_far, server_clock, .. } =
            &self.settings;
        let _settings = latency_settings::enable(&self.server, plan, *server_latency)?;
        let watch = self.server.watch(&plan.target, *sample).with_journal(*journal);
        let watch = watch.with_run_times(server_latency.is_some()).telling(so_far.clone());
        let begun = watch.begin();
        let Some(fleet) = &self.fleet else {
            let clock = server_clock.then(|| self.ask_clock(plan)).transpose()?;
            let start_at = match (&clock, start_at) {
                (Some(clock), Some(at)) if clock.agrees => Some(clock.here(at)),
                (_, at) => at,
            };
            let both = probe.map(probe::with);
            let start = match (start_at, &both) {
                (Some(at), _) => {
                    let ahead = at.duration_since(SystemTime::now()).unwrap_or_default();
                    if let Some(barrier) = probe {
                        barrier.release(Instant::now() + ahead);
                    }
                    Start::At(at)
                }
                (None, Some(both)) => Start::Released(both),
                (None, None) => Start::Ready,
            };
            let measurement = self.load(plan, start, rate, self.interrupted, observer)?;
            let kept = rate.map_or_else(|| plan.clone(), LiveRate::plan);
            let mut run = self.run_of(kept, measurement, watch.end(begun));
            run.warnings = Self::found(&run, probe.is_some()).collect();
            run.warnings.extend(self.unfit(plan));
            if let Some(clock) = clock {
                self.stamp(&mut run, &clock);
            }
            return Ok(run);
        };
        let mut fleet = fleet.lock().unwrap_or_else(PoisonError::into_inner);
        let mut started = |at| {
            if let Some(barrier) = probe {
                barrier.release(at);
            }
        };
        let plan_there = self.reached(plan)?;
        let gathered = fleet.carry_out(&plan_there, self.interrupted, observer, &mut started)?;
        self.whole(plan, gathered, probe.is_some(), watch.end(begun))
    }
}
