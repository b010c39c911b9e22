//! `keystorm merge`: which saved runs are added up, and where the sum goes.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use cli::console::result_file::ResultFile;
use cli::front::{Front, command, with_options};
use cli::job::{DistributionDetail, End, Intent, PageOptions, UsageError};
use cli::outputs::{check_files_distinct, format_name};
use report::{Record, Summary};
use spec::values::count_in;

use super::pages::{Pages, page_of};
use super::show::{print, read};

/// Adds up saved runs (--json) of several clients that loaded one server together. The result is
/// what a single client would have measured: counts, histograms and timelines, the last aligned by
/// wall clock. The plans may differ only in connections, requests, rate, seed, threads and CPUs.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm merge",
    override_usage = "keystorm merge [OPTIONS] FILE...",
    after_help = EXAMPLE,
)]
struct Options {
    /// Files that --json has written
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Shares of the plan that are lost, by number, such as 2 or 2,5: the result is of the others, is
    /// called incomplete and says why
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Input", value_parser = count_in(1..=u32::MAX))]
    missing: Vec<u32>,
    /// Keep the merged run in this file; without --format nothing is printed then
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Layout of the output: text, quiet, csv, redis, classic, json, timeline or samples [default: text]
    #[arg(long, value_name = "NAME", help_heading = "Results", value_parser = format_name)]
    format: Option<&'static str>,
    #[command(flatten)]
    pages: PageOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = include_str!("../../help/merge.txt").trim_ascii_end();

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["merge"],
    command: command::<Options>,
    parse: |args| with_options(args, checked),
};

/// Returns what the options mean.
fn checked(mut options: Options) -> Result<Intent, UsageError> {
    let Options { files, output, format, pages, .. } = &mut options;
    pages.check()?;
    check_files_distinct(files, &[("-o", output.as_deref()), ("--html", pages.html.as_deref())])?;
    *format = format.or(output.is_none().then_some("text"));
    Ok(Intent::carry(move || merge(&options)))
}

/// Adds up saved runs.
///
/// # Errors
/// Returns an error that says what is wrong with a file, or how the files differ.
fn merge(job: &Options) -> Result<End> {
    let place = job.output.as_deref().map(|path| ResultFile::new("-o", path)).transpose()?;
    let pages = Pages::open(&job.pages)?;
    let parts = job.files.iter().map(|file| Ok((file.display().to_string(), read(file)?)));
    let merged = report::merge(parts.collect::<Result<_>>()?, &job.missing)?;
    if let Some(place) = place {
        let mut record = Record::new(merged.suite);
        for (at, run) in merged.runs.iter().enumerate() {
            record.put(at, &Summary::from_run(run))?;
        }
        if merged.complete {
            record.set_complete();
        }
        place.write(record.to_json()?.as_bytes())?;
    }
    if job.pages.any() {
        pages.write(&page_of(&merged.runs, merged.complete))?;
    }
    if let Some(format) = job.format {
        print(&merged, format, DistributionDetail::Short)?;
    }
    Ok(End::Complete)
}
