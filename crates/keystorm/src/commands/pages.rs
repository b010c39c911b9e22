//! Writing of pages and their charts to files.
//!
//! The content of a page is made in `report::page`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use cli::console::result_file::ResultFile;
use cli::job::PageOptions;
use naming::{HTML, SVG};
use report::Run;
use report::page::Page;
use report::page::runs::Source;

/// Places of a page and its charts.
pub(crate) struct Pages {
    html: Option<ResultFile>,
    svg: Option<PathBuf>,
}

impl Pages {
    /// Ensures that all files can be written, and makes directories. Nothing is written yet.
    ///
    /// # Errors
    /// Returns an error with the option, the file and the reason.
    pub(crate) fn open(options: &PageOptions) -> Result<Self> {
        let PageOptions { html, svg } = options;
        if let Some(dir) = svg {
            fs::create_dir_all(dir)
                .with_context(|| format!("{SVG} {}: cannot be made", dir.display()))?;
            ResultFile::new(SVG, &dir.join("chart"))?;
        }
        let html = html.as_deref().map(|path| ResultFile::new(HTML, path)).transpose()?;
        Ok(Self { html, svg: svg.clone() })
    }

    /// Writes the page, without its charts as pictures.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub(crate) fn write_page(&self, page: &Page) -> Result<()> {
        self.html.as_ref().map_or(Ok(()), |place| place.write(report::page::html(page).as_bytes()))
    }

    /// Writes every chart of the page as SVG if requested, and returns the names of the files.
    ///
    /// # Errors
    /// Returns an error if one cannot be written.
    pub(crate) fn write_charts(&self, page: &Page) -> Result<Vec<PathBuf>> {
        let Some(dir) = &self.svg else { return Ok(Vec::new()) };
        let mut written = Vec::new();
        for (name, chart) in report::page::pictures(page) {
            let path = dir.join(format!("{name}.svg"));
            ResultFile::new(SVG, &path)?.write(report::page::svg(&chart).as_bytes())?;
            written.push(path);
        }
        Ok(written)
    }

    /// Writes everything requested, and returns the names of the files.
    ///
    /// # Errors
    /// Returns an error if one cannot be written.
    pub(crate) fn write(&self, page: &Page) -> Result<Vec<PathBuf>> {
        self.write_page(page)?;
        let page_file = self.html.as_ref().map(|place| place.path().to_owned());
        Ok(page_file.into_iter().chain(self.write_charts(page)?).collect())
    }
}

/// The page of one job's tests.
pub(crate) fn page_of(runs: &[Run], complete: bool) -> Page {
    report::page::runs::page(&[Source { name: String::new(), runs, complete }])
}
