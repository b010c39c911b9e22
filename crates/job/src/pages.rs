//! Options for pages and pictures of results, which every command that has results takes alike.

use std::path::{Path, PathBuf};

use naming::HTML;

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
    /// The page would go to standard output.
    pub fn checked(self) -> Result<Self, String> {
        if self.html.as_deref() == Some(Path::new("-")) {
            Err(format!("{HTML}: name a file; standard output is for the report"))
        } else {
            Ok(self)
        }
    }
}
