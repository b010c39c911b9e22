//! What a run of one plan yielded.

use std::fmt;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{ByConnection, Deliveries, Latency, NodeTally, OperationLog, Outage, Tally, Timeline};

/// CPU time that one worker thread used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerUse {
    /// CPU time of the thread while load ran, without that in which it only waited for a request
    /// to be due.
    pub cpu_ns: u64,
    /// Part of `cpu_ns` that was the kernel's. `None` if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_ns: Option<u64>,
    /// Wall time of the same span.
    pub wall_ns: u64,
    /// Time in the same span in which the thread could have run and had no CPU, because something
    /// else had it. `None` where the kernel does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
}

impl WorkerUse {
    /// The share of a core that the thread used, 0 to 1.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.share(self.cpu_ns)
    }

    /// The share of the time in which the thread waited for a core, 0 to 1; 0 where that is not
    /// known.
    #[must_use]
    pub fn waiting(&self) -> f64 {
        self.share(self.wait_ns.unwrap_or(0))
    }

    fn share(&self, ns: u64) -> f64 {
        if self.wall_ns == 0 { 0.0 } else { ns as f64 / self.wall_ns as f64 }
    }
}

/// A span in which no worker ran, as when the client is stopped or its machine suspended. Nanoseconds from
/// the start of the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Moment at which a worker was last seen to run.
    #[serde(rename = "from_s", with = "crate::units::seconds")]
    pub from_ns: u64,
    /// Moment at which a worker ran again.
    #[serde(rename = "to_s", with = "crate::units::seconds")]
    pub to_ns: u64,
}

impl Absence {
    /// For how long.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// End of a run: as planned or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// As planned.
    Complete,
    /// Somebody asked it to stop.
    Interrupted,
    /// The run could not go on.
    Failed(Failure),
}

/// Reason why a run could not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Source of the reason.
    pub from: FailureSource,
    /// In words for a person.
    pub text: String,
}

/// Source of a failure's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureSource {
    /// An error reply of the server, which the text quotes and names as one.
    Server,
    /// An observation of keystorm, such as a connection that was lost.
    Client,
}

impl Failure {
    /// Makes a failure that keystorm itself observed.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { from: FailureSource::Client, text: text.into() }
    }

    /// An error reply of the server.
    #[must_use]
    pub fn from_server(text: impl Into<String>) -> Self {
        Self { from: FailureSource::Server, text: text.into() }
    }

    /// Returns whether the failure is an error reply of the server.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        self.from == FailureSource::Server
    }

    /// Returns the failure with `place`, where it was seen, before its text.
    #[must_use]
    pub fn at(&self, place: impl fmt::Display) -> Self {
        Self { from: self.from, text: format!("{place}: {}", self.text) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

impl Measurement {
    /// Returns the number of requests that were answered, errors included; of messages, the number received.
    #[must_use]
    pub fn counted(&self) -> u64 {
        match self.deliveries {
            Some(_) => self.total.succeeded(),
            None => self.total.requests(),
        }
    }

    /// Operations that ended, failed ones included; where each is a command, what is counted.
    #[must_use]
    pub fn operations_ended(&self) -> u64 {
        if self.total.operations.is_empty() {
            self.counted()
        } else {
            self.total.operations_ended()
        }
    }

    /// Returns the figures of the senders of requests; with deliveries, of the senders of messages.
    #[must_use]
    pub fn requested(&self) -> &Tally {
        self.deliveries.as_ref().map_or(&self.total, |deliveries| &deliveries.sending)
    }

    /// CPU time of all workers for each answered request, in nanoseconds; `None` where it is not known or
    /// nothing was answered. A worker's is counted over its whole load and requests without the warm-up: as
    /// if both parts cost alike.
    #[must_use]
    pub fn client_cpu_ns(&self) -> Option<f64> {
        let measured = |worker: &WorkerUse| {
            let share = (self.elapsed_ns as f64 / worker.wall_ns.max(1) as f64).min(1.0);
            worker.cpu_ns as f64 * share
        };
        let cpu_ns: f64 = self.workers.iter().map(measured).sum();
        let requests = self.counted();
        (requests > 0 && cpu_ns > 0.0).then(|| cpu_ns / requests as f64)
    }

    /// Replies that did not bring what was written: another value, or none where one must be.
    #[must_use]
    pub fn wrong(&self) -> [(&'static str, u64); 2] {
        [CORRUPT, MISSING].map(|kind| (kind, self.total.errors.of_kind(kind)))
    }

    /// Returns whether a reply or a message was wrong or did not come.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.wrong().iter().any(|(_, count)| *count > 0)
            || self.deliveries.as_ref().is_some_and(|deliveries| deliveries.is_faulty())
    }

    /// Returns whether the server was gone when the run ended: connections to it were lost and not opened again, and
    /// nothing succeeded after that.
    #[must_use]
    pub fn is_deserted(&self) -> bool {
        !self.total.connections.not_reopened.is_empty()
            && self.outages.iter().any(|outage| outage.to_the_end && outage.of_all)
    }

    /// Returns whether every reply was an error.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        let refused = self.total.errors.total();
        refused > 0 && refused == self.total.requests()
    }

    /// Returns whether requests were sent and none was answered.
    #[must_use]
    pub fn is_unheard(&self) -> bool {
        let connections = &self.total.connections;
        let sent = [connections.lost, connections.timed_out, connections.unanswered];
        self.requested().requests() == 0 && sent.iter().any(|n| *n > 0)
    }
}

/// The kind of error that a value is which is not the one that was written.
pub const CORRUPT: &str = "corrupt";

/// The kind of error that a miss is where everything that is read must be there.
pub const MISSING: &str = "missing";

/// Everything that carrying out one plan yielded.
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
    /// Response times of the requests of a schedule that were due while nothing succeeded;
    /// `None` without a schedule.
    pub delayed: Option<Latency>,
    /// Wall clock at the start of the measured part.
    pub started_at: SystemTime,
    /// From the start of the measured part to the last reply, or to the planned end if that is
    /// later; 0 when it never started.
    pub elapsed_ns: u64,
    /// CPU time of each worker.
    pub workers: Vec<WorkerUse>,
    /// The engine that moved the bytes.
    pub engine: String,
    /// Reason why the engine is not the faster one, if it is not.
    pub engine_note: Option<String>,
    /// The nodes of a cluster; none without one.
    pub nodes: Vec<NodeTally>,
    /// The connections of each worker, if the plan keeps them apart; not saved.
    pub by_connection: Vec<ByConnection>,
    /// Log of each worker, if the plan asks for logs; not saved.
    pub logs: Vec<OperationLog>,
    /// Deliveries of messages, if the plan measures them: the other figures are then those of deliveries.
    pub deliveries: Option<Box<Deliveries>>,
    /// End of the run.
    pub ending: Ending,
}
