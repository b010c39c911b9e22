//! `keystorm help` and `--help`: the first page, all options, one option, a subcommand, or a page of the
//! documentation.

pub(super) mod details;
mod first_page;
mod option;
mod peer;

use std::ffi::OsString;

use clap::Command;

use super::{FrontEnds, Intent, RUN, UsageError, front_named, subcommands, suggestions, topics};

/// First pages of `--help`: of a run, of `compare` and of `deliver`.
pub const FIRST_PAGES: [&str; 3] = [first_page::RUN, first_page::COMPARE, first_page::DELIVER];

/// The word behind `--help` that asks for every option.
const ALL: &str = "all";
/// The word after `help` that requests the settings of `--set`.
const SETTINGS: &str = "settings";
/// The word behind `help` that asks for the pages of the documentation.
const TOPICS: &str = "topics";

/// The help that is printed for a run's `--help`, and the arguments without the word that chose it.
pub(super) fn of_run(
    name: &str,
    args: Vec<OsString>,
) -> (impl FnOnce(Command) -> Command + use<>, Vec<OsString>) {
    let name = name.to_owned();
    let page = move |command: &Command| match peer::options(&name) {
        Some(options) => peer::page(&name, options, command),
        None => first_page::RUN.to_owned(),
    };
    first_page(page, args)
}

/// Prepares the first page of `compare --help`.
pub(super) fn of_compare(
    args: Vec<OsString>,
) -> (impl FnOnce(Command) -> Command + use<>, Vec<OsString>) {
    first_page(|_: &Command| first_page::COMPARE.to_owned(), args)
}

/// The page that `deliver --help` prints; `None` if these arguments ask for something else.
pub(super) fn of_deliver(args: &[OsString]) -> Option<&'static str> {
    (args.first()? == "--help" && !asks_for_all(args)).then_some(first_page::DELIVER)
}

/// Returns whether arguments end in `--help all`.
pub(super) fn asks_for_all(args: &[OsString]) -> bool {
    args.ends_with(&["--help".into(), ALL.into()])
}

/// This page as the help of a command, unless `--help all` asks for every option.
fn first_page(
    page: impl FnOnce(&Command) -> String,
    mut args: Vec<OsString>,
) -> (impl FnOnce(Command) -> Command, Vec<OsString>) {
    let whole = asks_for_all(&args);
    if whole {
        args.pop();
    }
    let page = (!whole).then_some(page);
    let change = move |command: Command| match page {
        Some(page) => {
            let page = page(&command);
            command.override_help(page)
        }
        None => command,
    };
    (change, args)
}

/// Returns what `keystorm help WORDS` prints. A page of the documentation of the same name as a subcommand says more
/// than its options, which `NAME --help` prints.
pub(super) fn intent(peers: FrontEnds, words: &[OsString]) -> Result<Intent, UsageError> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let help = |more: &[&str]| {
        std::iter::once("--help").chain(more.iter().copied()).map(OsString::from).collect()
    };
    let Some(name) = words.first().filter(|name| **name != "help") else {
        return RUN.parse(None, help(&[]));
    };
    if name == ALL {
        return RUN.parse(None, help(&[ALL]));
    }
    if name == SETTINGS {
        return option::settings().map(Intent::Read);
    }
    if name == TOPICS {
        return Ok(Intent::Say(topics::list()));
    }
    if name.starts_with('-') {
        return option::explained(name).map(Intent::Read);
    }
    if let Some(page) = topics::page(name).or_else(|| topics::page(topics::meant(name)?)) {
        return Ok(Intent::Read(page));
    }
    if let Some((front, name)) = front_named(peers, name) {
        return front.parse(Some(name), help(&[]));
    }
    match option::explained(&format!("--{name}")) {
        Ok(text) => Ok(Intent::Read(text)),
        Err(_) => Err(UsageError(suggestions::no_help(name, subcommands(peers), topics::names()))),
    }
}
