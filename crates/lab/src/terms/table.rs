//! Tables of a comparison on equal terms, and what is asked for them: sides, loads and questions.

use workload::{Arg, Plan, PlanParts, ProtocolKind, Target};

/// A question that the tables answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// Throughput of one core.
    Core,
    /// Throughput of as many cores as the machine can give to servers.
    Machine,
    /// Latency of requests at the same rate.
    Latency,
    /// Throughput of gets of several keys.
    MultiGet,
}

impl TermKind {
    /// All tables, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Core, Self::Machine, Self::Latency, Self::MultiGet];

    /// The name on command lines and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Machine => "machine",
            Self::Latency => "latency",
            Self::MultiGet => "mget",
        }
    }
}

/// Side of a comparison: one of the two servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Address of the server, or the server to start.
    pub target: Target,
    /// Protocol that it speaks.
    pub protocol: ProtocolKind,
}

/// Load common to both sides.
#[derive(Debug, Clone)]
pub struct Test {
    /// Name in reports.
    pub name: String,
    /// The load with its commands in Redis's words; its target is ignored.
    pub load: PlanParts,
    /// Value stored under its keys before.
    pub value: Arg,
}

impl Test {
    /// Returns whether the load only gets several keys at once.
    pub(super) fn is_multi_get(&self) -> bool {
        self.load.keys_per_request().is_some()
    }
}

/// Request for a comparison on equal terms.
#[derive(Debug, Clone)]
pub struct ComparisonTerms {
    /// A and B.
    pub sides: [Side; 2],
    /// The loads.
    pub tests: Vec<Test>,
    /// The tables.
    pub kinds: Vec<TermKind>,
    /// Cores for the servers in the tables of the whole machine; `None` for half of them.
    pub cores: Option<usize>,
    /// Set if the command line gives the number of client threads.
    pub threads_given: bool,
    /// Set if the command line gives the client's CPUs.
    pub cpus_given: bool,
}

/// Table of a comparison.
#[derive(Debug, Clone)]
pub struct Table {
    /// The question that it answers.
    pub kind: TermKind,
    /// Heading of the table.
    pub title: String,
    /// Text to know for reading the table.
    pub text: String,
    /// The servers of A and of B: one, or several that share the keys.
    pub servers: [Vec<Target>; 2],
    /// Loads that are compared.
    pub paired_loads: Vec<PairedLoad>,
}

/// Load on both sides: a plan for each, or one for each share of the keys.
#[derive(Debug, Clone)]
pub struct PairedLoad {
    /// Name in reports.
    pub name: String,
    /// The plans of A and of B.
    pub sides: [Vec<Plan>; 2],
}
