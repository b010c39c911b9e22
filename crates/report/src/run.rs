//! A run: plan, results, server, and observations beside it.
//!
//! Combines these so that a report needs one argument. [`Summary`](crate::Summary) derives every figure.

use std::time::UNIX_EPOCH;

use host::{HostFacts, ServerFacts, WatchRecord};
use measure::{Ending, Failure, Measurement};
use serde::{Deserialize, Serialize};
use workload::Plan;

use crate::slo::Slo;
use crate::{Clients, Clock, Probe, Verdict, Warning};

/// A moment of a run that the user marked while it lasted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Time in nanoseconds from the start of the measured part.
    pub at_ns: u64,
    /// The user's text for the mark.
    pub text: String,
}

/// Number of a run among several runs of one plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// Number of the run, from 1.
    pub number: u32,
    /// Requested number of runs.
    pub of: u32,
}

/// Plan that was carried out, with its results.
#[derive(Debug, Clone)]
pub struct Run {
    /// Plan of the run.
    pub plan: Plan,
    /// Number of the run among several of this plan, if there are several.
    pub repeat: Option<Repeat>,
    /// The target of the run, if there is one.
    pub slo: Option<Slo>,
    /// Measurement of the run.
    pub measurement: Measurement,
    /// The machine that generated the load, if it was examined.
    pub host: Option<HostFacts>,
    /// Further machines of a merged run.
    pub other_hosts: Vec<HostFacts>,
    /// The clients that carried it out, if they were several.
    pub clients: Option<Clients>,
    /// Figures of a quiet client beside the load, if there was one.
    pub probe: Option<Probe>,
    /// Moments that the user marked.
    pub marks: Vec<Mark>,
    /// The clock of its times, if it is not the host's.
    pub clock: Option<Clock>,
    /// Facts of the server.
    pub server: ServerFacts,
    /// The version of keystorm that carried it out.
    pub version: String,
    /// Observations beside the load.
    pub watched: WatchRecord,
    /// Limit of the run.
    pub verdict: Verdict,
    /// Warnings that a reader needs before believing the figures.
    pub warnings: Vec<Warning>,
}

impl Run {
    /// Returns the precision of the clocks for latencies of messages between clients, in nanoseconds.
    pub(crate) fn clock_bound_ns(&self) -> Option<f64> {
        let clients = self.clients.as_ref().filter(|_| self.plan.exchanges_messages());
        clients.map(|clients| clients.clock_bound_us() * 1e3)
    }

    /// Converts a time by this machine's clock to seconds from the start of the measured part.
    pub(crate) fn since_start_s(&self, unix_s: f64) -> f64 {
        let start = self.measurement.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        // Where times of the run are the server's, others still are this machine's.
        let ahead_s = self.clock.as_ref().map_or(0.0, |clock| clock.ahead_us / 1e6);
        unix_s + ahead_s - start.as_secs_f64()
    }

    /// Returns the run of an experiment, as failed if every reply was an error, since nothing was measured.
    pub fn failed_if_refused(mut self) -> Self {
        let measurement = &mut self.measurement;
        if measurement.ending == Ending::Complete && measurement.is_refused() {
            let example = measurement.total.errors.examples().first();
            let example = example.map_or(String::new(), |text| format!(": {text}"));
            let text = format!("every reply was an error{example}");
            measurement.ending = Ending::Failed(Failure::from_server(text));
        }
        self
    }
}
