//! Recorded traffic that `keystorm replay` and `keystorm compare` send.

use replay::{Replay, Speed};
use report::slo::Slo;

use crate::Job;

/// A record, and what of it is sent.
#[derive(Debug, Clone)]
pub struct RecordedJob {
    /// Its files, and which of their commands.
    pub replay: Replay,
    /// Whether the plan says how many connections there are; otherwise each recorded client has one.
    pub keeps_connections: bool,
    /// Whether what is read before it is written is written first.
    pub prefill: bool,
    /// How often it is sent.
    pub rounds: u64,
    /// Whether a server is written to that may be the recorded one.
    pub confirmed: bool,
}

/// What `keystorm replay` is to do.
pub struct ReplayJob {
    /// Its one plan says where the server is and how it is reached, and what is reported of it.
    pub job: Job,
    /// What is sent.
    pub recorded: RecordedJob,
    /// How fast recorded time passes.
    pub speed: Speed,
}

/// Recorded traffic that two servers get in turn.
pub struct ReplayedSides {
    /// What is sent.
    pub recorded: RecordedJob,
    /// How fast recorded time passes.
    pub speed: Speed,
    /// Whether answers are compared.
    pub answers: bool,
    /// The target of the search for head room, if there is one.
    pub slo: Option<Slo>,
}
