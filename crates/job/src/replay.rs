//! What `keystorm replay` and `keystorm rehearse` are to do.

use replay::{Replay, Speed};
use report::slo::Slo;

use crate::{ExperimentOutput, Job};

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

/// What `keystorm rehearse` is to do.
pub struct RehearseJob {
    /// For each of the two servers: one plan, which says where it is and how it is reached.
    pub jobs: [Job; 2],
    /// The servers as they were typed, without passwords.
    pub words: [String; 2],
    /// What somebody calls them.
    pub names: [Option<String>; 2],
    /// What is sent.
    pub recorded: RecordedJob,
    /// How fast recorded time passes.
    pub speed: Speed,
    /// How many blocks, in each of which both servers run twice.
    pub blocks: u32,
    /// How often they are judged at most: while that says nothing, there are twice as many, within the budget.
    pub looks: u32,
    /// Whether a block that the client or the machine spoiled is taken again.
    pub repeats_void: bool,
    /// The share by which the second server may be worse.
    pub allowed: f64,
    /// The target of the search for head room, if there is one.
    pub slo: Option<Slo>,
    /// Seconds that this search may take for each server.
    pub budget_s: f64,
    /// Whether answers are compared.
    pub answers: bool,
    /// Where results go.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}
