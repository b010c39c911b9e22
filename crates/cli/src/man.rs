//! The command line of `keystorm man`: man pages, made from the options themselves.

use std::io;
use std::path::PathBuf;

use clap::{Command, Parser};
use clap_mangen::Man;

use super::front::{Front, command, with_options};
use super::near::{nearest, one_of};
use super::tree::tree;
use super::{Intent, UsageError};

/// Prints the man page of keystorm or of a subcommand, or writes all of them to a directory.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm man",
    override_usage = "keystorm man [SUBCOMMAND]\n       keystorm man --dir DIR",
    after_help = EXAMPLE
)]
struct Options {
    /// The subcommand [default: keystorm itself]
    #[arg(value_name = "SUBCOMMAND", conflicts_with = "dir")]
    name: Option<String>,
    /// Write a page for each command to this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const EXAMPLE: &str = "\
Examples:
  keystorm man search | man -l -
  keystorm man --dir ~/.local/share/man/man1";

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["man"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(options: Options) -> Result<Intent, UsageError> {
    let failed = |error: io::Error| UsageError(error.to_string());
    let mut tree = tree();
    tree.build();
    if let Some(dir) = options.dir {
        let commands = std::iter::once(&tree).chain(tree.get_subcommands());
        let pages = commands.map(|command| Ok((format!("{}.1", title(command)), page(command)?)));
        let pages: io::Result<Vec<_>> = pages.collect();
        return Ok(Intent::Write(dir, pages.map_err(failed)?));
    }
    let command = match options.name.as_deref() {
        None | Some("keystorm") => &tree,
        Some(name) => tree.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = tree.get_subcommands().map(Command::get_name).collect();
            let near = nearest(name, known.iter().copied());
            UsageError(one_of("subcommand", name, near, &known))
        })?,
    };
    page(command).map(Intent::Say).map_err(failed)
}

/// `keystorm`, or `keystorm-search` and the like.
fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn page(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .title(title(command))
        .section("1")
        .manual("keystorm")
        .source(concat!("keystorm ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
