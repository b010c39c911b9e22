//! All of keystorm's command lines in one tree, from which man pages and completions are made.

use clap::{Arg, Command};

use super::help::details::detailed;
use super::{OWN, run, topics};

/// The options of a run, and below them each subcommand with its own.
pub(super) fn tree() -> Command {
    let run = run::vocabulary();
    let root = detailed(run.clone(), &run);
    let root =
        root.name("keystorm").version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let subcommands = OWN[1..].iter().filter_map(|front| {
        let name = *front.names().first()?;
        let command = detailed(front.command()?, &run);
        Some(brief(command.name(name).bin_name(format!("keystorm {name}"))))
    });
    brief(root).subcommands(subcommands).subcommand(help())
}

/// With the beginning of what it is about where one line is wanted: lists, and the names of man pages.
fn brief(command: Command) -> Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let ends = ["? ", ". ", ": "].into_iter().filter_map(|end| about.find(end)).min();
    let first = about.get(..ends.map_or(about.len(), |end| end + 1)).unwrap_or(&about);
    let first = first.trim_end_matches(['.', ':']).to_owned();
    command.about(first).long_about(about)
}

/// `help` is no front end of its own: it asks one of them, or has a page.
fn help() -> Command {
    let subcommands = OWN[1..].iter().flat_map(|front| front.names()).copied();
    Command::new("help")
        .about("Prints this help, that of a subcommand, or a page of the documentation.")
        .disable_help_flag(true)
        .arg(
            Arg::new("topic")
                .value_name("TOPIC")
                .help("A subcommand, an option such as --rps, or a page of the documentation")
                .value_parser(
                    subcommands
                        .chain(topics::names())
                        .collect::<std::collections::BTreeSet<_>>()
                        .into_iter()
                        .collect::<Vec<_>>(),
                ),
        )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_subcommand_is_in_it_with_its_options() {
        let mut tree = tree();
        // Names that are there twice, and references to what is not there, end it here.
        tree.build();
        for front in &OWN[1..] {
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

    /// The visible options of a command and its subcommands that no text has, as `--name` or, like a setting
    /// of a workload file, as `` `name` ``.
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
        assert_eq!(unnamed(&tree(), &text), BTreeSet::new());
        let two = Command::new("a").arg(Arg::new("b").long("duration-of-b"));
        assert_eq!(unnamed(&two, &text), BTreeSet::from(["duration-of-b".to_owned()]));
    }
}
