//! Where an experiment's results go beside standard output.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use console::live_page::{LivePage, LiveWatch};
use console::place::Place;
use host::ServerFacts;
use job::{ExperimentOutput, MetricsAt, PageOptions};
use page::Page;
use workload::Plan;

use super::progress::Progress;
use crate::commands::pages::Pages;

/// Interval at which the results are kept while an experiment goes on: each time they are written whole.
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
        let json = output.json.as_deref().map(|path| (output.json_option, path));
        Self::open(json, &output.pages, output.live.as_ref())
    }

    /// Opens the files, with the results in the file that another option names.
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

    /// The progress on that page alone: runs have a line of their own in the terminal.
    pub(crate) fn page_progress(&mut self) -> Progress {
        Progress::beside_line(self.live.get_mut().as_ref().map(LivePage::words))
    }

    /// Returns a watch that shows a run while it lasts, for an experiment that has no results before its end.
    pub(crate) fn watch<'p>(
        &mut self,
        plan: &'p Plan,
        server: &ServerFacts,
    ) -> Option<LiveWatch<'p>> {
        self.live.get_mut().as_ref().map(|live| live.watch(plan, server, None))
    }

    /// Keeps what there is so far: the first of it, and then now and then. Who looks at the page sees each step.
    pub(crate) fn keep(
        &mut self,
        json: impl FnOnce() -> serde_json::Result<String>,
        page: impl FnOnce() -> Page,
    ) -> Result<()> {
        self.show(page);
        if self.kept.is_some_and(|kept| kept.elapsed() < KEEP_EVERY) {
            return Ok(());
        }
        self.kept = Some(Instant::now());
        self.write(json)
    }

    /// Shows what there is so far to who looks at the page.
    pub(crate) fn show(&mut self, page: impl FnOnce() -> Page) {
        if let Some(live) = self.live.get_mut() {
            live.show(page);
        }
    }

    /// Writes the results so far.
    pub(crate) fn write(&self, json: impl FnOnce() -> serde_json::Result<String>) -> Result<()> {
        match &self.json {
            Some(place) => place.write(json()?.as_bytes()),
            None => Ok(()),
        }
    }

    /// Writes everything.
    pub(crate) fn finish(
        &self,
        json: impl FnOnce() -> serde_json::Result<String>,
        page: impl FnOnce() -> Page,
    ) -> Result<()> {
        self.write(json)?;
        let page = page();
        let written = self.pages.write(&page);
        if let Some(live) = self.live.take() {
            live.end(Some(page));
        }
        written.map(drop)
    }
}
