//! The command line of `keystorm report`: which saved runs, and where their page and charts go.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Parser};

use super::{FrontEnd, Intent, UsageError, options};

/// See the module.
pub(crate) struct ReportFront;

/// What `keystorm report` is to do.
#[derive(Debug)]
pub(crate) struct ReportJob {
    /// The saved runs; `-` for standard input.
    pub(crate) files: Vec<PathBuf>,
    /// The page.
    pub(crate) output: Option<PathBuf>,
    /// A directory for its charts as SVG.
    pub(crate) svg: Option<PathBuf>,
    /// A directory for its charts as PNG.
    pub(crate) png: Option<PathBuf>,
}

/// Makes one HTML page of runs that were kept with --json: what limited them, throughput and
/// latency over time, the percentile spectrum, tables, the plan, and how to run it again. The file
/// needs no network. Several runs are also shown side by side.
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
    /// The page [default: report.html, unless --svg or --png is given]
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Write every chart as SVG into this directory, which is made if need be
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    svg: Option<PathBuf>,
    /// Likewise as PNG
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    png: Option<PathBuf>,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  Keep a run, and make a page and pictures of it:
    $ keystorm -t set,get -n 10000 -q --json run.json
    $ keystorm report run.json -o report.html --png charts";

impl FrontEnd for ReportFront {
    fn names(&self) -> &'static [&'static str] {
        &["report"]
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let Options { files, output, svg, png, .. } = match options::<Options>(args)? {
            Ok(options) => options,
            Err(intent) => return Ok(intent),
        };
        if files.iter().filter(|file| *file == "-").count() > 1 {
            return Err(UsageError("standard input (-) can be read once".into()));
        }
        let pictures = svg.is_some() || png.is_some();
        let output = output.or_else(|| (!pictures).then(|| PathBuf::from("report.html")));
        Ok(Intent::Report(ReportJob { files, output, svg, png }))
    }
}
