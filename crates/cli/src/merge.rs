//! The command line of `keystorm merge`: which files, and where to.

use std::path::PathBuf;

use clap::Parser;
use job::MergeJob;

use super::front::{Front, command, with_options};
use super::outputs::apart;
use super::show::format_name;
use super::{Intent, PageOptions, UsageError};
use spec::values::count_in;

/// Adds up saved runs (--json) of several clients that loaded one server together. The result is
/// what a single client would have measured: counts, histograms and timelines, the last aligned by
/// wall clock. The plans may differ only in connections, requests, rate, seed, threads and CPUs.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm merge",
    override_usage = "keystorm merge [OPTIONS] FILE...",
    after_help = EXAMPLE,
)]
struct Options {
    /// Files that --json has written
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Shares of the plan that are lost, by number, such as 2 or 2,5: the result is of the others, is
    /// called incomplete and says why
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Input", value_parser = count_in(1..=u32::MAX))]
    missing: Vec<u32>,
    /// Keep the merged run in this file; without --format nothing is printed then
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Layout of what is printed: text, quiet, csv, redis, classic, json, timeline or samples [default: text]
    #[arg(long, value_name = "NAME", help_heading = "Results", value_parser = format_name)]
    format: Option<&'static str>,
    #[command(flatten)]
    pages: PageOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  Add up the runs of two clients:
    $ keystorm -t get -n 10000 -q --json a.json
    $ keystorm -t get -n 10000 -q --json b.json
    $ keystorm merge a.json b.json -o both.json --format quiet";

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["merge"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(
    Options { files, missing, output, format, pages }: Options,
) -> Result<Intent, UsageError> {
    let pages = pages.checked().map_err(UsageError)?;
    let inputs: Vec<_> = files.iter().map(|file| ("FILE", Some(file.as_path()))).collect();
    let outputs = [("-o", output.as_deref()), ("--html", pages.html.as_deref())];
    apart(&outputs, &inputs).map_err(UsageError)?;
    let format = format.or(output.is_none().then_some("text"));
    Ok(Intent::Merge(MergeJob { files, missing, output, format, pages }))
}
