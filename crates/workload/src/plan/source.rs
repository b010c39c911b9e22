//! Plans whose requests come from a source outside them: what is known of the source, and the options that it
//! excludes.

use naming::{DEADLINE, RETRY, text};
use serde::{Deserialize, Serialize};

use super::check::refuse;
use super::{PlanError, PlanParts, Stop};
use crate::BudgetScope;

/// Recorded traffic that a plan sends. The commands of its sequence are then the kinds in the record, by name
/// only; each request is one of them, with the recorded bytes, client and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTraffic {
    /// Location of the record, as the user wrote it.
    pub source: String,
    /// Number of recorded clients.
    pub clients: u64,
    /// Length of the record, in nanoseconds.
    pub span_ns: u64,
    /// Speed of replay, as text: 2 for twice as fast, `max` for as fast as replies allow.
    pub speed: String,
    /// Spans of the run in which the recorded server completed no command, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<RecordedStall>,
}

/// A span in which a recorded server stalled, or got no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedStall {
    /// Start in nanoseconds from the start of load, in a run that sends the record.
    pub from_ns: u64,
    /// End in nanoseconds from the start of load.
    pub to_ns: u64,
}

impl PlanParts {
    /// Returns whether its requests come from a source, each with its own bytes, connection and due time. Its
    /// sequence then lists the kinds of requests, and none is drawn from it.
    pub fn has_source(&self) -> bool {
        self.recorded.is_some()
    }

    /// Returns the number of sequences that a connection sends together if there are enough. `None` if requests
    /// leave as they become due.
    pub fn pipeline(&self) -> Option<u32> {
        (!self.has_source()).then_some(self.load.concurrency.pipeline_depth)
    }

    /// A source has the requests that it has: nothing is drawn, filled or sent again.
    pub(super) fn check_source(&self) -> Result<(), PlanError> {
        if !self.has_source() {
            return Ok(());
        }
        refuse(self.recovery.deadline_ns.is_none(), || {
            text!("{DEADLINE}: recorded traffic is sent whole, so no request of it can be given up")
        })?;
        let drawn = self.mix.is_some()
            || self.has_receivers()
            || self.data.dataset.is_some()
            || self.data.verify
            || self.data.fill.is_some();
        refuse(!drawn, || "a record says what is sent, and no other option can".to_owned())?;
        refuse(self.recovery.retry.is_none(), || {
            text!("{RETRY}: commands of a record are sent once, at their time")
        })?;
        let concurrency = &self.load.concurrency;
        let simple = self.load.shard.of == 1
            && self.load.warmup_ns == 0
            && self.load.share == BudgetScope::OneBudget
            && matches!(self.load.stop, Stop::Requests(_))
            && concurrency.keep_alive
            && concurrency.per_request.is_none()
            && concurrency.joining.is_none()
            && concurrency.renewed_per_s == 0;
        refuse(simple, || "a record has its own connections, length and times".to_owned())?;
        let target = &self.target;
        let is_one = target.servers().is_none() && !target.names_replicas();
        refuse(is_one && (target.cluster.is_none() || target.has_clients()), || {
            "a record is sent to one server, or to a cluster by clients that reach every node"
                .to_owned()
        })
    }
}
