//! `keystorm completions`: completion scripts for shells.

use clap::Parser;
use clap_complete::Shell;
use cli::front::{Front, command, with_options};
use cli::job::{Intent, UsageError};
use cli::tree::tree;

/// Prints a shell script that completes keystorm's options and subcommands.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm completions",
    override_usage = "keystorm completions SHELL",
    after_help = EXAMPLE
)]
struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLE: &str = "\
Where each shell looks for it:
  keystorm completions bash > ~/.local/share/bash-completion/completions/keystorm
  keystorm completions zsh > ~/.zfunc/_keystorm       # a directory of $fpath
  keystorm completions fish > ~/.config/fish/completions/keystorm.fish";

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["completions"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(Options { shell }: Options) -> Result<Intent, UsageError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut tree(), "keystorm", &mut script);
    Ok(Intent::Say(String::from_utf8_lossy(&script).into_owned()))
}
