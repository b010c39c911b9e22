//! Result of a run of one plan.

use std::fmt::Display;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{
    ByConnection, Deliveries, LaneRecord, Latency, NodeTally, OperationLog, Outage, Tally, Timeline,
};

/// CPU time that one worker thread used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerUse {
    /// CPU time of the thread while load ran, without busy-waiting for due requests.
    pub cpu_ns: u64,
    /// Kernel part of `cpu_ns`; `None` if the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_ns: Option<u64>,
    /// Wall time of the same span.
    pub wall_ns: u64,
    /// Time in that span in which the thread was runnable and had no CPU; `None` if the kernel does not
    /// report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
}

impl WorkerUse {
    /// Share of a core that the thread used, 0 to 1.
    pub fn busy(&self) -> f64 {
        self.share(self.cpu_ns)
    }

    /// Share of the time in which the thread waited for a core, 0 to 1; 0 if unknown.
    pub fn waiting(&self) -> f64 {
        self.share(self.wait_ns.unwrap_or(0))
    }

    fn share(&self, ns: u64) -> f64 {
        if self.wall_ns == 0 { 0.0 } else { ns as f64 / self.wall_ns as f64 }
    }
}

/// A span in which no worker ran, because the client was stopped or its machine suspended. Nanoseconds from
/// the start of the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Time at which a worker was last seen to run.
    #[serde(rename = "from_s", with = "crate::units::seconds")]
    pub from_ns: u64,
    /// Time at which a worker ran again.
    #[serde(rename = "to_s", with = "crate::units::seconds")]
    pub to_ns: u64,
}

impl Absence {
    /// Length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// End of a run, planned or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The planned end.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// The run could not go on.
    Failed(Failure),
}

/// Reason why a run could not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// Source of the reason.
    pub from: FailureSource,
    /// Description in words for a person.
    pub text: String,
}

/// Source of a failure's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureSource {
    /// An error reply of the server; the text quotes it and calls it an error.
    Server,
    /// An observation of keystorm, such as a lost connection.
    Client,
}

impl Failure {
    /// Makes a failure that keystorm itself observed.
    pub fn new(text: impl Into<String>) -> Self {
        Self { from: FailureSource::Client, text: text.into() }
    }

    /// An error reply of the server.
    pub fn from_server(text: impl Into<String>) -> Self {
        Self { from: FailureSource::Server, text: text.into() }
    }

    /// Returns whether the failure is an error reply of the server.
    pub fn is_of_server(&self) -> bool {
        self.from == FailureSource::Server
    }

    /// Returns the failure with `place`, where it was observed, before its text.
    pub fn at(&self, place: impl Display) -> Self {
        Self { from: self.from, text: format!("{place}: {}", self.text) }
    }
}

impl Measurement {
    /// Returns the number of requests that were answered, errors included; of messages, the number received.
    pub fn counted(&self) -> u64 {
        match self.deliveries {
            Some(_) => self.total.succeeded(),
            None => self.total.requests(),
        }
    }

    /// Number of operations that ended, including failed ones; without multi-command operations, of requests.
    pub fn operations_ended(&self) -> u64 {
        if self.total.operations.is_empty() {
            self.counted()
        } else {
            self.total.operations_ended()
        }
    }

    /// Returns the figures of the senders of requests; with deliveries, of the senders of messages.
    pub fn requested(&self) -> &Tally {
        self.deliveries.as_ref().map_or(&self.total, |deliveries| &deliveries.sending)
    }

    /// CPU time of all workers per answered request, in nanoseconds; `None` if unknown or nothing was
    /// answered. CPU time covers the whole load and requests exclude the warm-up, as if both parts cost the
    /// same.
    pub fn client_cpu_ns(&self) -> Option<f64> {
        let worker_ns = self.workers.iter().map(|worker| {
            let share = (self.elapsed_ns as f64 / worker.wall_ns.max(1) as f64).min(1.0);
            worker.cpu_ns as f64 * share
        });
        let cpu_ns: f64 = worker_ns.sum();
        let requests = self.counted();
        (requests > 0 && cpu_ns > 0.0).then(|| cpu_ns / requests as f64)
    }

    /// Replies with a wrong value, and those without a value where one must be.
    pub fn wrong(&self) -> [(&'static str, u64); 2] {
        [CORRUPT, MISSING].map(|kind| (kind, self.total.errors.of_kind(kind)))
    }

    /// Returns whether a reply or a message was wrong or missing.
    pub fn is_wrong(&self) -> bool {
        self.wrong().iter().any(|(_, count)| *count > 0)
            || self.deliveries.as_ref().is_some_and(|deliveries| deliveries.is_faulty())
    }

    /// Returns whether the server was gone at the end of the run: lost connections were not reopened, and
    /// nothing succeeded after that.
    pub fn is_deserted(&self) -> bool {
        !self.total.connections.not_reopened.is_empty()
            && self.outages.iter().any(|outage| outage.to_the_end && outage.of_all)
    }

    /// Returns whether every reply was an error.
    pub fn is_refused(&self) -> bool {
        let refused = self.total.errors.total();
        refused > 0 && refused == self.total.requests()
    }

    /// Returns whether requests were sent and none was answered.
    pub fn is_unheard(&self) -> bool {
        let connections = &self.total.connections;
        let sent = [connections.lost, connections.timed_out, connections.unanswered];
        self.requested().requests() == 0 && sent.iter().any(|n| *n > 0)
    }
}

/// Kind of error of a value that differs from the one that was written.
pub const CORRUPT: &str = "corrupt";

/// Kind of error of a miss, if everything that is read must exist.
pub const MISSING: &str = "missing";

/// All results of carrying out one plan.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// All workers, all intervals.
    pub total: Tally,
    /// Figures over time.
    pub timeline: Timeline,
    /// Spans in which nothing succeeded.
    pub outages: Vec<Outage>,
    /// Spans in which the client itself did not run, in order.
    pub absences: Vec<Absence>,
    /// Response times of scheduled requests that were due during an outage; `None` without a schedule.
    pub delayed: Option<Latency>,
    /// Wall clock at the start of the measured part.
    pub started_at: SystemTime,
    /// Time from the start of the measured part to the last reply, or to the planned end if that is later; 0
    /// if it never started.
    pub elapsed_ns: u64,
    /// CPU time of each worker.
    pub workers: Vec<WorkerUse>,
    /// Name of the engine.
    pub engine: String,
    /// Reason why the engine is not the fastest one, if it is not.
    pub engine_note: Option<String>,
    /// The nodes of a cluster; empty without one.
    pub nodes: Vec<NodeTally>,
    /// Connections of each worker, if the plan asks for them; not saved.
    pub by_connection: Vec<ByConnection>,
    /// Log of each worker, if the plan asks for logs; not saved.
    pub logs: Vec<OperationLog>,
    /// Acknowledged writes of each connection, if the plan asks for them.
    pub lanes: Vec<LaneRecord>,
    /// Deliveries of messages, if the plan measures them; the other figures are then about deliveries.
    pub deliveries: Option<Box<Deliveries>>,
    /// End of the run.
    pub ending: Ending,
}
