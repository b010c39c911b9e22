//! `keystorm merge`: adds up saved runs.

use anyhow::Result;
use console::place::Place;
use job::{End, MergeJob, Spread};
use report::{Record, Summary};

use super::pages::{Pages, page_of};
use super::show::{print, read};

/// Adds up saved runs.
///
/// # Errors
/// Returns an error if a file is invalid, or if the runs are too different.
pub(crate) fn merge(job: &MergeJob) -> Result<End> {
    let place = job.output.as_deref().map(|path| Place::new("-o", path)).transpose()?;
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
        print(&merged, format, Spread::Short)?;
    }
    Ok(End::Complete)
}
