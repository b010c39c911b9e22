//! `keystorm show`: a saved run, printed; and how saved runs are read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow};
use console::diagnostics::Asides;
use console::print::{self, Printer};
use job::{End, Output, ShowJob, Spread};
use report::{FormatOptions, LoadedRecord, Record};
use workload::streams;

use crate::commands::report::{Pages, page_of};

/// Largest file that is read: a timeline of every interval of a hundred tests is far below it.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Prints a saved run.
///
/// # Errors
/// What is wrong with the file, with its name.
pub(crate) fn show(job: &ShowJob) -> Result<End> {
    let pages = Pages::open(&job.pages)?;
    let loaded = read(&job.file)?;
    print(&loaded, job.format, job.distribution)?;
    if job.pages.any() {
        pages.write(&page_of(&loaded.runs, loaded.complete))?;
    }
    Ok(End::Complete)
}

/// Prints a saved run in a layout.
pub(crate) fn print(
    loaded: &LoadedRecord,
    format: &'static str,
    distribution: Spread,
) -> Result<()> {
    let first_byte = loaded.runs.iter().any(|run| run.plan.recording.first_byte);
    let options = FormatOptions {
        first_byte,
        suite: loaded.suite,
        verdict: true,
        full_distribution: distribution == Spread::Full,
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
    loaded.runs.iter().try_for_each(|run| printer.each(run))?;
    if loaded.complete {
        printer.finish()?;
    }
    printer.close()
}

/// Reads a saved run; `-` is standard input.
///
/// # Errors
/// What is wrong with it, with the file's name.
pub(crate) fn read(path: &Path) -> Result<LoadedRecord> {
    let text = read_text(path)?;
    let loaded = Record::from_json(&text).and_then(Record::load);
    loaded.map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Reads what was saved; `-` is standard input.
///
/// # Errors
/// It cannot be read or is too large, with the file's name.
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
