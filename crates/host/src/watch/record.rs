//! Observations beside a load, also while it still runs: servers and their records of slow moments, the link, this
//! machine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::link::LinkUse;
use super::server_use::ServerUse;

/// All observations beside the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchRecord {
    /// Each observed server; empty if none could be observed.
    pub servers: Vec<ServerUse>,
    /// Reason why a server is missing, in words for a person.
    pub unseen: Option<String>,
    /// Median round trip of a command that does nothing, before the load.
    pub idle_round_trip_ns: Option<u64>,
    /// The link to the server, where there is one.
    pub link: Option<LinkUse>,
    /// CPUs that this program may use; empty if unknown.
    pub cpus: Vec<usize>,
    /// Share of this machine's CPU time that its hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
    /// Seconds in which the CPU quota of this program's control group throttled it; `None` if unknown.
    pub throttled_s: Option<f64>,
    /// CPU seconds of programs other than this one and the servers on this machine, between the two readings;
    /// `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_s: Option<f64>,
    /// Spans of the run, with the state of this machine in each, if it was sampled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<MachineSpan>,
}

/// The state of this machine in a span of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSpan {
    /// Start, in seconds since 1970 by this machine's clock.
    pub from_s: f64,
    /// Length, in seconds.
    pub lasted_s: f64,
    /// Share of this machine's CPU time that its hypervisor gave to others, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
    /// Total seconds in which load-carrying threads were runnable and had no CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<f64>,
    /// Total seconds in which threads of servers on this machine were runnable and had no CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_wait_s: Option<f64>,
    /// TCP segments that this machine retransmitted, for all programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resent: Option<u64>,
    /// Interrupts, including timers, on the CPUs that this program may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
    /// Mean frequency of these CPUs at its end, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mhz: Option<f64>,
}

impl MachineSpan {
    /// Joins two spans into one; `later` follows.
    pub(super) fn with(self, later: &Self) -> Self {
        let lasted_s = self.lasted_s + later.lasted_s;
        let part = |span: &Self| span.lasted_s / lasted_s.max(f64::MIN_POSITIVE);
        let (ours, theirs) = (part(&self), part(later));
        let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        let mean = |a: Option<f64>, b: Option<f64>| Some(a? * ours + b? * theirs);
        Self {
            from_s: self.from_s,
            lasted_s,
            stolen: mean(self.stolen, later.stolen),
            wait_s: sum(self.wait_s, later.wait_s),
            server_wait_s: sum(self.server_wait_s, later.server_wait_s),
            resent: self.resent.zip(later.resent).map(|(a, b)| a + b),
            interrupts: self.interrupts.zip(later.interrupts).map(|(a, b)| a + b),
            mhz: mean(self.mhz, later.mhz),
        }
    }
}

/// A shared record of the observations so far.
#[derive(Debug, Clone, Default)]
pub struct WatchSoFar(Arc<Mutex<WatchRecord>>);

impl WatchSoFar {
    /// Returns a copy of the record.
    pub fn record(&self) -> WatchRecord {
        self.lock().clone()
    }

    /// Locks the record, even after a panic of a thread, which leaves no partial data that matters.
    fn lock(&self) -> MutexGuard<'_, WatchRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Empties the record, as another run begins.
    pub(super) fn clear(&self) {
        *self.lock() = WatchRecord::default();
    }

    /// Replaces the spans of this machine.
    pub(super) fn set_machine(&self, spans: Vec<MachineSpan>) {
        self.lock().machine = spans;
    }

    pub(super) fn set_server(&self, server: ServerUse) {
        let mut record = self.lock();
        record.servers.retain(|known| known.address != server.address);
        record.servers.push(server);
    }
}
