//! Recorded traffic that `keystorm replay` and `keystorm compare` send.

use replay::{Replay, Speed};
use report::slo::Slo;

use crate::Job;

/// A record, and what of it is sent.
#[derive(Debug, Clone)]
pub struct RecordedJob {
    /// Files of the record, and which of their commands are sent.
    pub replay: Replay,
    /// Set if the plan says how many connections there are; otherwise each recorded client has one.
    pub keeps_connections: bool,
    /// Set if what is read before it is written is written first.
    pub prefill: bool,
    /// Number of times that the record is sent.
    pub rounds: u64,
    /// Set if a server is written to that may be the recorded one.
    pub confirmed: bool,
}

/// Job of `keystorm replay`.
pub struct ReplayJob {
    /// Job whose one plan says where the server is and how it is reached, and what is reported of it.
    pub job: Job,
    /// Traffic that is sent.
    pub recorded: RecordedJob,
    /// Speed at which recorded time passes.
    pub speed: Speed,
}

/// Recorded traffic that two servers get in turn.
pub struct ReplayedSides {
    /// Traffic that is sent.
    pub recorded: RecordedJob,
    /// Speed at which recorded time passes.
    pub speed: Speed,
    /// Set if answers are compared.
    pub answers: bool,
    /// The target of the search for head room, if there is one.
    pub slo: Option<Slo>,
}
