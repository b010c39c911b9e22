//! The style of reports as data: keystorm's own, or an imitated tool's.
//!
//! The maker of a job sets it. Crates of other tools bring their own; those of redis-benchmark and
//! valkey-benchmark are here with their layouts.

use host::Questions;

/// Differences of reports and of standard error by imitated tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Persona {
    /// Name of the program.
    pub program: &'static str,
    /// Set for another tool: text that the tool does not print is left out.
    pub imitates: bool,
    /// Names of the nodes of a cluster.
    pub nodes: NodeNames,
    /// Figures in the progress line.
    pub progress: ProgressFigures,
    /// Questions that the tool asks a server beside its load.
    pub questions: Questions,
    /// Set if a shortfall of a test is mentioned on standard error; otherwise the tool's own monitor does so.
    pub mentions_shortfall: bool,
    /// Set if the suite is redis-benchmark's, without the tests that valkey-benchmark has added.
    pub suite_of_redis: bool,
}

/// Names of the nodes of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeNames {
    /// Masters, without replicas.
    Masters,
    /// Primaries and replicas, depending on where reads go.
    PrimariesAndReplicas,
}

/// Figures in the progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressFigures {
    /// Rate and mean latency.
    Means,
    /// Rate, mean latency, and how much has been done.
    MeansAndDone,
    /// Rate, mean latency, completed share, percentiles, backlog, errors, and remaining time.
    All,
}

/// keystorm itself.
pub const KEYSTORM: Persona = Persona {
    program: "keystorm",
    imitates: false,
    nodes: NodeNames::Masters,
    progress: ProgressFigures::All,
    questions: Questions::All,
    mentions_shortfall: true,
    suite_of_redis: false,
};

/// redis-benchmark.
pub const REDIS_BENCHMARK: Persona = Persona {
    program: "redis-benchmark",
    imitates: true,
    nodes: NodeNames::Masters,
    progress: ProgressFigures::Means,
    questions: Questions::Settings,
    mentions_shortfall: true,
    suite_of_redis: true,
};

/// valkey-benchmark.
pub const VALKEY_BENCHMARK: Persona = Persona {
    program: "valkey-benchmark",
    nodes: NodeNames::PrimariesAndReplicas,
    progress: ProgressFigures::MeansAndDone,
    suite_of_redis: false,
    ..REDIS_BENCHMARK
};

impl Default for Persona {
    fn default() -> Self {
        KEYSTORM
    }
}

impl Persona {
    /// A tool of this name whose job prints its own layouts.
    #[must_use]
    pub const fn of_tool(program: &'static str) -> Self {
        Self {
            program,
            questions: Questions::None,
            mentions_shortfall: false,
            suite_of_redis: false,
            ..REDIS_BENCHMARK
        }
    }

    /// Returns whether keystorm takes another tool's place.
    #[must_use]
    pub fn is_peer(self) -> bool {
        self.imitates
    }

    /// The word before a warning on standard error.
    #[must_use]
    pub fn warning(self) -> &'static str {
        if self.is_peer() { "WARNING" } else { "warning" }
    }
}
