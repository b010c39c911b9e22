//! Options of an experiment for where its results go.

use std::path::PathBuf;

use crate::job::{MetricsAt, PageOptions, UsageError};
use clap::Args;

use crate::outputs::check_files_distinct;

/// Destinations of the results of an experiment.
#[derive(Debug, Clone, Args)]
pub struct ExperimentOptions {
    /// Output format: table, csv or json
    #[arg(long, value_name = "NAME", help_heading = "Results", default_value = "table",
          value_parser = ["table", "csv", "json"])]
    pub format: String,
    /// Same as --format csv
    #[arg(long, help_heading = "Results")]
    pub csv: bool,
    /// Save the results, with every run in full, to this file; `-` is --format json
    #[arg(long, value_name = "FILE", help_heading = "Results", allow_hyphen_values = true)]
    pub json: Option<PathBuf>,
    /// Places of its page and charts.
    #[command(flatten)]
    pub pages: PageOptions,
    /// Address at which its page is served.
    #[command(flatten)]
    pub live: LiveOption,
    /// Print only the table, without charts and notes
    #[arg(short = 'q', long, help_heading = "Results")]
    pub quiet: bool,
    /// Print the plans as JSON instead of running them
    #[arg(long, help_heading = "Other")]
    pub print_plan: bool,
    /// Option that names the file of results.
    #[arg(skip = "--json")]
    pub json_option: &'static str,
    /// The command line, without secrets.
    #[arg(skip)]
    pub command_line: String,
}

/// Address at which an experiment is watched.
#[derive(Debug, Clone, Args)]
pub struct LiveOption {
    /// Serve the page of the results to a browser while they come, on PORT or ADDR:PORT, otherwise on any free
    /// port of loopback
    #[arg(long, value_name = "[ADDR:]PORT", num_args = 0..=1, require_equals = true, help_heading = "Results",
          default_missing_value = "0", value_parser = MetricsAt::parse)]
    pub live: Option<MetricsAt>,
}

impl ExperimentOptions {
    /// Resolves the two ways to ask for CSV and for JSON, and keeps the command line for the results.
    ///
    /// # Errors
    /// Returns an error if two results would go to one file.
    pub fn resolve(&mut self, command_line: String) -> Result<(), UsageError> {
        let document = self.json.as_deref() == Some("-".as_ref());
        if document && (self.csv || self.format == "csv") {
            let text = "--json -: standard output can have only one format";
            return Err(UsageError(text.to_owned()));
        }
        if document {
            (self.json, self.format) = (None, "json".to_owned());
        }
        if self.csv {
            self.format = "csv".to_owned();
        }
        self.command_line = command_line;
        self.pages.check()?;
        let html = self.pages.html.as_deref();
        check_files_distinct(&[], &[("--json", self.json.as_deref()), ("--html", html)])
    }
}
