//! The command line of `keystorm show`: which files, in which layout or on which page.

use std::path::PathBuf;

use clap::Parser;
use job::ShowJob;

use super::front::{Front, command, with_options};
use super::outputs::apart;
use super::{Intent, PageOptions, Spread, UsageError};

/// Prints a saved run (--json) in any format, exactly as the run itself would have printed it. With
/// --html or --svg, makes a page or charts of it instead, of several runs side by side. The page shows
/// what limited each test, throughput and latency over time, the percentile spectrum, tables, the plan,
/// and the command to run it again; it needs no network.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm show",
    override_usage = "keystorm show [OPTIONS] FILE...",
    after_help = EXAMPLE,
)]
struct Options {
    /// Files that --json or `keystorm merge` has written; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Layout: text, quiet, csv, redis (the peers' report), classic, json, timeline or samples
    /// [default: text, unless a page or charts are made]
    #[arg(long, value_name = "NAME", help_heading = "Results", value_parser = format_name)]
    format: Option<&'static str>,
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
Examples:
  Save a run, and print it as CSV later:
    $ keystorm -t set,get -n 10000 -q --json run.json
    $ keystorm show run.json --format csv

  Make a page and charts of it:
    $ keystorm show run.json --html run.html --svg charts";

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["show"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(Options { files, format, distribution, pages }: Options) -> Result<Intent, UsageError> {
    let usage = |text: &str| Err(UsageError(text.to_owned()));
    if files.iter().filter(|file| *file == "-").count() > 1 {
        return usage("standard input (-) can be read only once");
    }
    let format = format.or((!pages.any()).then_some("text"));
    if files.len() > 1 && format.is_some() {
        return usage(
            "several files are shown on one page: use --html FILE without --format, \
             or add them up with keystorm merge",
        );
    }
    let pages = if format.is_some() { pages.checked().map_err(UsageError)? } else { pages };
    let inputs: Vec<_> = files.iter().map(|file| ("FILE", Some(file.as_path()))).collect();
    apart(&[("--html", pages.html.as_deref())], &inputs).map_err(UsageError)?;
    Ok(Intent::Show(ShowJob { files, format, distribution, pages }))
}

/// The name of a layout, as an option.
pub(super) fn format_name(text: &str) -> Result<&'static str, String> {
    let names: Vec<_> = report::formats().map(|(name, _)| *name).collect();
    let found = names.iter().find(|name| **name == text);
    found.copied().ok_or_else(|| format!("expected one of {}", names.join(", ")))
}
