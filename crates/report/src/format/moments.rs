//! The worst moments of a run, for reports to people. Prints nothing if there are none.

use std::io::{self, Write};

use crate::{Moment, Summary, WorstMoments};

/// The section, after a blank line.
pub(super) fn write(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(found) = WorstMoments::from_run(summary.run) else { return Ok(()) };
    let WorstMoments { interval_s, usual_p99_ms, moments, totals, besides, unseen } = &found;
    writeln!(out, "\nWorst moments (UTC; p99 of {interval_s} s, usually {usual_p99_ms:.3} ms):")?;
    for Moment { at, until, p99_ms, max_ms, causes, .. } in moments {
        writeln!(out, "  {at} to {until}  p99={p99_ms:.3} ms, max={max_ms:.3} ms")?;
        for cause in causes {
            writeln!(out, "    {cause}")?;
        }
    }
    if !totals.is_empty() {
        writeln!(out, "  in all: {}", totals.join("; "))?;
    }
    for text in besides {
        writeln!(out, "  besides: {text}")?;
    }
    for text in unseen {
        writeln!(out, "  not looked at: {text}")?;
    }
    Ok(())
}
