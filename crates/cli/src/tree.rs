//! All of keystorm's command lines in one tree, from which man pages and completions are made.

use std::collections::BTreeSet;

use clap::{Arg, Command};

use super::help::details::detailed;
use super::{commands, run, topics};

/// The options of a run, and below them each subcommand with its own.
pub fn tree() -> Command {
    let run = run::vocabulary();
    let root = detailed(run.clone(), &run);
    let root =
        root.name("keystorm").version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let subcommands = commands().filter_map(|front| {
        let name = *front.names().first()?;
        let command = detailed(front.command()?, &run);
        Some(brief(command.name(name).bin_name(format!("keystorm {name}"))))
    });
    brief(root).subcommands(subcommands).subcommand(help())
}

/// Adds a short description of one line, for lists and the names of man pages.
fn brief(command: Command) -> Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let ends = ["? ", ". ", ": "].into_iter().filter_map(|end| about.find(end)).min();
    let first = about.get(..ends.map_or(about.len(), |end| end + 1)).unwrap_or(&about);
    let first = first.trim_end_matches(['.', ':']).to_owned();
    command.about(first).long_about(about)
}

/// `help` is no front end of its own: it asks one of them, or has a page.
fn help() -> Command {
    let subcommands = commands().flat_map(|front| front.names()).copied();
    let names: BTreeSet<&str> = subcommands.chain(topics::names()).collect();
    let topic = Arg::new("topic")
        .value_name("TOPIC")
        .help("A subcommand, an option such as --rps, or a page of the documentation")
        .value_parser(names.into_iter().collect::<Vec<_>>());
    Command::new("help")
        .about("Prints this help, that of a subcommand, or a page of the documentation.")
        .disable_help_flag(true)
        .arg(topic)
}
