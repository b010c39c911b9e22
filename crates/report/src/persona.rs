//! By whose name a report is written: ours, or that of a tool whose place we take.

/// Whose ways a run keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Persona {
    /// Our own.
    #[default]
    Ours,
    /// Those of `redis-benchmark`: what it would not print is not printed.
    Redis,
    /// Those of `valkey-benchmark`: what `valkey-benchmark` would not print is not printed.
    Valkey,
    /// Those of `memtier_benchmark`: what `memtier_benchmark` would not print is not printed.
    Memtier,
    /// Those of YCSB: what YCSB would not print is not printed.
    Ycsb,
    /// Those of `rpc-perf`: what `rpc-perf` would not print is not printed.
    RpcPerf,
}

impl Persona {
    /// The name that the program goes by.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Ours => "keystorm",
            Self::Redis => "redis-benchmark",
            Self::Valkey => "valkey-benchmark",
            Self::Memtier => "memtier_benchmark",
            Self::Ycsb => "ycsb",
            Self::RpcPerf => "rpc-perf",
        }
    }

    /// Whether it is another tool's place that we take.
    #[must_use]
    pub fn is_peer(self) -> bool {
        self != Self::Ours
    }

    /// The word before a warning on standard error.
    #[must_use]
    pub fn warning(self) -> &'static str {
        if self.is_peer() { "WARNING" } else { "warning" }
    }
}
