//! Rows of the tables of a report, and the note on their marks.

use std::io::{self, Write};

use super::fitted;
use crate::quantity::QUANTILES;
use crate::{Summary, resting};

/// Widths of six columns, and of the seven of an open loop, for lines of at most 80.
const WIDTHS: [usize; 6] = [9; 6];
const OPEN_WIDTHS: [usize; 7] = [7, 7, 7, 7, 8, 8, 8];

/// Writes six or seven columns with their label.
pub(super) fn write_row(
    label: &str,
    cells: &[impl AsRef<str>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let widths = if cells.len() == OPEN_WIDTHS.len() { &OPEN_WIDTHS[..] } else { &WIDTHS };
    write!(out, "  {:<18}", fitted(label, 18))?;
    for (cell, width) in cells.iter().zip(widths) {
        write!(out, " {:>width$}", cell.as_ref())?;
    }
    writeln!(out)
}

/// Writes the meaning of the marks at percentiles, if the smallest of these counts leads to one.
pub(super) fn write_note(quantiles: &[f64], counts: &[u64], out: &mut dyn Write) -> io::Result<()> {
    let least = counts.iter().copied().filter(|count| *count > 0).min().unwrap_or_default();
    match resting::note(quantiles, least) {
        Some(note) => writeln!(out, "  {note}"),
        None => Ok(()),
    }
}

/// Writes that note for parts, if the whole has no such line.
pub(super) fn write_further_note(
    summary: &Summary<'_>,
    counts: &[u64],
    out: &mut dyn Write,
) -> io::Result<()> {
    match resting::note(&QUANTILES, summary.response.count) {
        Some(_) => Ok(()),
        None => write_note(&QUANTILES, counts, out),
    }
}
