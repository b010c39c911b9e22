//! The command line of `keystorm report`: which saved runs, and where their page and charts go.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Command, CommandFactory, Parser};
use job::ReportJob;

use super::outputs::apart;
use super::{FrontEnd, Intent, PageOptions, UsageError, with_options};

/// The front end of `keystorm report`.
pub(crate) struct ReportFront;

/// Makes an HTML page of saved runs (--json). It shows what limited each test, throughput and
/// latency over time, the percentile spectrum, tables, the plan, and the command to run it again.
/// Several runs are also shown side by side. The file needs no network.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm report",
    bin_name = "keystorm report",
    disable_help_flag = true,
    args_override_self = true,
    max_term_width = 100,
    override_usage = "keystorm report [OPTIONS] FILE...",
    after_help = EXAMPLE,
)]
struct Options {
    /// Files that --json or `keystorm merge` has written; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where to write the page; `-` for standard output [default: report.html, unless --svg or
    /// --png is given]
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
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  Save a run, and make a page and charts of it:
    $ keystorm -t set,get -n 10000 -q --json run.json
    $ keystorm report run.json -o report.html --png charts";

impl FrontEnd for ReportFront {
    fn names(&self) -> &'static [&'static str] {
        &["report"]
    }

    fn command(&self) -> Option<Command> {
        Some(Options::command())
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        with_options(args, intent)
    }
}

/// What the options mean.
fn intent(Options { files, output, mut pages, .. }: Options) -> Result<Intent, UsageError> {
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
