//! `keystorm help OPTION`: what one option does, which subcommands have it, and examples, as Markdown.

use std::collections::BTreeSet;

use clap::{Arg, Command};

use spec::write;

use crate::suggestions::{self, written};
use crate::tree::tree;
use crate::{UsageError, topics};

/// Example command lines for options that no page of docs/ shows, one per line. A test parses each.
const EXAMPLES: &str = include_str!("../../help/options.txt");
/// Maximum number of examples for one option.
const EXAMPLES_MAX: usize = 3;

/// The explanation of an option named as it is typed: `--rps`, `-c`.
///
/// # Errors
/// Returns an error if there is no such option; it names the nearest one.
pub(super) fn explained(typed: &str) -> Result<String, UsageError> {
    let mut tree = tree();
    tree.build();
    let commands: Vec<&Command> = std::iter::once(&tree).chain(tree.get_subcommands()).collect();
    // An option of a run means the same in an experiment, and is explained once.
    let mut meanings: Vec<(&Arg, Vec<&str>)> = Vec::new();
    for command in &commands {
        let Some(arg) = suggestions::named(command, typed)
            .filter(|arg| !arg.is_hide_set() || setting(arg).is_some())
        else {
            continue;
        };
        let name = command.get_bin_name().unwrap_or("keystorm");
        match meanings.iter_mut().find(|(known, _)| text(known) == text(arg)) {
            Some((_, names)) => names.push(name),
            None => meanings.push((arg, vec![name])),
        }
    }
    let Some((first, _)) = meanings.first() else {
        return Err(suggestions::no_option(typed, &tree, &tree));
    };
    let examples = examples(&names(first));
    let mut page = String::new();
    for (arg, of) in &meanings {
        let head = setting(arg).map_or_else(|| written(arg), |name| format!("--set {name}"));
        page += &format!("# `{head}`\n\n{}\n\nOption of {}.\n\n", text(arg), of.join(", "));
    }
    if !examples.is_empty() {
        page += &format!("```sh\n{}\n```\n", examples.join("\n"));
    }
    Ok(page)
}

/// Explains each setting of `--set`, in the form of an option.
///
/// # Errors
/// Returns an error if there is no option with that name.
pub(super) fn settings() -> Result<String, UsageError> {
    let pages = write::settings().iter().map(|name| explained(&format!("--{name}")));
    Ok(pages.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

/// Says what an option does, its default and its values, as Markdown.
fn text(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = help.map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    if arg.get_action().takes_values() && !values.is_empty() {
        text += &format!(" [possible values: {}]", values.join(", "));
    }
    plain(&text)
}

/// Escapes a text for Markdown, except the parts between backticks.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            out.push('`');
        }
        for char in part.chars() {
            if at % 2 == 0 && "_*<>[]\\|#".contains(char) {
                out.push('\\');
            }
            out.push(char);
        }
    }
    out
}

/// Returns the name of an option behind `--set`, if it is a setting.
fn setting(arg: &Arg) -> Option<&str> {
    arg.get_long().filter(|name| write::settings().contains(name))
}

/// An option's names as they are typed.
fn names(arg: &Arg) -> Vec<String> {
    if let Some(name) = setting(arg) {
        return vec![format!("--set {name}")];
    }
    let short = arg.get_short().map(|short| format!("-{short}"));
    short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect()
}

/// Command lines with an option of these names: those of the documentation, then the other examples; the
/// shortest first.
fn examples(names: &[String]) -> Vec<String> {
    let mut lines: BTreeSet<(usize, String)> = BTreeSet::new();
    for page in topics::names().filter_map(topics::page) {
        lines.extend(command_lines(&page).map(|line| (line.len(), line)));
    }
    let own = EXAMPLES.lines().map(|line| (line.len(), line.to_owned()));
    let has = |line: &str| {
        let words = line.replace(['=', '`'], " ") + " ";
        names.iter().any(|name| words.contains(&format!(" {name} ")))
    };
    let all = lines.into_iter().chain(own);
    all.map(|(_, line)| line).filter(|line| has(line)).take(EXAMPLES_MAX).collect()
}

/// The command lines of keystorm in the blocks of a page.
fn command_lines(page: &str) -> impl Iterator<Item = String> {
    let mut block = false;
    let lines = page.lines().filter_map(move |line| {
        if line.starts_with("```") {
            block = !block && (line.ends_with("sh") || line.ends_with("console"));
            return None;
        }
        let line = line.strip_prefix("$ ").unwrap_or(line);
        (block && line.starts_with("keystorm ") && !line.ends_with('\\')).then(|| line.to_owned())
    });
    lines.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RUN;

    #[test]
    fn every_option_of_a_run_has_an_example() {
        let command = RUN.command().expect("a command line");
        let shown = command.get_arguments().filter(|arg| {
            !arg.is_hide_set() && !names(arg).is_empty() && arg.get_long() != Some("help")
        });
        let without: Vec<String> = shown
            .filter(|arg| examples(&names(arg)).is_empty())
            .map(|arg| names(arg).join(", "))
            .collect();
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn every_setting_is_explained_with_an_example() {
        let page = settings().unwrap();
        for name in write::settings() {
            assert!(page.contains(&format!("# `--set {name}`\n")), "{name}");
            assert!(!examples(&[format!("--set {name}")]).is_empty(), "{name}");
        }
    }

    #[test]
    fn every_example_of_its_own_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("people.csv", "id,name\n1,Ada\n"),
            ("docs.xml", "<docs><doc><text>a</text></doc></docs>"),
        ] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let refused = EXAMPLES.lines().filter_map(|line| {
            let words = shell_words::split(line).unwrap().into_iter().map(|word| {
                match dir.path().join(&word) {
                    path if path.is_file() => path.display().to_string(),
                    _ => word,
                }
            });
            let words = ["--print-plan".to_owned()].into_iter().chain(words.skip(1));
            let read = crate::parse(&[], "keystorm".as_ref(), words.map(Into::into).collect());
            read.err().map(|error| (line, error))
        });
        assert_eq!(format!("{:#?}", refused.collect::<Vec<_>>()), "[]");
    }
}
