//! The command line of `keystorm completions`: completion scripts for shells.

use std::ffi::OsString;

use clap::{ArgAction, Command, CommandFactory, Parser};
use clap_complete::Shell;

use super::tree::tree;
use super::{FrontEnd, Intent, UsageError, with_options};

/// The front end of `keystorm completions`.
pub(crate) struct CompletionsFront;

/// Prints a shell script that completes keystorm's options and subcommands.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm completions",
    bin_name = "keystorm completions",
    disable_help_flag = true,
    max_term_width = 100,
    override_usage = "keystorm completions SHELL",
    after_help = EXAMPLE
)]
struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
}

const EXAMPLE: &str = "\
Where each shell looks for it:
  keystorm completions bash > ~/.local/share/bash-completion/completions/keystorm
  keystorm completions zsh > ~/.zfunc/_keystorm       # a directory of $fpath
  keystorm completions fish > ~/.config/fish/completions/keystorm.fish";

impl FrontEnd for CompletionsFront {
    fn names(&self) -> &'static [&'static str] {
        &["completions"]
    }

    fn command(&self) -> Option<Command> {
        Some(Options::command())
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        with_options(args, |Options { shell, .. }| {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut tree(), "keystorm", &mut script);
            Ok(Intent::Say(String::from_utf8_lossy(&script).into_owned()))
        })
    }
}
