//! Destinations of the results of experiments.

use std::path::PathBuf;

use crate::{MetricsAt, PageOptions};

/// Places and formats for the results of an experiment.
#[derive(Debug, Clone)]
pub struct ExperimentOutput {
    /// `table`, `csv` or `json`.
    pub format: String,
    /// The file that the results are saved in, with every run in full.
    pub json: Option<PathBuf>,
    /// Option that names that file.
    pub json_option: &'static str,
    /// Places of pages and pictures.
    pub pages: PageOptions,
    /// Address at which the page is served while it grows.
    pub live: Option<MetricsAt>,
    /// Set if only the table is printed, without charts and notes.
    pub quiet: bool,
    /// Set if the plans are printed as JSON and nothing is run.
    pub print_plan: bool,
}
