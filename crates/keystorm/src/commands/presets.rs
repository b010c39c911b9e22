//! `keystorm presets`: the list of workloads that come with keystorm, or the file of one.

use clap::Parser;
use cli::front::{Front, command, with_options};
use cli::job::{Intent, UsageError};
use cli::presets::{list, source};

/// Lists the presets of --workload, or prints the file of one. The file says where its figures come
/// from; copy it to make a workload of your own.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm presets",
    override_usage = "keystorm presets [NAME]",
    after_help = EXAMPLE
)]
struct Options {
    /// The preset whose file to print
    name: Option<String>,
}

const EXAMPLE: &str = "\
Example:
  keystorm presets ycsb-a > mine.toml
  keystorm --workload mine.toml -n 100k";

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["presets"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(options: Options) -> Result<Intent, UsageError> {
    match options.name {
        Some(name) => Ok(Intent::Say(source(&name).map_err(UsageError)?.text)),
        None => list().map(Intent::Say).map_err(UsageError),
    }
}
