//! The options of a run: those of `redis-benchmark` and `valkey-benchmark`, and ours.
//!
//! Owns their names, help and shapes, with a file for each group of the help; [`super::plans`] interprets them
//! together. As in the peers, the word after an option is its value whatever it looks like, the last of several
//! counts, and the options end at the first other word.

mod results;

use clap::{ArgAction, Command, CommandFactory, Parser};

use crate::run::clients::ClientOptions;
use crate::run::persona::PEERS;

pub(super) use results::ResultOptions;
use spec::LoadSpec;

/// Load generator and benchmark for Redis, Valkey and memcached. Runs redis-benchmark and
/// valkey-benchmark command lines unchanged.
#[derive(Debug, Clone, Parser)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true,
    next_line_help = false,
    max_term_width = 100,
    name = "keystorm",
    after_help = include_str!("../../../help/run.txt").trim_ascii_end(),
)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) spec: LoadSpec,
    #[command(flatten, next_help_heading = "Several clients")]
    pub(super) clients: ClientOptions,
    #[command(flatten, next_help_heading = "Results")]
    pub(super) results: ResultOptions,
    #[command(flatten)]
    pub(super) later: LaterOptions,

    /// Print the plans as JSON instead of running them
    #[arg(long, help_heading = "Other")]
    pub(super) print_plan: bool,
    /// Print a --workload file that is equivalent to this command line
    #[arg(long, help_heading = "Other")]
    pub(super) print_workload: bool,
    /// No effect; accepted for old scripts
    #[arg(short = 'e', hide = true)]
    pub(super) exit_on_error: bool,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'v', long, help_heading = "Other")]
    version: bool,
    /// Behave as if called by that name: its tests, its output, and nothing else on standard error
    #[arg(long = "as", value_name = "NAME", value_parser = PEERS, help_heading = "Other")]
    called: Option<String>,
    /// Set if `--` precedes the command, so that its first word is always for the server.
    #[arg(skip)]
    pub(super) command_is_marked: bool,
}

/// Returns the options of a run, for front ends that have others as well.
pub(crate) fn vocabulary() -> Command {
    Options::command()
}

/// Options of the peers that this version does not have. Known, so that they are refused by name.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct LaterOptions {
    #[arg(long, hide = true)]
    rdma: bool,
    #[arg(long, hide = true)]
    fuzz: bool,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    fuzz_mode: Option<String>,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    fuzz_loglevel: Option<String>,
}

impl LaterOptions {
    /// Returns the reason why this version cannot carry out the command line, if it lacks a requested feature.
    pub(super) fn refused(&self) -> Option<String> {
        let asked = [
            (self.rdma, "--rdma", "RDMA"),
            (self.fuzz, "--fuzz", "fuzzing"),
            (self.fuzz_mode.is_some(), "--fuzz-mode", "fuzzing"),
            (self.fuzz_loglevel.is_some(), "--fuzz-loglevel", "fuzzing"),
        ];
        let (_, option, what) = asked.into_iter().find(|(given, ..)| *given)?;
        Some(format!("{option}: keystorm does not support {what}"))
    }
}
