//! Destinations of an experiment's results other than standard output.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use cli::console::live_page::{LivePage, LiveWatch};
use cli::console::result_file::ResultFile;
use cli::experiment::ExperimentOptions;
use cli::job::{MetricsAt, PageOptions};
use host::ServerFacts;
use report::page::Page;
use workload::Plan;

use super::progress::Progress;
use crate::commands::pages::Pages;

/// Interval at which the results are saved during an experiment; each time they are written completely.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// The files of one experiment.
pub(crate) struct Files {
    json: Option<ResultFile>,
    pages: Pages,
    kept: Option<Instant>,
    /// The growing page, until it is finished.
    live: Cell<Option<LivePage>>,
}

impl Files {
    /// Makes sure that the files can be written, before anything is measured, and serves the page, where that is
    /// wanted.
    pub(crate) fn new(output: &ExperimentOptions) -> Result<Self> {
        let json = output.json.as_deref().map(|path| (output.json_option, path));
        Self::open(json, &output.pages, output.live.live.as_ref())
    }

    /// Opens the files; another option names that of the results.
    pub(crate) fn open(
        json: Option<(&'static str, &Path)>,
        pages: &PageOptions,
        live: Option<&MetricsAt>,
    ) -> Result<Self> {
        let json = json.map(|(option, path)| ResultFile::new(option, path)).transpose()?;
        let pages = Pages::open(pages)?;
        let live = live.map(LivePage::of_experiment).transpose()?;
        Ok(Self { json, pages, kept: None, live: Cell::new(live) })
    }

    /// The progress display, which is also on the growing page.
    pub(crate) fn progress(&mut self) -> Progress {
        Progress::new(self.live.get_mut().as_ref().map(LivePage::words))
    }

    /// The progress display on the page only: in the terminal, runs have a line of their own.
    pub(crate) fn page_progress(&mut self) -> Progress {
        Progress::beside_line(self.live.get_mut().as_ref().map(LivePage::words))
    }

    /// Returns an observer that shows a run while it lasts, for an experiment without results before its end.
    pub(crate) fn watch<'p>(
        &mut self,
        plan: &'p Plan,
        server: &ServerFacts,
    ) -> Option<LiveWatch<'p>> {
        self.live.get_mut().as_ref().map(|live| live.watch(plan, server, None))
    }

    /// Saves the results so far: the first at once, further ones now and then. The page shows every step.
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

    /// Shows the results so far on the page.
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
