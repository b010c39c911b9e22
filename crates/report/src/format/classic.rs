//! `classic`: the report of `redis-benchmark` before Redis 6.
//!
//! Owns that layout, for scripts that still read it. Those versions cut a latency down to whole milliseconds,
//! so that 1.9 ms counted as `<= 1`; here it is rounded up and the line is true.

use std::io::{self, Write};

use crate::quantity::msec_at_most;
use crate::{Format, FormatOptions, LatencyFigures, Repeats, Summary, distribution, topics};

/// See the file's head.
pub(super) struct Classic(pub(super) FormatOptions);

impl Format for Classic {
    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        super::write_head(summary, out)?;
        writeln!(out)?;
        for step in distribution::by_whole_msec(&summary.response_times) {
            let msec = step.at_most_ns / 1_000_000;
            writeln!(out, "{:.2}% <= {msec} milliseconds", step.percent)?;
        }
        writeln!(out, "{:.2} requests per second", summary.throughput_rps)?;
        if self.0.verdict
            && let Some(text) = summary.hits_and_misses()
        {
            writeln!(out, "  {text}")?;
        }
        if summary.target_rps().is_some() {
            write_latency("service time", &summary.service, out)?;
        }
        if let Some(schedule) = &summary.schedule {
            writeln!(out, "schedule: {schedule}")?;
        }
        if let Some(target) = summary.target() {
            writeln!(out, "target {}", target.sentence())?;
        }
        if let Some(first_byte) = &summary.first_byte {
            write_latency("latency to first byte", first_byte, out)?;
        }
        super::write_tls(summary, out)?;
        if let Some(handshake) = super::handshake(summary) {
            write_latency("TLS handshake", handshake, out)?;
        }
        super::write_errors(summary, out)?;
        super::write_pairs(topics::counters(summary), out)?;
        super::write_outages(summary, out)?;
        super::write_verdict(self.0.verdict, summary, out)?;
        writeln!(out)
    }

    fn repeats(&mut self, repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
        super::repeats::write_table(repeats, out)
    }

    fn finish(&mut self, suite: bool, out: &mut dyn Write) -> io::Result<()> {
        super::end_suite(suite, out)
    }
}

/// Writes a latency as a line, which those versions did not have.
fn write_latency(what: &str, figures: &LatencyFigures, out: &mut dyn Write) -> io::Result<()> {
    let [p50, p99, max] = [figures.p50_ns, figures.p99_ns, figures.max_ns].map(msec_at_most);
    writeln!(out, "  {what}: p50={p50} p99={p99} max={max} msec")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_last_share_is_all() {
        for (name, run) in fixture::all() {
            let mut out = Vec::new();
            Classic(FormatOptions::default()).each(&Summary::from_run(&run), &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let last = text.lines().rfind(|l| l.contains("% <= "));
            assert!(last.is_none_or(|l| l.starts_with("100.00% <= ")), "{name}: {text}");
            assert_eq!(last.is_none(), name == "empty");
        }
    }
}
