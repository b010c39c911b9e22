//! Files that results are kept in: `--json`, `--hdr`, and pages.
//!
//! Owns when they are written, which is after each test; how is `console::place`'s, and what is in them
//! `report`'s business.

use std::path::PathBuf;

use anyhow::Result;
use console::place::Place;
use job::Output;
use report::{HdrLog, Record, Run};

use crate::commands::report::{Pages, page_of};

/// The files that a job keeps its results in.
pub(crate) struct Keep {
    json: Option<(Place, Record)>,
    hdr: Option<(Place, HdrLog)>,
    /// The page of all tests so far, which is made anew after each.
    pages: Option<(Pages, Vec<Run>)>,
}

impl Keep {
    /// Makes sure that the files can be written. Nothing is written yet.
    pub(crate) fn open(output: &Output) -> Result<Self> {
        let place = |option: &'static str, path: &Option<PathBuf>| {
            path.as_deref().map(|path| Place::new(option, path)).transpose()
        };
        let record = |place| (place, Record::new(output.options.suite));
        Ok(Self {
            json: place("--json", &output.json)?.map(record),
            hdr: place("--hdr", &output.hdr)?.map(|place| (place, HdrLog::default())),
            pages: match output.pages.any() {
                true => Some((Pages::open(&output.pages)?, Vec::new())),
                false => None,
            },
        })
    }

    /// Saves the result of test number `at`, replacing an earlier one. `last`: no test is left to do.
    pub(crate) fn put(&mut self, at: usize, run: &Run, last: bool) -> Result<()> {
        if let Some((place, record)) = &mut self.json {
            record.put(at, run)?;
            if last {
                record.set_complete();
            }
            place.write(record.to_json()?.as_bytes())?;
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
