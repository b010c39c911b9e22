//! Output of an experiment's results on standard output, in the requested format, and in its files.

use anyhow::Result;
use job::ExperimentOutput;
use page::Page;

use super::files::Files;
use super::terminal::Terminal;
use crate::commands::run::say;

/// Prints the results (`text` makes the tables), and writes the files.
///
/// # Errors
/// Returns an error if standard output or a file cannot be written.
pub(crate) fn show(
    output: &ExperimentOutput,
    files: &Files,
    json: impl Fn() -> serde_json::Result<String>,
    csv: impl FnOnce() -> String,
    page: impl FnOnce() -> Page,
    text: impl FnOnce(&Terminal) -> Result<()>,
) -> Result<()> {
    match output.format.as_str() {
        "json" => say(&json()?).map(drop)?,
        "csv" => say(&csv()).map(drop)?,
        _ => text(&Terminal::of_stdout())?,
    }
    files.finish(json, page)
}
