//! Work of `keystorm compare`, as data.

use std::path::PathBuf;
use std::time::Duration;

use lab::terms::ComparisonTerms;
use report::Metric;
use report::slo::Slo;
use workload::Plan;

use crate::job::{ClientFleet, Output};

use crate::replay::ReplayedSides;

/// Job of `keystorm compare`.
pub struct CompareJob {
    /// Sides that are compared.
    pub sides: Sides,
    /// Layout of results, and where they are kept.
    pub output: Output,
    /// The per cent by which the second server may be worse.
    pub fail_on_regression: Option<f64>,
    /// The figures that `fail_on_regression` applies to.
    pub watched: Vec<Metric>,
    /// Time that blocks may take in total if the result is unclear; `None` for a fixed number of blocks.
    pub budget: Option<Duration>,
    /// The per cent of a side's requests that may fail.
    pub errors_allowed: f64,
    /// Set if the exit code reports the result.
    pub is_gate: bool,
    /// Policy for a gate or a target of which the runs do not say whether it is passed or kept.
    pub inconclusive: Option<InconclusivePolicy>,
    /// Precision that the ratios are to reach.
    pub until_sure: Option<UntilSure>,
    /// Set if a block in which the client did not do its work is repeated.
    pub repeats_void: bool,
    /// The servers as they were typed, without passwords.
    pub words: Vec<String>,
    /// Names that the user gives the sides.
    pub names: Vec<Option<String>>,
    /// The clients that run it, if there are several.
    pub several: Option<ClientFleet>,
    /// Warnings about the command line, for standard error.
    pub notes: Vec<String>,
    /// The command line, to be shown.
    pub command_line: String,
}

impl CompareJob {
    /// A server as it was typed; `side` counts from 0.
    pub fn word(&self, side: usize) -> String {
        self.words.get(side).cloned().unwrap_or_default()
    }
}

/// Target width of intervals, and the time to reach it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UntilSure {
    /// Half of an interval, as a share of the ratio.
    pub share: f64,
    /// Time for all blocks together.
    pub within: Duration,
}

/// Policy for a gate of which the runs do not say whether it is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum InconclusivePolicy {
    /// The gate counts as passed.
    Pass,
    /// The gate counts as failed.
    Fail,
    /// Further blocks are taken, as long as the budget lasts.
    Repeat,
}

/// Sides of a comparison.
pub enum Sides {
    /// Servers that get the same load.
    Live(Box<LiveSides>),
    /// Two servers that speak different protocols, in tables of equal terms.
    Terms(Box<TermsSides>),
    /// Two saved runs.
    Saved(Box<[PathBuf; 2]>),
}

/// Servers, and the load that each of them gets.
pub struct LiveSides {
    /// The loads, one after another.
    pub loads: Vec<ComparedLoad>,
    /// Number of blocks, in each of which every server runs twice.
    pub blocks: u32,
    /// Set if an answer is asked for: which of several servers meets a target or a rate.
    pub decides: bool,
    /// The target of response times.
    pub slo: Option<Slo>,
    /// Servers speak different protocols.
    pub mixed: bool,
    /// Set if servers and client are to have CPUs of their own.
    pub places: bool,
    /// Recorded traffic that replaces the load of the plans.
    pub replayed: Option<ReplayedSides>,
}

/// Load that every server gets.
pub struct ComparedLoad {
    /// Name in reports; loads of one name are one load at several rates.
    pub name: String,
    /// Text that distinguishes loads of one name, such as ` at 5,000/s`; empty if not needed.
    pub at_rate: String,
    /// Plans at the requested rate.
    pub plans: Vec<Plan>,
    /// Plans at full speed; empty if the load itself has full speed, or if an earlier load of that name has
    /// them.
    pub limits: Vec<Plan>,
}

impl ComparedLoad {
    /// Name of the load with its rate, if there are several rates.
    pub fn whole_name(&self) -> String {
        self.name.clone() + &self.at_rate
    }
}

/// Two servers that speak different protocols, and their common load.
pub struct TermsSides {
    /// The terms of the comparison.
    pub terms: ComparisonTerms,
    /// Number of blocks of A B B A.
    pub blocks: u32,
}
