//! Details of options for `keystorm help OPTION` and the man pages, beyond the line or two of `--help all`.

use clap::Command;

/// Options of a run by the names of their fields, each with a paragraph of details.
const DETAILS: &str = include_str!("../../help/details.txt");

/// Options with their details.
fn details() -> impl Iterator<Item = (&'static str, String)> {
    let paragraphs = DETAILS.split("\n\n").filter_map(|paragraph| paragraph.split_once('\n'));
    paragraphs.map(|(id, text)| (id, text.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// A command with the details of those of its options that mean the same as in a run.
pub(crate) fn detailed(mut command: Command, run: &Command) -> Command {
    for (id, details) in details() {
        let Some(brief) = help_of(run, id) else { continue };
        if help_of(&command, id).as_ref() == Some(&brief) {
            command = command.mut_arg(id, |arg| arg.long_help(format!("{brief}\n\n{details}")));
        }
    }
    command
}

fn help_of(command: &Command, id: &str) -> Option<String> {
    let arg = command.get_arguments().find(|arg| arg.get_id() == id)?;
    arg.get_help().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;
    use crate::tree::tree;

    #[test]
    fn every_detail_belongs_to_an_option_of_a_run() {
        let tree = tree();
        for (id, details) in details() {
            let long =
                tree.get_arguments().find(|arg| arg.get_id() == id).and_then(Arg::get_long_help);
            assert!(long.is_some_and(|long| long.to_string().ends_with(&details)), "{id}");
        }
    }
}
