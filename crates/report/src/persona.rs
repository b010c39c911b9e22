//! The behaviour of a front end as data: keystorm's own, or an imitated tool's.
//!
//! The maker of a job sets it, and nobody asks by which name keystorm was called. Crates of other tools bring their
//! own; those of redis-benchmark and valkey-benchmark are here with their layouts.

use host::{NodeFacts, Questions};
use spec::{Dialect, dialect};
use workload::ReadFrom;

/// Differences between front ends: vocabulary, reports, standard error, and questions to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Persona {
    /// Name of the program.
    pub program: &'static str,
    /// Meaning of its command line, and its word before a warning.
    pub dialect: Dialect,
    /// Set if reports are keystorm's: `text` by default, and redis-benchmark's layouts with all that they lack, such as
    /// placement, schedule, probe, TLS, hits and misses, targets, and trouble.
    pub own_layouts: bool,
    /// Set if failures and notes are keystorm's sentences, which follow `error: ` and fit the terminal; otherwise they
    /// are lines of redis-benchmark.
    pub own_words: bool,
    /// Set if verdicts, remarks, and a file in `KEYSTORM_HISTORY` need no option that asks for them.
    pub unasked: bool,
    /// Set if a run fails whose server is gone at its end, or refused all that is counted.
    pub fails_unserved: bool,
    /// Names of the nodes of a cluster.
    pub nodes: NodeNames,
    /// Figures in the progress line, and the lines that stay above it.
    pub live: LiveLine,
    /// Questions that the tool asks a server beside its load.
    pub questions: Questions,
    /// Set if a shortfall of a test is mentioned on standard error; otherwise the tool's own monitor does so.
    pub mentions_shortfall: bool,
}

/// Names of the nodes of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeNames {
    /// Masters, without replicas.
    Masters,
    /// Primaries and replicas, depending on where reads go.
    PrimariesAndReplicas,
}

impl NodeNames {
    /// The role of the nodes that reports list, and which they are.
    pub fn listed(self, read_from: ReadFrom) -> (&'static str, fn(&NodeFacts) -> bool) {
        match (self, read_from) {
            (Self::Masters, _) => ("master", |node| node.master),
            (Self::PrimariesAndReplicas, ReadFrom::Masters) => ("primary", |node| node.master),
            (Self::PrimariesAndReplicas, ReadFrom::Replicas) => ("replica", |node| !node.master),
            (_, ReadFrom::All | ReadFrom::Nearest) => ("cluster", |_| true),
        }
    }
}

/// Figures in the progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveLine {
    /// Rate and mean latency.
    Means,
    /// Rate, mean latency, and how much has been done.
    MeansAndDone,
    /// Rate, mean latency, completed share, percentiles, backlog, errors, and remaining time. Lines tell of silences
    /// and spikes.
    All,
}

/// keystorm itself.
pub const KEYSTORM: Persona = Persona {
    program: "keystorm",
    dialect: dialect::KEYSTORM,
    own_layouts: true,
    own_words: true,
    unasked: true,
    fails_unserved: true,
    nodes: NodeNames::Masters,
    live: LiveLine::All,
    questions: Questions::All,
    mentions_shortfall: true,
};

/// redis-benchmark.
pub const REDIS_BENCHMARK: Persona = Persona {
    program: "redis-benchmark",
    dialect: Dialect { suite_of_redis: true, ..dialect::VALKEY_BENCHMARK },
    own_layouts: false,
    own_words: false,
    unasked: false,
    fails_unserved: false,
    nodes: NodeNames::Masters,
    live: LiveLine::Means,
    questions: Questions::Settings,
    mentions_shortfall: true,
};

/// valkey-benchmark.
pub const VALKEY_BENCHMARK: Persona = Persona {
    program: "valkey-benchmark",
    dialect: dialect::VALKEY_BENCHMARK,
    nodes: NodeNames::PrimariesAndReplicas,
    live: LiveLine::MeansAndDone,
    ..REDIS_BENCHMARK
};

impl Default for Persona {
    fn default() -> Self {
        KEYSTORM
    }
}

impl Persona {
    /// A tool of this name whose job prints its own layouts.
    pub const fn of_tool(program: &'static str) -> Self {
        Self {
            program,
            dialect: dialect::OTHER_TOOL,
            questions: Questions::None,
            mentions_shortfall: false,
            ..REDIS_BENCHMARK
        }
    }
}
