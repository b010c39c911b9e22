//! Options for pages and pictures of results, which every command that has results takes alike.

use std::path::{Path, PathBuf};

use naming::HTML;

use crate::job::UsageError;

/// Options for the places of a page and its charts.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct PageOptions {
    /// Write a page with charts to this file; it needs no network
    #[arg(long, value_name = "FILE", allow_hyphen_values = true, help_heading = "Results")]
    pub html: Option<PathBuf>,
    /// Write every chart as SVG to this directory, creating it if needed
    #[arg(long, value_name = "DIR", allow_hyphen_values = true, help_heading = "Results")]
    pub svg: Option<PathBuf>,
}

impl PageOptions {
    /// Returns whether a page or a picture is asked for.
    pub fn any(&self) -> bool {
        self.html.is_some() || self.svg.is_some()
    }

    /// Refuses to mix a page with what is printed.
    ///
    /// # Errors
    /// Returns an error if the page would go to standard output.
    pub fn check(&self) -> Result<(), UsageError> {
        if self.html.as_deref() == Some(Path::new("-")) {
            let text = format!("{HTML}: name a file; standard output is for the report");
            return Err(UsageError(text));
        }
        Ok(())
    }
}
