//! keystorm's own words: command lines and workload files become jobs; help, topics and presets are made from the same
//! options.
//!
//! The words of a run are in [`run`]. Other commands are in the program, which registers them by
//! [`add_commands`]; their common parts are here. [`job`] is the work of a run as data, [`console`] writes what
//! users see. Other tools' command lines are in the crate `peers`; they read the options that they have in
//! common through [`run::ParsedArgs`].

#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod as_keystorm;
pub mod compare;
pub mod connect;
pub mod console;
pub mod deliver;
pub mod experiment;
pub mod front;
pub mod help;
pub mod job;
pub mod ks_options;
pub mod outputs;
pub mod presets;
mod registry;
pub mod replay;
pub mod run;
mod side;
pub mod suggestions;
pub mod topics;
pub mod tree;
pub mod workload_file;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::job::{
    Action, DistributionDetail, FrontEnd, Intent, Job, Output, PageOptions, UsageError, VerdictTo,
};

pub use registry::{FrontEnds, add_commands, commands};

/// The front end of a run, which is no command by a name of its own.
const RUN: &dyn FrontEnd = &run::RunFront;

/// Argument with which a coordinator starts its clients.
const HOLD: &str = "--hold";

/// Returns whether a command line is in keystorm's own words, so that an error in it may be laid out as suits the
/// terminal.
pub fn is_own(peers: FrontEnds, called_as: &OsStr, args: &[OsString]) -> bool {
    let imitated = |name: Option<&OsStr>| {
        let name = name.and_then(OsStr::to_str).unwrap_or_default();
        std::iter::once(&RUN).chain(peers).any(|front| front.names().contains(&name))
    };
    let is_as =
        |word: &OsString| word.to_str().is_some_and(|w| w == "--as" || w.starts_with("--as="));
    let first = args.first().map(OsString::as_os_str);
    !imitated(Path::new(called_as).file_stem()) && !imitated(first) && !args.iter().any(is_as)
}

/// Chooses who reads the arguments, and lets them: by the name that the program is called by, or by the first
/// argument, one of keystorm's commands or one of these other tools; otherwise it is a run.
///
/// # Errors
/// Returns an error if the command line makes no sense.
pub fn parse(
    peers: FrontEnds,
    called_as: &OsStr,
    mut args: Vec<OsString>,
) -> Result<Intent, UsageError> {
    report::add_formats(peers.iter().flat_map(|front| front.formats()).copied().collect());
    let program = Path::new(called_as).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if let Some((front, name)) = front_named(peers, program) {
        speak_as(peers, front);
        return front.parse(Some(name), args);
    }
    let first = args.first().and_then(|a| a.to_str()).unwrap_or_default().to_owned();
    if let Some((front, name)) = front_named(peers, &first) {
        speak_as(peers, front);
        return front.parse(Some(name), args.split_off(1));
    }
    if first == HOLD {
        return match args.len() {
            1 => Ok(Intent::Hold),
            _ => Err(UsageError(format!("{HOLD} takes no arguments; see docs/fleet.md"))),
        };
    }
    if first == "help" {
        return help::intent(peers, &args[1..]);
    }
    if let Some(text) = suggestions::subcommand(&first, subcommands(peers)) {
        return Err(UsageError(text));
    }
    RUN.parse(None, args)
}

/// Has messages name options as the peer does that was called, if it is one.
fn speak_as(peers: FrontEnds, called: &'static dyn FrontEnd) {
    if peers.iter().any(|peer| peer.names() == called.names()) {
        naming::speak(Box::new(|option| {
            called.word(option).unwrap_or_else(|| ks_options::behind_prefix(&option.word()).into())
        }));
    }
}

/// Names of the subcommands and of the imitated tools.
fn subcommands(peers: FrontEnds) -> impl Iterator<Item = &'static str> {
    let named = commands().chain(peers.iter().copied());
    named.flat_map(|front| front.names()).copied().chain(["help"])
}

fn front_named(peers: FrontEnds, name: &str) -> Option<(&'static dyn FrontEnd, &'static str)> {
    std::iter::once(RUN).chain(commands()).chain(peers.iter().copied()).find_map(|front| {
        let known = front.names().iter().find(|known| **known == name)?;
        Some((front, *known))
    })
}
