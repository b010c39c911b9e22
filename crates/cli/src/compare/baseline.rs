//! The command line of `keystorm compare --baseline`: saved runs beside those before them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use job::{BaselineJob, InconclusivePolicy, UntilSure};
use report::{KEPT, Metric};

use super::super::experiment::LiveOption;
use super::super::front::with_options;
use super::super::history::ReadingOptions;
use super::super::{Intent, UsageError};
use super::arguments::{metric_of, percent};
use super::sure::{WITHIN_DEFAULT, percent as within};
use spec::values::{count_in, seconds};

/// Judges saved runs by those before them: the last runs of the same load on the same server from the same machine
/// that a folder keeps, with the variance that these have. A change of level that lasts (a step) is found at its run;
/// one run that is off may be a bad day and is undecided; what could not have been seen is said.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm compare --baseline",
    override_usage = "keystorm compare --baseline DIR [OPTIONS] [FILE...]",
    after_help = AFTER,
)]
struct Options {
    /// The runs to be judged, saved by --json or --keep [default: those of the folder's last day]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder that --keep fills
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    baseline: PathBuf,
    /// A folder of runs of an unchanged server, each within an hour of a tested run: figures are divided by the
    /// canary's, which removes what the machine does to both
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    canary: Option<PathBuf>,
    /// Number of runs of each test that count, the newest included [default: 60]
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = count_in(4..=1000), default_value_t = 60,
          hide_default_value = true)]
    last: u32,
    /// Figures that are judged, comma-separated: throughput, p50, p99, p99.9, server-cpu (server CPU per request) and
    /// client-cpu [default: throughput,p99]
    #[arg(long = "metric", value_name = "LIST", value_parser = metric_of(&KEPT), value_delimiter = ',',
          help_heading = "Results", default_values = ["throughput", "p99"], hide_default_value = true)]
    metrics: Vec<Metric>,
    /// The percentage by which throughput may be lower, or another figure higher, than before [default: any step for
    /// the worse fails]
    #[arg(long, value_name = "PCT", value_parser = percent, help_heading = "Results")]
    fail_on_regression: Option<f64>,
    /// Result of an undecided gate: pass (exit code 0) or fail (3) [default: exit code 4]
    #[arg(long, value_name = "WHAT", help_heading = "Results", hide_possible_values = true)]
    inconclusive: Option<InconclusivePolicy>,
    /// Repeat the newest runs, and keep each beside them, until the 95 % interval of each test's change is within ±PCT
    /// percent, or say which runs that takes and exit with code 4 [default: 2]
    #[arg(long, value_name = "PCT", value_parser = within, num_args = 0..=1, require_equals = true,
          default_missing_value = "2", help_heading = "Results")]
    until_sure: Option<f64>,
    /// Time limit of --until-sure [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Results", requires = "until_sure")]
    sure_within: Option<Duration>,
    #[command(flatten)]
    live: LiveOption,
    #[command(flatten)]
    reading: ReadingOptions,
}

const AFTER: &str = "\
Exit code 3: a figure is surely worse than before, by more than --fail-on-regression. Exit code 4: the runs
leave this open, for example because only the newest is off.";

/// Returns whether a command line asks for a comparison with a baseline.
pub(super) fn is_asked(args: &[OsString]) -> bool {
    let is_it = |word: &str| word == "--baseline" || word.starts_with("--baseline=");
    args.iter().take_while(|word| *word != "--").any(|word| word.to_str().is_some_and(is_it))
}

/// Returns what the command line means.
pub(super) fn intent(args: Vec<OsString>) -> Result<Intent, UsageError> {
    with_options(args, |options: Options| {
        let Options { files, baseline, canary, last, metrics, .. } = options;
        let Options { fail_on_regression, inconclusive, until_sure, sure_within, .. } = options;
        let Options { reading, live: LiveOption { live }, .. } = options;
        if live.is_some() && until_sure.is_none() {
            let text = "--live: saved runs are read at once, and --html writes their page; with --until-sure, which \
                repeats them, there is something to watch";
            return Err(UsageError(text.to_owned()));
        }
        if inconclusive == Some(InconclusivePolicy::Repeat) {
            let text = "--inconclusive repeat: saved runs are not repeated; choose pass or fail";
            return Err(UsageError(text.to_owned()));
        }
        let options = reading.of(baseline)?;
        let last = last as usize;
        let within = sure_within.unwrap_or(WITHIN_DEFAULT);
        let until_sure = until_sure.map(|percent| UntilSure { share: percent / 100.0, within });
        let job = BaselineJob {
            options,
            files,
            canary,
            last,
            metrics,
            fail_on_regression,
            inconclusive,
            until_sure,
            live,
        };
        Ok(Intent::Baseline(job))
    })
}
