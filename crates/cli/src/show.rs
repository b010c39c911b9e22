//! The command line of `keystorm show`: which file, in which layout.

use std::path::PathBuf;

use clap::Parser;
use job::ShowJob;

use super::front::{Front, command, with_options};
use super::outputs::apart;
use super::{Intent, PageOptions, Spread, UsageError};

/// Prints a saved run (--json) in any format, exactly as the run itself would have printed it.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm show",
    override_usage = "keystorm show [OPTIONS] FILE",
    after_help = EXAMPLE,
)]
struct Options {
    /// A file that --json or `keystorm merge` has written; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Layout: text, quiet, csv, redis (the peers' report), classic, json, timeline or samples
    #[arg(long, value_name = "NAME", help_heading = "Results", default_value = "text",
          value_parser = format_name)]
    format: &'static str,
    /// Steps of the distributions: `short`, or `full` for all [default: short]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        help_heading = "Results",
        hide_default_value = true,
        hide_possible_values = true
    )]
    distribution: Spread,
    #[command(flatten)]
    pages: PageOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  Save a run, and print it as CSV later:
    $ keystorm -t get -n 10000 -q --json run.json
    $ keystorm show run.json --format csv";

/// Its front end.
pub(crate) const FRONT: Front = Front {
    names: &["show"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// What the options mean.
fn intent(Options { file, format, distribution, pages }: Options) -> Result<Intent, UsageError> {
    let pages = pages.checked().map_err(UsageError)?;
    apart(&[("--html", pages.html.as_deref())], &[("FILE", Some(&file))]).map_err(UsageError)?;
    Ok(Intent::Show(ShowJob { file, format, distribution, pages }))
}

/// The name of a layout, as an option.
pub(super) fn format_name(text: &str) -> Result<&'static str, String> {
    let names: Vec<_> = report::formats().map(|(name, _)| *name).collect();
    let found = names.iter().find(|name| **name == text);
    found.copied().ok_or_else(|| format!("expected one of {}", names.join(", ")))
}
