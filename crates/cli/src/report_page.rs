//! The command line of `keystorm report`: which saved runs, and where their page and charts go.

use std::path::PathBuf;

use clap::Parser;
use job::ReportJob;

use super::front::{Front, command, with_options};
use super::outputs::apart;
use super::{Intent, PageOptions, UsageError};

/// Makes an HTML page of saved runs (--json). It shows what limited each test, throughput and
/// latency over time, the percentile spectrum, tables, the plan, and the command to run it again.
/// Several runs are also shown side by side. The file needs no network.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm report",
    override_usage = "keystorm report [OPTIONS] FILE...",
    after_help = EXAMPLE,
)]
struct Options {
    /// Files that --json or `keystorm merge` has written; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where to write the page; `-` for standard output [default: report.html, unless --svg is
    /// given]
    #[arg(
        short = 'o',
        long,
        value_name = "FILE",
        help_heading = "Results",
        conflicts_with = "html"
    )]
    output: Option<PathBuf>,
    #[command(flatten)]
    pages: PageOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  Save a run, and make a page and charts of it:
    $ keystorm -t set,get -n 10000 -q --json run.json
    $ keystorm report run.json -o report.html --svg charts";

/// Its front end.
pub(crate) const FRONT: Front = Front {
    names: &["report"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// What the options mean.
fn intent(Options { files, output, mut pages }: Options) -> Result<Intent, UsageError> {
    if files.iter().filter(|file| *file == "-").count() > 1 {
        return Err(UsageError("standard input (-) can be read only once".into()));
    }
    if output.is_some() {
        pages.html = output;
    } else if !pages.any() {
        pages.html = Some(PathBuf::from("report.html"));
    }
    let inputs: Vec<_> = files.iter().map(|file| ("FILE", Some(file.as_path()))).collect();
    apart(&[("-o", pages.html.as_deref())], &inputs).map_err(UsageError)?;
    Ok(Intent::Report(ReportJob { files, pages }))
}
