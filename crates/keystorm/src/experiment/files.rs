//! Where an experiment's results go beside standard output.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use console::place::Place;
use job::PageOptions;
use page::Page;

use crate::commands::report::Pages;

/// How often the results are kept while an experiment goes on: each time they are written whole.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// The files of one experiment.
pub(crate) struct Files {
    json: Option<Place>,
    pages: Pages,
    kept: Option<Instant>,
}

impl Files {
    /// Makes sure that the files can be written, before anything is measured: the results in the file that an
    /// option names.
    pub(crate) fn open(json: Option<(&'static str, &Path)>, pages: &PageOptions) -> Result<Self> {
        let json = json.map(|(option, path)| Place::new(option, path)).transpose()?;
        Ok(Self { json, pages: Pages::open(pages)?, kept: None })
    }

    /// Keeps what there is so far: the first of it, and then now and then.
    pub(crate) fn keep(&mut self, json: impl FnOnce() -> serde_json::Result<String>) -> Result<()> {
        if self.kept.is_some_and(|kept| kept.elapsed() < KEEP_EVERY) {
            return Ok(());
        }
        if let Some(place) = &self.json {
            place.write(json()?.as_bytes())?;
        }
        self.kept = Some(Instant::now());
        Ok(())
    }

    /// Writes everything.
    pub(crate) fn finish(
        &self,
        json: impl FnOnce() -> serde_json::Result<String>,
        page: impl FnOnce() -> Page,
    ) -> Result<()> {
        if let Some(place) = &self.json {
            place.write(json()?.as_bytes())?;
        }
        self.pages.write(&page()).map(drop)
    }
}
