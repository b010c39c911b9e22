//! Where an experiment's results go beside standard output.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use console::live_page::LivePage;
use console::place::Place;
use job::{ExperimentOutput, MetricsAt, PageOptions};
use page::Page;

use super::progress::Progress;
use crate::commands::report::Pages;

/// How often the results are kept while an experiment goes on: each time they are written whole.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// The files of one experiment.
pub(crate) struct Files {
    json: Option<Place>,
    pages: Pages,
    kept: Option<Instant>,
    /// The page while it grows, until it is finished.
    live: Cell<Option<LivePage>>,
}

impl Files {
    /// Makes sure that the files can be written, before anything is measured, and serves the page, where that is
    /// wanted.
    pub(crate) fn new(output: &ExperimentOutput) -> Result<Self> {
        let json = output.json.as_deref().map(|path| ("--json", path));
        Self::open(json, &output.pages, output.live.as_ref())
    }

    /// The same, with the results in the file that another option names.
    pub(crate) fn open(
        json: Option<(&'static str, &Path)>,
        pages: &PageOptions,
        live: Option<&MetricsAt>,
    ) -> Result<Self> {
        let json = json.map(|(option, path)| Place::new(option, path)).transpose()?;
        let pages = Pages::open(pages)?;
        let live = live.map(LivePage::of_experiment).transpose()?;
        Ok(Self { json, pages, kept: None, live: Cell::new(live) })
    }

    /// The progress, which is on the page while it grows, too.
    pub(crate) fn progress(&mut self) -> Progress {
        Progress::new(self.live.get_mut().as_ref().map(LivePage::words))
    }

    /// Whether somebody may look at the page while it grows.
    pub(crate) fn has_live_page(&mut self) -> bool {
        self.live.get_mut().is_some()
    }

    /// Keeps what there is so far: the first of it, and then now and then. Who looks at the page sees each step.
    pub(crate) fn keep(
        &mut self,
        json: impl FnOnce() -> serde_json::Result<String>,
        page: impl FnOnce() -> Page,
    ) -> Result<()> {
        if let Some(live) = self.live.get_mut() {
            live.show(page);
        }
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
        let page = page();
        let written = self.pages.write(&page);
        if let Some(live) = self.live.take() {
            live.end(Some(page));
        }
        written.map(drop)
    }
}
