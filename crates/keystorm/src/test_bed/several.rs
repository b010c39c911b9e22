//! Load that clients elsewhere generate: their plan, and a load without the facts around a run.

use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use measure::Measurement;
use runner::{Observer, Start};
use workload::{Endpoint, Plan};

use crate::server::endpoint_at;

use super::TestBed;

impl TestBed<'_> {
    /// Generates the load by all clients, until it ends or `stop` is set.
    ///
    /// # Errors
    /// Returns an error if it could not be started.
    pub(crate) fn load_by_all(
        &self,
        plan: &Plan,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Measurement> {
        let Some(fleet) = &self.fleet else {
            return self.load(plan, Start::Ready, None, stop, observer);
        };
        let mut fleet = fleet.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(fleet.carry_out(&self.reached(plan)?, stop, observer, &mut |_| {})?.measurement)
    }

    /// The plan as sent to remote clients: a spawned server becomes its address, local files are inlined.
    pub(super) fn reached(&self, plan: &Plan) -> Result<Plan> {
        plan.try_with(|parts| {
            if let Some(tls) = &mut parts.target.tls {
                tls.files = Some(crate::tls::files(tls)?);
            }
            if matches!(parts.target.endpoint, Endpoint::Spawned { .. }) {
                parts.target.endpoint = endpoint_at(&self.server.address);
            }
            Ok(())
        })
    }
}
