//! `keystorm show`: prints saved runs or makes a page of them; also reads saved runs for other commands.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::Parser;
use cli::console::diagnostics::Asides;
use cli::console::print::{self, Printer};
use cli::front::{Front, command, with_options};
use cli::job::{DistributionDetail, End, Intent, Output, PageOptions, UsageError};
use cli::outputs::{check_files_distinct, format_name};
use report::page::runs::Source;
use report::{FormatOptions, LoadedRecord, Record, Summary};
use workload::streams;

use crate::commands::pages::Pages;
use crate::commands::run::say;

/// Prints a saved run (--json) in any format, exactly as the run itself would have printed it. With
/// --html or --svg, makes a page or charts of it instead, of several runs side by side. The page shows
/// what limited each test, throughput and latency over time, the percentile spectrum, tables, the plan,
/// and the command to run it again; it needs no network.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm show",
    override_usage = "keystorm show [OPTIONS] FILE...",
    after_help = EXAMPLE,
)]
struct Options {
    /// Files that --json or `keystorm merge` has written; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Layout: text, quiet, csv, redis (the peers' report), classic, json, timeline or samples
    /// [default: text, unless a page or charts are made]
    #[arg(long, value_name = "NAME", help_heading = "Results", value_parser = format_name)]
    format: Option<&'static str>,
    /// Steps of the distributions: `short`, or `full` for all [default: short]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        help_heading = "Results",
        hide_default_value = true,
        hide_possible_values = true
    )]
    distribution: DistributionDetail,
    #[command(flatten)]
    pages: PageOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = include_str!("../../help/show.txt").trim_ascii_end();

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["show"],
    command: command::<Options>,
    parse: |args| with_options(args, checked),
};

/// Returns what the options mean.
fn checked(mut options: Options) -> Result<Intent, UsageError> {
    let usage = |text: &str| Err(UsageError(text.to_owned()));
    let Options { files, format, pages, .. } = &mut options;
    if files.iter().filter(|file| *file == "-").count() > 1 {
        return usage("standard input (-) can be read only once");
    }
    *format = format.or((!pages.any()).then_some("text"));
    if files.len() > 1 && format.is_some() {
        return usage(
            "several files are shown on one page: use --html FILE without --format, \
             or add them up with keystorm merge",
        );
    }
    if format.is_some() {
        pages.check()?;
    }
    check_files_distinct(files, &[("--html", pages.html.as_deref())])?;
    Ok(Intent::carry(move || show(&options)))
}

/// Largest file that is read: a timeline of every interval of a hundred tests is far below it.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Prints saved runs, or makes a page and charts of them.
///
/// # Errors
/// Returns an error that names the file that cannot be read or written, and says why.
fn show(job: &Options) -> Result<End> {
    let mut options = job.pages.clone();
    let to_stdout = options.html.take_if(|path| path == Path::new("-")).is_some();
    let pages = Pages::open(&options)?;
    let loaded = job.files.iter().map(|file| Ok((file, read(file)?)));
    let loaded: Vec<(&PathBuf, LoadedRecord)> = loaded.collect::<Result<_>>()?;
    if let Some(format) = job.format {
        loaded.iter().try_for_each(|(_, loaded)| print(loaded, format, job.distribution))?;
    }
    if !job.pages.any() {
        return Ok(End::Complete);
    }
    let page = report::page::runs::page(&sources(&loaded));
    let written = pages.write(&page)?;
    if to_stdout {
        return say(&report::page::html(&page));
    }
    if job.format.is_none() && std::io::stdout().is_terminal() {
        say(&written
            .iter()
            .map(|path| format!("Wrote {}\n", report::escape(path.display().to_string())))
            .collect::<String>())?;
    }
    Ok(End::Complete)
}

/// Names of the files: without directory and extension if that is unique, in full otherwise. A single file
/// needs none.
fn sources<'l>(loaded: &'l [(&PathBuf, LoadedRecord)]) -> Vec<Source<'l>> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let shared =
        |path: &Path| loaded.iter().filter(|(other, _)| stem(other) == stem(path)).count() > 1;
    let name = |path: &Path| match stem(path) {
        _ if loaded.len() == 1 => String::new(),
        _ if path == Path::new("-") => "standard input".to_owned(),
        Some(stem) if !shared(path) => stem,
        _ => path.display().to_string(),
    };
    let sources = loaded.iter().map(|(path, loaded)| {
        let LoadedRecord { runs, complete, .. } = loaded;
        Source { name: name(path), runs, complete: *complete }
    });
    sources.collect()
}

/// Prints a saved run in a layout.
pub(crate) fn print(
    loaded: &LoadedRecord,
    format: &'static str,
    distribution: DistributionDetail,
) -> Result<()> {
    let first_byte = loaded.runs.iter().any(|run| run.plan.recording.first_byte);
    let options = FormatOptions {
        first_byte,
        suite: loaded.suite,
        verdict: true,
        full_distribution: distribution == DistributionDetail::Full,
        ..FormatOptions::default()
    };
    if let Some(first) = loaded.runs.first().filter(|_| print::is_for_people(format)) {
        let nodes =
            print::cluster_nodes(&first.server, options.persona, &first.plan.target, format);
        print::text(&nodes)?;
    }
    let output = Output::printed(format, options);
    let asides = Asides::open(&output)?;
    let mut printer = Printer::begin(&output, &asides)?;
    loaded.runs.iter().try_for_each(|run| printer.each(&Summary::from_run(run)))?;
    if loaded.complete {
        printer.finish()?;
    }
    printer.close()
}

/// Reads a saved run; `-` is standard input.
///
/// # Errors
/// Returns an error with the file's name if it is invalid.
pub(crate) fn read(path: &Path) -> Result<LoadedRecord> {
    let text = read_text(path)?;
    let loaded = Record::from_json(&text).and_then(Record::load);
    loaded.map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Reads a saved document; `-` is standard input.
///
/// # Errors
/// Returns an error with the file's name if it cannot be read or is too large.
pub(crate) fn read_text(path: &Path) -> Result<Vec<u8>> {
    let fault = |reason: String| anyhow!("{}: {reason}", path.display());
    let mut text = Vec::new();
    let read = if path == Path::new("-") {
        streams::input().take(FILE_BYTES_MAX + 1).read_to_end(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text))
    };
    read.map_err(|error| fault(format!("cannot be read: {error}")))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(fault("is over 1 GiB, too large for a saved run".to_owned()));
    }
    Ok(text)
}
