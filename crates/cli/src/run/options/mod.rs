//! What was typed: every option of `redis-benchmark` and `valkey-benchmark`, and ours.
//!
//! Owns their names, help and shapes, a file for each group of the help; what they mean together is
//! [`super::plans`]'s business. Like
//! the peers it takes the word after an option as its value whatever it looks like, lets the last
//! of several count, and ends at the first word that is no option.

mod data;
mod examples;
mod load;
mod results;
mod server;

use clap::{ArgAction, Parser};

use crate::run::clients::ClientOptions;
use crate::run::persona::PEERS;

pub(in crate::run) use data::DataOptions;
use examples::EXAMPLES;
pub(in crate::run) use load::LoadOptions;
pub(in crate::run) use results::ResultOptions;
pub(crate) use server::ServerOptions;
pub(crate) use server::TlsArgs;

/// Load generator and benchmark for Redis, Valkey and memcached. Runs redis-benchmark and
/// valkey-benchmark command lines unchanged.
#[derive(Debug, Parser)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true,
    next_line_help = false,
    max_term_width = 100,
    name = "keystorm",
    after_help = EXAMPLES,
)]
pub(crate) struct Options {
    #[command(flatten, next_help_heading = "Server")]
    pub(in crate::run) server: ServerOptions,
    #[command(flatten, next_help_heading = "TLS")]
    pub(in crate::run) tls: TlsArgs,
    #[command(flatten, next_help_heading = "Load")]
    pub(in crate::run) load: LoadOptions,
    #[command(flatten, next_help_heading = "Several clients")]
    pub(in crate::run) clients: ClientOptions,
    #[command(flatten, next_help_heading = "Commands, keys and values")]
    pub(in crate::run) data: DataOptions,
    #[command(flatten, next_help_heading = "Results")]
    pub(in crate::run) results: ResultOptions,
    #[command(flatten)]
    pub(in crate::run) later: LaterOptions,

    /// Print the plans as JSON instead of running them
    #[arg(long, help_heading = "Other")]
    pub(in crate::run) print_plan: bool,
    /// Print a --workload file that is equivalent to this command line
    #[arg(long, help_heading = "Other")]
    pub(in crate::run) print_workload: bool,
    /// No effect; accepted for old scripts
    #[arg(short = 'e', hide = true)]
    pub(in crate::run) exit_on_error: bool,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'v', long, help_heading = "Other")]
    version: bool,
    /// Behave as if called by that name: its tests, its output, and nothing else on standard error
    #[arg(long = "as", value_name = "NAME", value_parser = PEERS, help_heading = "Other")]
    called: Option<String>,

    /// Send commands that stop, empty, change or hold up a server, such as FLUSHALL, KEYS or BLPOP; without
    /// it they are refused, unless the server is spawned
    #[arg(long, help_heading = "Commands, keys and values")]
    pub(in crate::run) yes: bool,
    /// A command to send instead of the suite. Separate several with `;`; a number before a command
    /// repeats it. What follows `;>` is sent once the replies to what precedes it are in; what
    /// follows `;?`, only if one of them was a miss. Placeholders in arguments: __rand_int__, a
    /// random key number; __key__, one key number for the whole sequence; __rand_1st__ to
    /// __rand_9th__, nine more; __data__, a value of -d bytes; __field:name__, a field of the
    /// --dataset row
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND ARGS",
        hide_possible_values = true,
        help_heading = "Commands, keys and values"
    )]
    pub(in crate::run) command: Vec<std::ffi::OsString>,
    /// Whether `--` stands before the command, so that its first word is for the server, whatever it is.
    #[arg(skip)]
    pub(in crate::run) command_is_marked: bool,
}

/// Options of the peers that this version does not have. Known, so that they are refused by name.
#[derive(Debug, clap::Args)]
pub(in crate::run) struct LaterOptions {
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
    /// Why the command line cannot be carried out by this version, if it asks for what it lacks.
    pub(in crate::run) fn refused(&self) -> Option<String> {
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
