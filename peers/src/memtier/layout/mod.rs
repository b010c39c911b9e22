//! The reports of `memtier_benchmark`: its tables, its JSON file, its HDR files and its file of each connection.
//!
//! Owns their layouts, to the byte where the figures are the same, and the histogram that its figures are read
//! off. Figures are of a [`Summary`](report::Summary); the front end decides on the location of files. Errors
//! of the original that are not imitated are listed in docs/memtier.md.

mod client_files;
mod cpu;
mod distribution;
mod hdr_files;
mod histogram;
mod json;
mod json_sections;
mod lookups;
mod progress;
mod realtime;
mod rows;
mod seconds;
mod section;
mod sums;
mod table;

pub(crate) use client_files::client_files;
pub(crate) use cpu::CpuSecond;
pub(crate) use hdr_files::{HdrFile, hdr_files};
pub(crate) use histogram::MemtierHistogram;
pub(crate) use json::{Entry, Json};
pub(crate) use json_sections::json_section;
pub(crate) use lookups::{Lookup, lookups};
pub(crate) use progress::Progress;
pub(crate) use realtime::{Realtime, Window};
pub(crate) use rows::Rows;
pub(crate) use seconds::{Second, Seconds};
pub(crate) use section::{RunFigures, Section, sections};
pub(crate) use sums::Sum;
pub(crate) use table::{write_head, write_section};

use std::io::{self, Write};

use report::{Format, Repeats, Summary};

/// Style of its reports.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    /// Percentiles, in the order typed.
    pub(crate) percentiles: Vec<f64>,
    /// Set if distributions are printed.
    pub(crate) distributions: bool,
    /// Set if its own SET, GET and WAIT are sent, of which each has a row.
    pub(crate) built_in: bool,
    /// Set if JSON leaves out SETs where none are sent, as it does since GETs may be MGETs.
    pub(crate) leaves_out_sets: bool,
    /// Set if the commands of one name have one row.
    pub(crate) merged: bool,
    /// Set if each of several runs has a section.
    pub(crate) every_run: bool,
    /// Set if commands of the user's own have hits and misses.
    pub(crate) lookups: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            percentiles: vec![50.0, 99.0, 99.9],
            distributions: true,
            built_in: false,
            leaves_out_sets: false,
            merged: true,
            every_run: false,
            lookups: false,
        }
    }
}

/// The text report: table and distribution of each run; after several runs of one plan, also those of the best run, of
/// the worst and of all.
#[derive(Default)]
pub(crate) struct MemtierText {
    style: Style,
    /// Figures of each run of one plan, if it is carried out several times.
    runs: Vec<RunFigures>,
}

impl Format for MemtierText {
    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        let rows = Rows::from_plan(&summary.run.plan, &self.style);
        let figures = RunFigures::new(summary, &rows);
        write_head(&figures, out)?;
        let section = Section::of_run("ALL STATS", &figures);
        write_section(&section, &self.style, out)?;
        if summary.run.repeat.is_some() {
            self.runs.push(figures);
        }
        Ok(())
    }

    fn repeats(&mut self, _repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
        let runs = std::mem::take(&mut self.runs);
        let sections = if runs.len() > 1 { sections(&runs, false) } else { Vec::new() };
        sections.iter().try_for_each(|section| write_section(section, &self.style, out))
    }
}
