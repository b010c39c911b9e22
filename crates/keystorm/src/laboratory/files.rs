//! Where an experiment's results go beside standard output.

use std::time::{Duration, Instant};

use anyhow::Result;
use page::Page;

use crate::front::PageOptions;
use crate::keep::Place;
use crate::reported::Pages;

/// How often the results are kept while an experiment goes on: each time they are written whole.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// The files of one experiment.
pub(crate) struct Files {
    json: Option<Place>,
    pages: Pages,
    kept: Option<Instant>,
}

impl Files {
    /// Makes sure that the files can be written, before anything is measured.
    pub(crate) fn open(json: Option<Place>, pages: &PageOptions) -> Result<Self> {
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
