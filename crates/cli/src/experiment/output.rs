//! Options of an experiment for where its results go.

use std::path::PathBuf;

use clap::Args;
use job::{ExperimentOutput, MetricsAt, PageOptions, UsageError};

use crate::outputs::apart;

/// Destinations of the results of an experiment.
#[derive(Debug, Clone, Args)]
pub struct ExperimentOptions {
    /// Output format: table, csv or json
    #[arg(long, value_name = "NAME", help_heading = "Results", default_value = "table",
          value_parser = ["table", "csv", "json"])]
    format: String,
    /// Same as --format csv
    #[arg(long, help_heading = "Results")]
    csv: bool,
    /// Save the results, with every run in full, to this file; `-` is --format json
    #[arg(long, value_name = "FILE", help_heading = "Results", allow_hyphen_values = true)]
    json: Option<PathBuf>,
    #[command(flatten)]
    pages: PageOptions,
    #[command(flatten)]
    live: LiveOption,
    /// Print only the table, without charts and notes
    #[arg(short = 'q', long, help_heading = "Results")]
    quiet: bool,
    /// Print the plans as JSON instead of running them
    #[arg(long, help_heading = "Other")]
    print_plan: bool,
}

/// Address at which an experiment is watched.
#[derive(Debug, Clone, Args)]
pub struct LiveOption {
    /// Serve the page of the results while they come, for a browser. On any free port of loopback, or on PORT,
    /// ADDR:PORT
    #[arg(long, value_name = "[ADDR:]PORT", num_args = 0..=1, require_equals = true, help_heading = "Results",
          default_missing_value = "0", value_parser = MetricsAt::parse)]
    pub live: Option<MetricsAt>,
}

impl ExperimentOptions {
    /// Resolves the two ways to say CSV and JSON.
    ///
    /// # Errors
    /// Two results would go to one file.
    pub fn settled(mut self) -> Result<ExperimentOutput, UsageError> {
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
        self.pages = self.pages.checked().map_err(UsageError)?;
        let outputs = [("--json", self.json.as_deref()), ("--html", self.pages.html.as_deref())];
        apart(&outputs, &[]).map_err(UsageError)?;
        let Self { format, json, pages, live: LiveOption { live }, quiet, print_plan, .. } = self;
        let json_option = "--json";
        Ok(ExperimentOutput { format, json, json_option, pages, live, quiet, print_plan })
    }
}
