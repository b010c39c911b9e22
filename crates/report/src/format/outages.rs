//! Problems of a run, for reports to people: unanswered requests, lost connections, and outages. Prints
//! nothing if there are none.

use std::fmt::Write as _;
use std::io::{self, Write};

use measure::{Absence, Ending, Failures, Outage};
use workload::quantity::counted;

use crate::outages::{only_waited, server_name};
use crate::quantity::msec_at_most;
use crate::{Summary, escape};

/// Most outages shown; the rest is counted.
const SHOWN_MAX: usize = 20;

/// The lines below the summary.
pub(super) fn write(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let connections = summary.connections();
    let (lost, timed_out) = (connections.lost, connections.timed_out);
    if lost > 0 {
        writeln!(out, "  lost with their connection: {}", counted(lost, "request"))?;
    }
    if timed_out > 0 {
        writeln!(out, "  timed out: {}", counted(timed_out, "request"))?;
    }
    if connections.unanswered > 0 && *summary.ending() == Ending::Complete {
        let unanswered = counted(connections.unanswered, "request");
        writeln!(out, "  unanswered at the end: {unanswered}")?;
    }
    if connections.renewed > 0 {
        writeln!(out, "  connections closed and reopened on purpose: {}", connections.renewed)?;
    }
    if connections.retries > 0 {
        let retried = counted(connections.retried, "request");
        writeln!(out, "  retried: {retried}, {} in all", counted(connections.retries, "time"))?;
    }
    if connections.dropped > 0 {
        let (dropped, back) = (connections.dropped, connections.reconnects);
        writeln!(out, "  connections lost: {dropped}, reopened: {back}")?;
    }
    Ok(())
}

/// Writes the number of messages that no request asked for, if any came.
pub(super) fn write_pushes(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    match summary.connections().pushes {
        0 => Ok(()),
        pushes => writeln!(out, "  push messages: {pushes}"),
    }
}

/// Writes the outages, after all other figures of the whole run.
pub(super) fn write_outages(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (outages, run) = (summary.outages(), summary.run);
    let absences = &run.measurement.absences;
    if outages.is_empty() && absences.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOutages (seconds from the start, to within 0.02 s):")?;
    for outage in outages.iter().take(SHOWN_MAX) {
        let node = server_name(&run.plan, &run.measurement, outage).map(escape);
        write_outage(summary, outage, node.as_deref(), out)?;
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

fn write_outage(
    summary: &Summary<'_>,
    outage: &Outage,
    node: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of_messages = summary.deliveries.is_some();
    let noun = if of_messages { "messages" } else { "requests" };
    let node = node.map_or(String::new(), |name| format!("{name}: "));
    let (from, to) = (seconds(outage.from_ns), seconds(outage.to_ns));
    let end = if outage.to_the_end { "the end at " } else { "" };
    let length = seconds(outage.length_ns());
    writeln!(out, "  {node}nothing succeeded for {length} s, from {from} to {end}{to}")?;
    match outage.first_failure_ns {
        Some(ns) => {
            let Failures { errors, lost, timed_out } = outage.failures;
            let at = seconds(ns);
            let what = format!("{lost} lost, {timed_out} timed out, {}", counted(errors, "error"));
            writeln!(out, "    requests failed from {at}: {what}")?;
        }
        None if outage.to_the_end && summary.connections().unanswered > 0 => {
            writeln!(out, "    requests had no reply when it ended")?;
        }
        None => writeln!(out, "    {}", only_waited(of_messages))?,
    }
    match (outage.rate_before_per_s, outage.recovered_ns) {
        (Some(rate), Some(ns)) => {
            let at = seconds(ns);
            writeln!(out, "    back to 95 % of the {rate:.0} {noun} per second before at {at}")
        }
        (Some(rate), None) => {
            writeln!(out, "    not back to 95 % of the {rate:.0} {noun} per second before")
        }
        (None, _) => Ok(()),
    }
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
            let _ = write!(line, ", {count} {what}");
        }
    }
    let length_ns = outages.iter().map(Outage::length_ns).fold(0, u64::saturating_add);
    match outages.len() {
        0 => {}
        n => {
            let in_all = if n == 1 { "" } else { " in all" };
            let outages = counted(n as u64, "outage");
            let _ = write!(line, ", {outages} of {} s{in_all}", seconds(length_ns));
        }
    }
    let absences = summary.run.measurement.absences.iter();
    let away_ns = absences.map(Absence::length_ns).fold(0, u64::saturating_add);
    if away_ns > 0 {
        let _ = write!(line, ", keystorm did not run for {} s", seconds(away_ns));
    }
    line
}

fn seconds(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e9)
}
