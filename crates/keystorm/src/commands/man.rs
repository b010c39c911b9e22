//! `keystorm man`: man pages, made from the options themselves.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use clap::{Command, Parser};
use clap_mangen::Man;
use cli::front::{Front, command, with_options};
use cli::job::{End, Intent, UsageError};
use cli::suggestions::one_of;
use cli::tree::tree;

use super::run;

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
        let pages = pages.map_err(failed)?;
        return Ok(Intent::carry(move || write(&dir, &pages)));
    }
    let command = match options.name.as_deref() {
        None | Some("keystorm") => &tree,
        Some(name) => tree.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = tree.get_subcommands().map(Command::get_name).collect();
            UsageError(one_of("subcommand", name, &known))
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

/// Writes files into a directory, which is made if it is not there.
///
/// # Errors
/// Returns an error if a file cannot be written.
fn write(dir: &Path, files: &[(String, String)]) -> anyhow::Result<End> {
    fs::create_dir_all(dir).with_context(|| format!("making the directory {}", dir.display()))?;
    for (name, text) in files {
        let path = dir.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    run::say(&format!("Wrote {} files to {}\n", files.len(), dir.display()))
}
