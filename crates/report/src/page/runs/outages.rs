//! Outages: as shades of charts over time, as lines below the verdict, and as a table.

use crate::{Run, Summary, topics, wall_clock};
use measure::Outage;

use crate::page::{Band, Block, Column, Table, sentence};

/// Most lines below the verdict; the table has the rest.
const LINES_MAX: usize = 5;
/// Rows of the table.
const ROWS_MAX: usize = 100;

/// Returns the bands that charts over time shade, in seconds from the start.
pub(crate) fn bands(run: &Run) -> Vec<Band> {
    let bands = run.measurement.outages.iter().map(|outage| Band {
        from: outage.from_ns as f64 / 1e9,
        to: outage.to_ns as f64 / 1e9,
        name: "nothing succeeded".to_owned(),
        note: sentence(&describe(run, outage)),
    });
    bands.collect()
}

/// A line for each of the first, for below the verdict.
pub(super) fn lines(summary: &Summary<'_>) -> Vec<String> {
    let (all, run) = (summary.outages(), summary.run);
    let line =
        |of: &Outage| format!("Outage from {} UTC: {}.", at(run, of.from_ns), describe(run, of));
    let mut lines: Vec<String> = all.iter().take(LINES_MAX).map(line).collect();
    if all.len() > LINES_MAX {
        lines.push(format!("And {} more, in the table of outages.", all.len() - LINES_MAX));
    }
    lines
}

/// The table, if there are outages. `of` is the server, if the page is about several.
pub(crate) fn table(summary: &Summary<'_>, of: Option<&str>) -> Option<Block> {
    let (all, run) = (summary.outages(), summary.run);
    let columns: [Column<'_, &Outage>; 2] = [
        ("from (UTC)", &|outage| at(run, outage.from_ns)),
        ("outage", &|outage| describe(run, outage)),
    ];
    let of = of.map_or(String::new(), |name| format!(" of {name}"));
    let caption = match all.len() {
        n if n > ROWS_MAX => format!("Outages{of}: the first {ROWS_MAX} of {n}"),
        _ => format!("Outages{of}: spans in which nothing succeeded, exact to 0.02 s"),
    };
    let table = Table { caption, ..Table::of(&columns, all.iter().take(ROWS_MAX)) };
    table.filled().map(Block::Table)
}

/// An outage in a sentence without a full stop.
fn describe(run: &Run, outage: &Outage) -> String {
    topics::story(run, outage, |ns| at(run, ns)).join("; ")
}

/// A moment of the run by a clock on the wall, in UTC.
fn at(run: &Run, ns: u64) -> String {
    wall_clock(run.measurement.started_at, ns)
}
