//! The front ends of keystorm's own commands whose options clap derives: one value for each.

use std::ffi::OsString;

use crate::job::{FrontEnd, Intent, UsageError};
use clap::{Arg, ArgAction, ArgMatches, Command, Parser};
use naming::OptionId;

use super::run::vocabulary;
use super::suggestions::explained;

/// A command by its name.
pub struct Front {
    /// Names of the command.
    pub names: &'static [&'static str],
    /// Function that returns its options, for help, man page and completions.
    pub command: fn() -> Command,
    /// Function that returns what words behind its name mean.
    pub parse: fn(Vec<OsString>) -> Result<Intent, UsageError>,
}

impl FrontEnd for Front {
    fn names(&self) -> &'static [&'static str] {
        self.names
    }

    fn command(&self) -> Option<Command> {
        Some((self.command)())
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        (self.parse)(args)
    }
}

/// Derived options in the frame of every command: `--help` among the others, and the last word on an option counts.
pub fn command<O: Parser>() -> Command {
    framed(O::command())
}

// The functions below do not depend on the type of the options, so they are compiled once for all commands.

pub(super) fn framed(options: Command) -> Command {
    let command = options.disable_help_flag(true).args_override_self(true).max_term_width(100);
    let name = command.get_name().to_owned();
    let command = command.bin_name(name);
    let has_help = command.get_arguments().any(|arg| arg.get_id() == "help");
    if has_help { command } else { command.arg(help()) }
}

fn help() -> Arg {
    let arg = Arg::new("help").long("help").action(ArgAction::Help);
    arg.help("Print this help").help_heading("Other")
}

/// Adds the options of a run to a command that is a single run: an option that it cannot have is in `refused`.
pub(super) fn with_those_of_one_run(own: Command, refused: &[OptionId]) -> Command {
    let run = vocabulary();
    // Excluded options are hidden but kept, since others refer to them.
    let taken = run.get_arguments().filter(|arg| {
        !own.get_arguments().any(|ours| {
            let has_short = ours.get_short().is_some_and(|short| arg.get_short() == Some(short));
            let has_long = ours.get_long().is_some_and(|long| arg.get_long() == Some(long));
            ours.get_id() == arg.get_id() || has_short || has_long
        })
    });
    let taken = taken.map(|arg| {
        let is_refused = refused.iter().any(|option| arg.get_id().as_str() == option.field());
        arg.clone().hide(is_refused || arg.is_hide_set())
    });
    let taken: Vec<Arg> = taken.collect();
    own.args(taken)
}

/// Returns what a command's words mean, once they are read; text to say instead where that was asked for.
///
/// # Errors
/// Returns an error if a word is no option, or `meaning` refuses the words.
pub fn with_options<O: Parser>(
    args: Vec<OsString>,
    meaning: impl FnOnce(O) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    with_matches(args, |options, _| meaning(options))
}

/// Returns what a command's words mean, where it also matters which options were typed.
///
/// # Errors
/// Returns an error if a word is no option, or `meaning` refuses the words.
pub fn with_matches<O: Parser>(
    args: Vec<OsString>,
    meaning: impl FnOnce(O, &ArgMatches) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    let mut command = command::<O>();
    let matches = match matches(&mut command, args) {
        Ok(matches) => matches,
        Err(error) => return shown(error, &command),
    };
    match O::from_arg_matches(&matches) {
        Ok(options) => meaning(options, &matches),
        Err(error) => shown(error, &command),
    }
}

fn matches(command: &mut Command, args: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    command.try_get_matches_from_mut(std::iter::once(OsString::from("keystorm")).chain(args))
}

/// Returns what clap has to say instead of options: help that was asked for, or an error.
fn shown(error: clap::Error, command: &Command) -> Result<Intent, UsageError> {
    if error.use_stderr() {
        Err(explained(error, command))
    } else {
        Ok(Intent::Say(error.render().to_string()))
    }
}
