//! The command line of `keystorm history`, and what it has in common with `keystorm compare --baseline`.

use std::path::PathBuf;

use clap::{Args, Parser};
use job::{HistoryJob, HistoryOptions};

use super::front::{Front, command, with_options};
use super::outputs::apart;
use super::{Intent, PageOptions, UsageError};

/// Shows a folder of saved runs (--keep, --json) over time: a line for each test, server and machine with its newest
/// figures and the last step in them, and with --html a page with every run, its interval, versions and what changed.
/// A step is a change of level that lasts; single runs that are off are none.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm history",
    override_usage = "keystorm history [OPTIONS] [DIR]",
    after_help = EXAMPLE,
)]
struct Options {
    /// The folder, and those below it [default: KEYSTORM_HISTORY]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingOptions,
}

/// Options for reading and printing a history.
#[derive(Debug, Args)]
pub(super) struct ReadingOptions {
    /// Treat machines with the same processor model as one, whatever their names: for CI runners, which have a new
    /// name each time
    #[arg(long, help_heading = "Input")]
    any_machine: bool,
    /// Leave out runs in which the client itself missed the schedule (`leave-out`), or count them (`count`)
    /// [default: leave-out]
    #[arg(long, value_name = "WHAT", value_parser = ["leave-out", "count"], hide_possible_values = true,
          help_heading = "Input")]
    disturbed: Option<String>,
    /// Output format: table or json
    #[arg(long, value_name = "NAME", help_heading = "Results", default_value = "table",
          value_parser = ["table", "json"])]
    format: String,
    /// Save the result as JSON to this file; `-` is --format json
    #[arg(long, value_name = "FILE", help_heading = "Results", allow_hyphen_values = true)]
    json: Option<PathBuf>,
    #[command(flatten)]
    pages: PageOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  Keep two runs, and look at them:
    $ keystorm -t get -n 10000 -q --keep runs
    $ keystorm -t get -n 10000 -q --keep runs
    $ keystorm history runs --html history.html";

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["history"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(Options { dir, reading }: Options) -> Result<Intent, UsageError> {
    let environment = std::env::var_os("KEYSTORM_HISTORY").filter(|dir| !dir.is_empty());
    let Some(dir) = dir.or(environment.map(PathBuf::from)) else {
        let text = "name the folder: keystorm history DIR, or set KEYSTORM_HISTORY";
        return Err(UsageError(text.to_owned()));
    };
    Ok(Intent::History(HistoryJob { options: reading.of(dir)? }))
}

impl ReadingOptions {
    /// Returns the options for a folder.
    ///
    /// # Errors
    /// Two results would go to one file.
    pub(super) fn of(mut self, dir: PathBuf) -> Result<HistoryOptions, UsageError> {
        if self.json.as_deref() == Some("-".as_ref()) {
            (self.json, self.format) = (None, "json".to_owned());
        }
        let Self { any_machine, disturbed, format, json, pages } = self;
        let pages = pages.checked().map_err(UsageError)?;
        let outputs = [("--json", json.as_deref()), ("--html", pages.html.as_deref())];
        apart(&outputs, &[]).map_err(UsageError)?;
        let disturbed = disturbed.as_deref() == Some("count");
        Ok(HistoryOptions { dir, any_machine, disturbed, format, json, pages })
    }
}
