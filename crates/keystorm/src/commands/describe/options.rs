//! Options of `keystorm describe`: which records, and where to.

use std::path::PathBuf;

use clap::Parser;
use cli::job::{PageOptions, UsageError};
use cli::outputs::check_files_distinct;

/// Describes recorded traffic: commands, keys, sizes, clients, rates, hot keys, dangerous commands
/// and the miss ratio of a cache of any size. Records are files of `keystorm record`, the output of
/// MONITOR, append-only files, logs of Dragonfly, memcached's watch, and cache traces of Twitter,
/// Meta and oracleGeneral, compressed with gzip or zstd or not. Several are merged by time.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm describe",
    override_usage = "keystorm describe [OPTIONS] FILE...",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Recorded traffic; a folder with an append-only file; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The format of all files, where their content does not show it: keystorm, monitor, watch, aof,
    /// twitter, meta, dragonfly or oracleGeneral
    #[arg(long, value_name = "NAME", help_heading = "Input", value_parser = record_format)]
    pub(super) format: Option<String>,
    /// Write a workload file that makes traffic like it, for --workload
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(super) workload: Option<PathBuf>,
    /// Print JSON instead of text: schema keystorm.describe/1
    #[arg(long, help_heading = "Results")]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) pages: PageOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = include_str!("../../../help/describe.txt").trim_ascii_end();

impl Options {
    /// Returns the options, which make sense together.
    pub(super) fn checked(self) -> Result<Self, UsageError> {
        let Self { files, pages, workload, .. } = &self;
        pages.check()?;
        let outputs = [("--html", pages.html.as_deref()), ("--workload", workload.as_deref())];
        check_files_distinct(files, &outputs)?;
        Ok(self)
    }
}

/// The name of a format of records.
fn record_format(text: &str) -> Result<String, String> {
    let names: Vec<&str> = traffic::FORMATS.iter().map(|format| format.name).collect();
    if names.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("expected one of {}", names.join(", ")))
    }
}
