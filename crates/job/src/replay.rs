//! Recorded traffic that `keystorm replay` and `keystorm compare` send.

use replay::{Replay, Speed};
use report::slo::Slo;

use crate::Job;

/// A record, and the selection of it that is sent.
#[derive(Debug, Clone)]
pub struct RecordedJob {
    /// Files of the record, and the selection of their commands.
    pub replay: Replay,
    /// Set if the plan gives the number of connections; otherwise each recorded client has one.
    pub keeps_connections: bool,
    /// Set if keys that are read before they are written are prefilled.
    pub prefill: bool,
    /// Number of times that the record is sent.
    pub rounds: u64,
    /// Set if the user confirmed writing to a server that may be the recorded one.
    pub confirmed: bool,
}

/// Job of `keystorm replay`.
pub struct ReplayJob {
    /// Job with one plan, which gives the server, the connections and the reporting.
    pub job: Job,
    /// Traffic that is sent.
    pub recorded: RecordedJob,
    /// Speed at which recorded time passes.
    pub speed: Speed,
}

/// Recorded traffic that is sent to two servers in turn.
pub struct ReplayedSides {
    /// Traffic that is sent.
    pub recorded: RecordedJob,
    /// Speed at which recorded time passes.
    pub speed: Speed,
    /// Set if replies are compared.
    pub answers: bool,
    /// The target of the search for headroom, if any.
    pub slo: Option<Slo>,
}
