//! The servers' own latency (`--server-latency`), for reports to people.

use std::io::{self, Write};

use crate::{ServerLatencyFigures, Summary};

/// Writes a line for each command and one for each event; nothing if the servers were not asked.
pub(super) fn write(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(found) = ServerLatencyFigures::from_run(summary.run) else { return Ok(()) };
    for command in &found.commands {
        writeln!(out, "  in the server: {}", command.describe())?;
    }
    match found.events.len() {
        0 => writeln!(out, "  in the server: nothing slow was recorded during the run"),
        _ => found.events.iter().try_for_each(|event| {
            writeln!(out, "  in the server, at {:.2} s: {}", event.t_s.max(0.0), event.text)
        }),
    }
}
