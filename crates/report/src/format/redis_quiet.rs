//! `quiet`: one line for each test, as `redis-benchmark -q` prints, and one for each operation of a mix.
//!
//! Owns those lines. Keystorm's additions follow the tool's text, so that a script that reads the beginning
//! still works; under the tool's own name, only problems are added.

use std::io::{self, Write};

use workload::quantity::counted;

use crate::quantity::msec_at_most;
use crate::{Finding, Format, FormatOptions, LatencyFigures, Lookups, Repeats, Summary};

/// See the file's head.
pub(super) struct RedisQuiet(pub(super) FormatOptions);

impl Format for RedisQuiet {
    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        let own = self.0.persona.own_layouts;
        let (title, rps) = (&summary.title, summary.counted_rps());
        write!(out, "{title}: {rps:.2} {} per second", summary.counted_noun())?;
        if summary.response.count > 0 || !own {
            write!(out, ", p50={} msec", summary.response.msec_at_most(summary.response.p50_ns))?;
        }
        if summary.response.count > 0 && own {
            write!(out, ", p99={} msec", summary.response.msec_at_most(summary.response.p99_ns))?;
        }
        if let Some(deadline) = &summary.deadline {
            write!(out, ", {:.2} per second in time", deadline.goodput_rps)?;
        }
        if let Some(first_byte) = &summary.first_byte {
            write!(out, ", first byte p50={} msec", msec_at_most(first_byte.p50_ns))?;
        }
        let stale = summary.deliveries.as_ref().and_then(|figures| figures.stale());
        if let Some(stale) = stale.filter(|stale| stale.count > 0) {
            let [p50, p99] = [stale.p50_ns, stale.p99_ns].map(msec_at_most);
            write!(out, ", stale p50={p50} p99={p99} msec")?;
        }
        if let Some(probe) = summary.run.probe.as_ref().filter(|_| own) {
            let seen = LatencyFigures::from_latency(&probe.response);
            let [p50, p99] = [seen.p50_ns, seen.p99_ns].map(msec_at_most);
            write!(out, ", probe p50={p50} p99={p99} msec")?;
        }
        if let Some(tls) = summary.tls.as_ref().filter(|_| own) {
            write!(out, ", TLS {}", tls.negotiated)?;
            if let Some(handshake) = &tls.handshake {
                write!(out, " handshake p50={} msec", msec_at_most(handshake.p50_ns))?;
            }
        }
        if let Some(text) = summary.hits_and_misses().filter(|_| own) {
            write!(out, ", {text}")?;
        }
        write_errors(summary.errors, out)?;
        for (kind, n) in summary.run.measurement.wrong().into_iter().filter(|(_, n)| *n > 0) {
            write!(out, " ({kind} values: {n})")?;
        }
        if own {
            write!(out, "{}", super::trouble(summary))?;
        }
        if let Some(shortfall) = summary.shortfall() {
            write!(out, " (incomplete: {shortfall})")?;
        }
        if let Some(target) = summary.target().filter(|_| own) {
            write!(out, ", {}", target.short())?;
        }
        if self.0.verdict {
            let is_kept = summary.run.verdict.finding == Some(Finding::ScheduleKept);
            let limited = if is_kept { "" } else { "limited by " };
            write!(out, ", {limited}{}", summary.run.verdict.class())?;
        }
        writeln!(out)?;
        for operation in &summary.operations {
            let (name, rate) = (&operation.name, operation.rate_per_s);
            write!(out, "  {name}: {rate:.2} per second")?;
            if operation.response.count > 0 {
                write!(out, ", p50={} msec", msec_at_most(operation.response.p50_ns))?;
            }
            if operation.tally.missed > 0 {
                let lookups = Lookups { hits: operation.hits, misses: operation.tally.missed };
                write!(out, ", {}", lookups.in_words())?;
            }
            write_errors(operation.tally.failed, out)?;
            writeln!(out)?;
        }
        Ok(())
    }

    fn repeats(&mut self, repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
        super::repeats::write_line(repeats, out)
    }

    fn finish(&mut self, suite: bool, out: &mut dyn Write) -> io::Result<()> {
        super::end_suite(suite, out)
    }
}

fn write_errors(errors: u64, out: &mut dyn Write) -> io::Result<()> {
    match errors {
        0 => Ok(()),
        n => write!(out, ", {}", counted(n, "error")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_test_is_one_line() {
        for (name, run) in fixture::all() {
            let line = |verdict| {
                let mut out = Vec::new();
                let mut quiet = RedisQuiet(FormatOptions { verdict, ..FormatOptions::default() });
                quiet.each(&Summary::from_run(&run), &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            let (text, ours) = (line(false), line(true));
            let operations = Summary::from_run(&run).operations.len();
            assert_eq!(text.lines().count(), 1 + operations, "{name}: {text}");
            assert!(text.ends_with('\n'));
            let (text, ours) = (text.lines().next().unwrap(), ours.lines().next().unwrap());
            let added = ours.strip_prefix(text).unwrap();
            assert!(added.starts_with(", limited by "), "{name}: {ours}");
        }
    }
}
