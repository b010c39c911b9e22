//! Files of results: `--json`, `--keep`, `--hdr`, and pages.
//!
//! Owns the times of writing, after each test; `cli::console::place` writes, and `report` owns the content.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use cli::console::diagnostics;
use cli::console::result_file::ResultFile;
use cli::job::Output;
use naming::{HDR, JSON, KEEP, OptionId};
use report::{HdrLog, Record, Run, Summary};

use crate::commands::pages::{Pages, page_of};

/// Files of a job's results.
pub(crate) struct ResultFiles {
    /// The files of `--json` and `--keep`.
    records: Vec<ResultFile>,
    /// Set if one of the files belongs to a history.
    is_history: bool,
    record: Record,
    hdr: Option<(ResultFile, HdrLog)>,
    /// The page of all tests so far, which is made again after each.
    pages: Option<(Pages, Vec<Run>)>,
}

impl ResultFiles {
    /// Ensures that the files can be written, without writing yet.
    pub(crate) fn open(output: &Output) -> Result<Self> {
        let place = |option: OptionId, path: &Option<PathBuf>| {
            path.as_deref().map(|path| ResultFile::new(option, path)).transpose()
        };
        let kept = output.keep.as_deref().map(new_file).transpose()?;
        let is_history = kept.is_some();
        let records = place(JSON, &output.json)?.into_iter().chain(kept).collect();
        Ok(Self {
            records,
            is_history,
            record: Record::new(output.options.suite),
            hdr: place(HDR, &output.hdr)?.map(|place| (place, HdrLog::default())),
            pages: if output.pages.any() {
                Some((Pages::open(&output.pages)?, Vec::new()))
            } else {
                None
            },
        })
    }

    /// Saves the result of test number `at`, replacing an earlier one, and prints a note if a history will not
    /// count it. `last` says that no test is left to do.
    pub(crate) fn put(&mut self, at: usize, summary: &Summary<'_>, last: bool) -> Result<()> {
        let run = summary.run;
        if !self.records.is_empty() {
            self.record.put(at, summary)?;
            if last {
                self.record.set_complete();
            }
            let text = self.record.to_json()?;
            self.records.iter().try_for_each(|place| place.write(text.as_bytes()))?;
        }
        if let Some(why) = lab::history::uncounted(run).filter(|_| self.is_history) {
            let text = format!("{KEEP}: this run of {} will not count: {why}", run.plan.name);
            diagnostics::say(report::escape(text))?;
        }
        if let Some((place, log)) = &mut self.hdr {
            log.put(at, run);
            place.write(&log.to_bytes()?)?;
        }
        if let Some((pages, runs)) = &mut self.pages {
            match runs.get_mut(at) {
                Some(before) => *before = run.clone(),
                None => runs.push(run.clone()),
            }
            let complete = last && run.measurement.ending == measure::Ending::Complete;
            let page = page_of(runs, complete);
            pages.write_page(&page)?;
            // Pictures take longer, and nobody looks at them before all are there.
            if last || run.measurement.ending != measure::Ending::Complete {
                pages.write_charts(&page)?;
            }
        }
        Ok(())
    }
}

/// A unique file in a history, named after the time and a random number. The folder is made if necessary.
///
/// # Errors
/// Returns an error if it cannot be written.
fn new_file(dir: &Path) -> Result<ResultFile> {
    fs::create_dir_all(dir)
        .with_context(|| format!("{KEEP} {}: the folder cannot be made", dir.display()))?;
    let time = report::wall_clock_rfc3339(SystemTime::now(), 0);
    let time: String = time.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    let drawn = RandomState::new().build_hasher().finish();
    ResultFile::new(KEEP, &dir.join(format!("{time}-{drawn:016x}.json")))
}
