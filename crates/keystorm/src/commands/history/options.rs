//! Options of `keystorm history` and of `keystorm compare --baseline`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser};
use cli::compare::{InconclusivePolicy, metric_of, percent};
use cli::job::{PageOptions, UsageError};
use cli::outputs::check_files_distinct;
use report::{KEPT, Metric};
use spec::values::count_in;

/// Shows a folder of saved runs (--keep, --json) over time: a line for each test, server and machine with its newest
/// figures and the last step in them, and with --html a page with every run, its interval, versions and what changed.
/// A step is a change of level that lasts; single runs that are off are none.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm history",
    override_usage = "keystorm history [OPTIONS] [DIR]",
    after_help = EXAMPLE,
)]
pub(super) struct HistoryOptions {
    /// The folder, and those below it [default: KEYSTORM_HISTORY]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reading: ReadingOptions,
}

/// Options for reading and printing a history.
#[derive(Debug, Args)]
pub(super) struct ReadingOptions {
    /// Treat machines with the same processor model as one, whatever their names: for CI runners, which have a new
    /// name each time
    #[arg(long, help_heading = "Input")]
    pub(super) any_machine: bool,
    /// Leave out runs in which the client itself missed the schedule (`leave-out`), or count them (`count`)
    /// [default: leave-out]
    #[arg(long, value_name = "WHAT", value_parser = ["leave-out", "count"], hide_possible_values = true,
          help_heading = "Input")]
    disturbed: Option<String>,
    /// Output format: table or json
    #[arg(long, value_name = "NAME", help_heading = "Results", default_value = "table",
          value_parser = ["table", "json"])]
    pub(super) format: String,
    /// Save the result as JSON to this file; `-` is --format json
    #[arg(long, value_name = "FILE", help_heading = "Results", allow_hyphen_values = true)]
    pub(super) json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) pages: PageOptions,
    /// The folder, however it was named.
    #[arg(skip)]
    pub(super) dir: PathBuf,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = include_str!("../../../help/history.txt").trim_ascii_end();

impl HistoryOptions {
    /// Returns the options, which name a folder.
    pub(super) fn checked(mut self) -> Result<Self, UsageError> {
        let environment = std::env::var_os("KEYSTORM_HISTORY").filter(|dir| !dir.is_empty());
        let Some(dir) = self.dir.take().or(environment.map(PathBuf::from)) else {
            let text = "name the folder: keystorm history DIR, or set KEYSTORM_HISTORY";
            return Err(UsageError(text.to_owned()));
        };
        self.reading.check(dir)?;
        Ok(self)
    }
}

impl ReadingOptions {
    /// Takes the options for a folder, and refuses two results in one file.
    fn check(&mut self, dir: PathBuf) -> Result<(), UsageError> {
        self.dir = dir;
        if self.json.as_deref() == Some("-".as_ref()) {
            (self.json, self.format) = (None, "json".to_owned());
        }
        self.pages.check()?;
        let html = self.pages.html.as_deref();
        check_files_distinct(&[], &[("--json", self.json.as_deref()), ("--html", html)])
    }

    /// Returns whether runs count whose client did not do its work.
    pub(super) fn counts_disturbed(&self) -> bool {
        self.disturbed.as_deref() == Some("count")
    }
}

/// Judges saved runs by those before them: the last runs of the same load on the same server from the same machine
/// that a folder keeps, with the variance that these have. A change of level that lasts (a step) is found at its run;
/// one run that is off may be a bad day and is undecided; what could not have been seen is said.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm compare --baseline",
    override_usage = "keystorm compare --baseline DIR [OPTIONS] [FILE...]",
    after_help = AFTER,
)]
pub(super) struct BaselineOptions {
    /// The runs to be judged, saved by --json or --keep [default: those of the folder's last day]
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// The folder that --keep fills
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    baseline: PathBuf,
    /// A folder of runs of an unchanged server, each within an hour of a tested run: figures are divided by the
    /// canary's, which removes what the machine does to both
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub(super) canary: Option<PathBuf>,
    /// Number of runs of each test that count, the newest included [default: 60]
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = count_in(4..=1000), default_value_t = 60,
          hide_default_value = true)]
    pub(super) last: u32,
    /// Figures that are judged, comma-separated: throughput, p50, p99, p99.9, server-cpu (server CPU per request) and
    /// client-cpu [default: throughput,p99]
    #[arg(long = "metric", value_name = "LIST", value_parser = metric_of(&KEPT), value_delimiter = ',',
          help_heading = "Results", default_values = ["throughput", "p99"], hide_default_value = true)]
    pub(super) metrics: Vec<Metric>,
    /// The percentage by which throughput may be lower, or another figure higher, than before [default: any step for
    /// the worse fails]
    #[arg(long, value_name = "PCT", value_parser = percent, help_heading = "Results")]
    pub(super) fail_on_regression: Option<f64>,
    /// Result of an undecided gate: pass (exit code 0) or fail (3) [default: exit code 4]
    #[arg(long, value_name = "WHAT", help_heading = "Results", hide_possible_values = true)]
    pub(super) inconclusive: Option<InconclusivePolicy>,
    #[command(flatten)]
    pub(super) reading: ReadingOptions,
}

const AFTER: &str = "\
Exit code 3: a figure is surely worse than before, by more than --fail-on-regression. Exit code 4: the runs
leave this open, for example because only the newest is off.";

/// Returns whether a command line asks for a comparison with a baseline.
pub(crate) fn is_asked(args: &[OsString]) -> bool {
    args.iter().take_while(|word| *word != "--").any(|word| {
        word.to_str().is_some_and(|word| word == "--baseline" || word.starts_with("--baseline="))
    })
}

impl BaselineOptions {
    /// Returns the options, which make sense together.
    pub(super) fn checked(mut self) -> Result<Self, UsageError> {
        if self.inconclusive == Some(InconclusivePolicy::Repeat) {
            let text = "--inconclusive repeat: saved runs are not repeated; choose pass or fail";
            return Err(UsageError(text.to_owned()));
        }
        self.reading.check(std::mem::take(&mut self.baseline))?;
        Ok(self)
    }
}
