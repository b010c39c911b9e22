//! Whose ways a report keeps, as data: keystorm's own, or those of a tool whose place it takes.
//!
//! The maker of a job sets it. The crate of another tool brings its own; redis-benchmark's and
//! valkey-benchmark's stand here with their layouts.

use host::Questions;

/// Differences of reports and of standard error by the tool that was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Persona {
    /// The name that the program goes by.
    pub program: &'static str,
    /// Set for another tool: what that tool does not print is not printed.
    pub imitates: bool,
    /// Names of the nodes of a cluster.
    pub nodes: NodeNames,
    /// Figures in the line that moves while a test runs.
    pub progress: ProgressFigures,
    /// Questions that the tool asks of a server beside its load.
    pub questions: Questions,
    /// Set if a test that fell short is mentioned on standard error; otherwise the tool's own monitor does.
    pub mentions_shortfall: bool,
    /// Set if the suite is redis-benchmark's, without the tests that valkey-benchmark has added.
    pub suite_of_redis: bool,
}

/// Names of the nodes of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeNames {
    /// Masters; replicas are not listed.
    Masters,
    /// Primaries and replicas, by which of them the reads go to.
    PrimariesAndReplicas,
}

/// Figures in the line that moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressFigures {
    /// Rate and mean latency.
    Means,
    /// Rate, mean latency, and how much has been done.
    MeansAndDone,
    /// Rate, mean latency, how much has been done, percentiles, what is behind the schedule, errors, and the time left.
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
