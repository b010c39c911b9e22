//! Problems of a run, for reports to people: unanswered requests, lost connections, and outages. Prints
//! nothing if there are none.

use std::io::{self, Write};

use measure::{Absence, Ending, Outage};
use workload::quantity::counted;

use crate::quantity::msec_at_most;
use crate::{Summary, topics};

/// Most outages shown; the rest is counted.
const SHOWN_MAX: usize = 20;

/// Writes the outages, after all other figures of the whole run.
pub(crate) fn write_outages(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (outages, run) = (summary.outages(), summary.run);
    let absences = &run.measurement.absences;
    if outages.is_empty() && absences.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOutages (seconds from the start, to within 0.02 s):")?;
    for outage in outages.iter().take(SHOWN_MAX) {
        for (at, line) in topics::story(run, outage, seconds).iter().enumerate() {
            writeln!(out, "{}{line}", if at == 0 { "  " } else { "    " })?;
        }
    }
    if outages.len() > SHOWN_MAX {
        writeln!(out, "  and {} more", outages.len() - SHOWN_MAX)?;
    }
    for absence in absences.iter().take(SHOWN_MAX) {
        let length = seconds(absence.length_ns());
        let (from, to) = (seconds(absence.from_ns), seconds(absence.to_ns));
        writeln!(out, "  keystorm itself did not run for {length} s, from {from} to {to}")?;
    }
    if absences.len() > SHOWN_MAX {
        writeln!(out, "  and {} more times", absences.len() - SHOWN_MAX)?;
    }
    if let Some(delayed) = summary.delayed.filter(|delayed| delayed.count > 0) {
        let [p50, p99, max] = [delayed.p50_ns, delayed.p99_ns, delayed.max_ns].map(msec_at_most);
        let were = if delayed.count == 1 { "was" } else { "were" };
        // A message that was refused has no receiver, and so no response time.
        let (noun, and) = match &summary.deliveries {
            Some(_) => ("message", " and received"),
            None => ("request", ""),
        };
        writeln!(
            out,
            "  {} {were} due meanwhile{and}; their response time (ms): p50={p50} p99={p99} max={max}",
            counted(delayed.count, noun)
        )?;
    }
    Ok(())
}

/// Describes the problems for a report of one line; empty if there are none.
pub(super) fn in_a_line(summary: &Summary<'_>) -> String {
    let (connections, outages) = (summary.connections(), summary.outages());
    let mut line = String::new();
    // Of a run that was broken off, some always are.
    let unanswered = if *summary.ending() == Ending::Complete { connections.unanswered } else { 0 };
    for (count, what) in [
        (connections.lost, "lost"),
        (connections.timed_out, "timed out"),
        (unanswered, "unanswered"),
    ] {
        if count > 0 {
            line += &format!(", {count} {what}");
        }
    }
    let length_ns = outages.iter().map(Outage::length_ns).fold(0, u64::saturating_add);
    if !outages.is_empty() {
        let in_all = if outages.len() == 1 { "" } else { " in all" };
        let outages = counted(outages.len() as u64, "outage");
        line += &format!(", {outages} of {} s{in_all}", seconds(length_ns));
    }
    let absences = summary.run.measurement.absences.iter();
    let away_ns = absences.map(Absence::length_ns).fold(0, u64::saturating_add);
    if away_ns > 0 {
        line += &format!(", keystorm did not run for {} s", seconds(away_ns));
    }
    line
}

fn seconds(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e9)
}
