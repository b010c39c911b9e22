//! Running of commands: a file or folder for each, named after the command. `run` is the command without a
//! name, and `client` is started by a coordinator.

pub(crate) mod bisect;
pub(crate) mod client;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod durability;
pub(crate) mod footprint;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod impact;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod named_server;
pub(crate) mod pages;
pub(crate) mod presets;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod sink;
pub(crate) mod suite;
pub(crate) mod survey;
pub(crate) mod sweep;

use cli::job::FrontEnd;

/// The commands but a run, a row each: name, options and how it is carried out. Dispatch, help, man pages and
/// completions come from it; a test holds the list of the Python package against it.
pub(crate) const COMMANDS: &[&dyn FrontEnd] = &[
    &self::sink::FRONT,
    &show::FRONT,
    &merge::FRONT,
    &self::history::FRONT,
    &self::doctor::FRONT,
    &compare::FRONT,
    &cli::deliver::DeliverFront,
    &cli::connect::FRONT,
    &self::replay::FRONT,
    &record::FRONT,
    &describe::FRONT,
    &presets::FRONT,
    &man::FRONT,
    &completions::FRONT,
    &bisect::FRONT,
    &sweep::FRONT,
    &search::FRONT,
    &survey::FRONT,
    &footprint::FRONT,
    &suite::FRONT,
    &impact::FRONT,
    &profile::FRONT,
    &durability::FRONT,
];

/// An error in a command line that a command composed itself: the run has failed, and the user made no
/// mistake.
fn usage_error(cli::job::UsageError(text): cli::job::UsageError) -> anyhow::Error {
    anyhow::anyhow!(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Arg, Command};
    use cli::help::FIRST_PAGES;
    use cli::topics;

    use super::*;

    fn registered() -> Command {
        cli::add_commands(COMMANDS);
        cli::tree::tree()
    }

    #[test]
    fn every_subcommand_is_in_it_with_its_options() {
        let mut tree = registered();
        // Duplicate names and dangling references panic here.
        tree.build();
        for front in cli::commands() {
            let Some(command) = front.command() else { continue };
            let found = tree.find_subcommand(front.names()[0]).expect("a subcommand");
            assert!(found.get_arguments().count() >= command.get_arguments().count());
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((10..=130).contains(&about.len()), "{:?}: {about}", front.names());
        }
        let search = tree.find_subcommand("search").expect("a subcommand");
        let has = |long: &str| search.get_arguments().find(|arg| arg.get_long() == Some(long));
        assert!(has("slo").is_some() && has("rps").is_some(), "its own, and those of a run");
        assert!(has("hdr").is_some_and(Arg::is_hide_set), "but none that it refuses");
    }

    /// The visible options of a command and its subcommands that a text does not mention, as `--name` or, for
    /// a setting of a workload file, as `` `name` ``.
    fn unnamed(command: &Command, text: &str) -> BTreeSet<String> {
        let has = |name: &str| {
            let typed = format!("--{name}");
            let whole = |at: usize| {
                let next = text[at + typed.len()..].chars().next();
                !next.is_some_and(|next| next == '-' || next.is_ascii_alphanumeric())
            };
            text.contains(&format!("`{name}`"))
                || text.match_indices(&typed).any(|(at, _)| whole(at))
        };
        let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let own = visible.filter_map(Arg::get_long).filter(|name| !has(name)).map(str::to_owned);
        own.chain(command.get_subcommands().flat_map(|command| unnamed(command, text))).collect()
    }

    #[test]
    fn every_visible_option_is_in_some_document() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let mut text = std::fs::read_to_string(format!("{root}README.md")).unwrap();
        for name in topics::names() {
            text += &std::fs::read_to_string(format!("{root}docs/{name}.md")).unwrap();
        }
        assert_eq!(unnamed(&registered(), &text), BTreeSet::new());
        let two = Command::new("a").arg(Arg::new("b").long("duration-of-b"));
        assert_eq!(unnamed(&two, &text), BTreeSet::from(["duration-of-b".to_owned()]));
    }

    #[test]
    fn its_options_and_subcommands_exist() {
        let mut tree = registered();
        tree.build();
        let names = |command: &Command| -> Vec<String> {
            let words = command.get_arguments().flat_map(|arg| {
                let short = arg.get_short().map(|short| format!("-{short}"));
                short.into_iter().chain(arg.get_long().map(|long| format!("--{long}")))
            });
            words.collect()
        };
        let known: Vec<String> =
            std::iter::once(&tree).chain(tree.get_subcommands()).flat_map(names).collect();
        let pages = FIRST_PAGES.concat();
        let words = pages
            .split([' ', ',', '[', ']', '=', '(', ')', ':', ';', '\n', '\''])
            .filter(|word| word.starts_with('-'));
        for word in words.filter(|word| *word != "--") {
            assert!(known.iter().any(|name| name == word), "{word}");
        }
        let (_, list) = FIRST_PAGES[0].split_once("Subcommands").expect("a list");
        let (list, _) = list.split_once("\n\n").expect("its end");
        let listed = list.lines().filter_map(|line| line.strip_prefix("  ")?.get(..27));
        for name in listed.flat_map(|names| names.split(", ")).map(str::trim) {
            let found = cli::commands().any(|front| front.names().contains(&name));
            assert!(found || ["", "TOOL"].contains(&name), "{name}");
        }
        let tools = list.lines().find_map(|line| line.split_once("another tool: "));
        let (_, tools) = tools.expect("a line of other tools");
        // An imitated tool is no command of keystorm's, and has a page.
        assert!(tools.split(", ").all(|name| topics::page(name).is_some()), "{tools}");
    }

    #[test]
    fn an_option_of_another_command_is_named_with_its_owner() {
        cli::add_commands(COMMANDS);
        for (line, tip) in [
            ("--subscribers 3", "'--subscribers' is an option of keystorm deliver pubsub"),
            ("--suscribers 3", "'--subscribers' is an option of keystorm deliver pubsub"),
            ("--until-sure", "'--until-sure' is an option of keystorm compare"),
            ("--like sidekiq", "'--like' is an option of keystorm deliver"),
        ] {
            let words = line.split(' ').map(Into::into).collect();
            let refused = cli::parse(&[], "keystorm".as_ref(), words).err();
            let text = refused.map(|cli::job::UsageError(text)| text).unwrap_or_default();
            let message = text.lines().find(|line| line.contains("tip: ")).unwrap_or_default();
            assert!(message.contains(tip), "{line}: {text}");
        }
    }

    #[test]
    fn an_option_of_an_experiment_has_details_if_it_is_the_same() {
        let tree = registered();
        let long = |command: &str, id: &str| {
            let command = tree.find_subcommand(command).expect("a command");
            let arg = command.get_arguments().find(|arg| arg.get_id() == id).expect("an option");
            arg.get_long_help().is_some()
        };
        assert!(long("search", "timeout") && !long("search", "slo"));
    }

    #[test]
    fn an_option_is_explained_with_its_subcommands_and_examples() {
        cli::add_commands(COMMANDS);
        let explained = |name: &str| {
            let words = ["help", name].map(Into::into).to_vec();
            match cli::parse(&[], "keystorm".as_ref(), words) {
                Ok(cli::job::Intent::Read(page)) => Some(page),
                _ => None,
            }
        };
        let page = explained("--rps").expect("an option");
        for part in
            ["# `--rps <RATE>`", "Requests per second", "keystorm search", "```sh\nkeystorm "]
        {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(explained("-c").is_some_and(|page| page.contains("Parallel connections")));
        assert!(explained("--rsp").is_none());
    }
}
