//! Outages: as shades of charts over time, as lines below the verdict, and as a table.

use std::time::SystemTime;

use measure::{Failures, Outage};
use report::{Run, Summary, wall_clock};
use workload::quantity::counted;

use crate::{Band, Block, Table, Unit};
use report::grouped;

/// Most lines below the verdict; the table has the rest.
const LINES_MAX: usize = 5;
/// Rows of the table.
const ROWS_MAX: usize = 100;

/// Returns the bands that charts over time shade, in seconds from the start.
pub(crate) fn bands(run: &Run) -> Vec<Band> {
    let started = run.measurement.started_at;
    let band = |outage: &Outage| Band {
        from: outage.from_ns as f64 / 1e9,
        to: outage.to_ns as f64 / 1e9,
        name: "nothing succeeded".to_owned(),
        note: describe(run, started, outage),
    };
    run.measurement.outages.iter().map(band).collect()
}

/// A line for each of the first, for below the verdict.
pub(super) fn lines(summary: &Summary<'_>) -> Vec<String> {
    let (run, all) = (summary.run, summary.outages());
    let started = run.measurement.started_at;
    let mut lines: Vec<String> =
        all.iter().take(LINES_MAX).map(|outage| describe(run, started, outage)).collect();
    if all.len() > LINES_MAX {
        lines.push(format!("And {} more, in the table of outages.", all.len() - LINES_MAX));
    }
    lines
}

/// The table, if there are outages. `of` is the server, if the page is about several.
pub(crate) fn table(summary: &Summary<'_>, of: Option<&str>) -> Option<Block> {
    let (run, all) = (summary.run, summary.outages());
    let at = |ns| wall_clock(run.measurement.started_at, ns);
    let mut table =
        Table::new(["from (UTC)", "until", "lasted", "server", "failed", "back at 95 % of"]);
    for outage in all.iter().take(ROWS_MAX) {
        let back = match (outage.rate_before_per_s, outage.recovered_ns) {
            (Some(rate), Some(ns)) => format!("{}/s at {}", grouped(rate), at(ns)),
            (Some(rate), None) => format!("{}/s never", grouped(rate)),
            (None, _) => "–".to_owned(),
        };
        let until = if outage.to_the_end { "the end".to_owned() } else { at(outage.to_ns) };
        let row = [at(outage.from_ns), until, lasted(outage), server(run, outage)];
        table.row(row.into_iter().chain([failed(run, outage), back]));
    }
    let of = of.map_or(String::new(), |name| format!(" of {name}"));
    table.caption = match all.len() {
        n if n > ROWS_MAX => format!("Outages{of}: the first {ROWS_MAX} of {n}"),
        _ => format!("Outages{of}: spans in which nothing succeeded, exact to 0.02 s"),
    };
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// An outage in a sentence.
fn describe(run: &Run, started: SystemTime, outage: &Outage) -> String {
    let at = |ns| wall_clock(started, ns);
    let end = if outage.to_the_end { "the end" } else { &at(outage.to_ns) };
    let of = match server(run, outage).as_str() {
        "–" => String::new(),
        name => format!(" on {name}"),
    };
    let (from, lasted, failed) = (at(outage.from_ns), lasted(outage), failed(run, outage));
    format!("Outage from {from} to {end} UTC: nothing succeeded{of} for {lasted}; {failed}.")
}

fn lasted(outage: &Outage) -> String {
    Unit::Seconds.show_even(outage.length_ns() as f64 / 1e9)
}

/// Name of the outage's server, if there are several.
fn server(run: &Run, outage: &Outage) -> String {
    report::server_name(&run.plan, &run.measurement, outage).unwrap_or_else(|| "–".to_owned())
}

fn failed(run: &Run, outage: &Outage) -> String {
    let Failures { errors, lost, timed_out } = outage.failures;
    let known = [
        (errors, counted(errors, "error")),
        (lost, format!("{} lost", counted(lost, "request"))),
        (timed_out, format!("{} timed out", counted(timed_out, "request"))),
    ];
    let lines: Vec<String> =
        known.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    if lines.is_empty() {
        report::only_waited(run.plan.has_receivers()).to_owned()
    } else {
        lines.join(", ")
    }
}
