//! Output of YCSB during a run: a line on standard error every few seconds, and a log of histograms for each
//! kind of operation.

use std::fs;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use cli::console::{diagnostics, print};
use cli::job::{RunMonitor, ToolOutput};
use measure::Tally;
use report::{Format, Run};
use runner::{Observer, Snapshot};
use workload::{Plan, Stop};

use super::raw::RawOutput;
use super::results::Reports;
use crate::ycsb::layout::{HdrFiles, Section, StatusLine, Ycsb, sections, status_line};

impl ToolOutput for Reports {
    fn format(&self) -> Box<dyn Format> {
        Box::new(Ycsb::new(self.options.clone(), self.series.clone()))
    }

    fn monitor<'p>(
        &self,
        plan: &'p Plan,
        _run: u32,
        _interrupted: &'p AtomicBool,
    ) -> Box<dyn RunMonitor + 'p> {
        Box::new(Status::new(plan, self.clone()))
    }
}

/// Watches a run.
pub(super) struct Status<'p> {
    plan: &'p Plan,
    output: Reports,
    /// Figures since the last line.
    recent: Tally,
    /// Operations up to then, and when that was, in nanoseconds since load began.
    counted: u64,
    reported_ns: u64,
    /// Time up to which anything was seen.
    seen_ns: u64,
    /// Operations so far, and the part that was logged.
    operations: u64,
    logged: u64,
    logs: HdrFiles,
}

impl<'p> Status<'p> {
    /// Returns the status of a run of this plan.
    pub(super) fn new(plan: &'p Plan, output: Reports) -> Self {
        Self {
            plan,
            output,
            recent: Tally::new(&runner::tally_shape(plan)),
            counted: 0,
            reported_ns: 0,
            seen_ns: 0,
            operations: 0,
            logged: 0,
            logs: HdrFiles::default(),
        }
    }

    fn every_ns(&self) -> Option<u64> {
        self.output.status.as_ref().map(|status| status.every_s.max(1) * 1_000_000_000)
    }

    /// Ends what is since the last line: tells it and logs it.
    fn turn(&mut self, now_ns: u64, connections: u64) {
        let options = &self.output.options;
        let sections = sections(self.plan, &self.recent, connections, options);
        if self.output.logs.is_some() {
            let from = Duration::from_nanos(self.reported_ns);
            let length = Duration::from_nanos(now_ns.saturating_sub(self.reported_ns));
            self.logs.add(&sections, options.kind, from, length);
        }
        self.say(&sections, now_ns);
        self.logged += self.recent.operations_ended();
        self.recent.clear();
        (self.counted, self.reported_ns) = (self.operations, now_ns);
    }

    fn say(&self, sections: &[Section], now_ns: u64) {
        let Some(status) = &self.output.status else { return };
        let span_s = now_ns.saturating_sub(self.reported_ns) as f64 / 1e9;
        let since = self.operations.saturating_sub(self.counted) as f64;
        let line = StatusLine {
            label: &status.label,
            at: &clock(SystemTime::now()),
            elapsed_s: now_ns / 1_000_000_000,
            operations: self.operations,
            rate: if span_s > 0.0 { since / span_s } else { 0.0 },
            left_s: self.left_s(now_ns),
            sections,
            kind: self.output.options.kind,
        };
        let line = status_line(&line);
        // A closed standard error is noticed when the results are printed.
        if self.output.series.is_some() {
            let _ = print::text(&format!("{line}\n"));
        }
        let _ = diagnostics::say(line);
    }

    /// Adds an interval to the averages over time.
    fn note(&self, tally: &Tally, connections: u64, from_ns: u64) {
        let Some(series) = &self.output.series else { return };
        let sections = sections(self.plan, tally, connections, &self.output.options);
        series.lock().unwrap_or_else(PoisonError::into_inner).add(&sections, from_ns);
    }

    /// Remaining seconds at the mean rate so far.
    fn left_s(&self, now_ns: u64) -> Option<u64> {
        let Stop::Requests(_) = self.plan.load.stop else { return None };
        let left = self.plan.own_requests()?.saturating_sub(self.operations);
        let rate = self.operations as f64 / (now_ns as f64 / 1e9);
        (left > 0 && self.operations > 0).then(|| (left as f64 / rate).ceil() as u64)
    }
}

impl Observer for Status<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        if snapshot.warming_up {
            return;
        }
        self.recent.merge(snapshot.tally);
        self.note(snapshot.tally, 0, snapshot.elapsed_ns.saturating_sub(snapshot.span_ns));
        self.operations = snapshot.total.operations_ended();
        self.seen_ns = snapshot.elapsed_ns;
        if self.every_ns().is_some_and(|every| self.seen_ns >= self.reported_ns + every) {
            self.turn(self.seen_ns, 0);
        }
    }
}

impl RunMonitor for Status<'_> {
    /// Begins with the line at 0 seconds, if lines are wanted.
    fn begin(&mut self) -> Result<()> {
        if let Some(series) = &self.output.series {
            series.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.output.raw.as_ref().map(RawOutput::open).transpose()?;
        self.say(&[], 0);
        Ok(())
    }

    /// The last line, and the files.
    fn end(&mut self, run: &Run) -> Result<bool> {
        let elapsed_ns = run.measurement.elapsed_ns.max(self.reported_ns);
        self.operations = run.measurement.total.operations_ended();
        let connections = u64::from(self.plan.own_connections());
        self.turn(elapsed_ns, connections);
        self.note(&self.recent, connections, elapsed_ns);
        if self.logged != self.operations {
            // Several clients tell of their last second with their results: a line of the whole run.
            let (options, total) = (&self.output.options, &run.measurement.total);
            let whole = sections(self.plan, total, connections, options);
            self.logs = HdrFiles::default();
            self.logs.add(&whole, options.kind, Duration::ZERO, Duration::from_nanos(elapsed_ns));
        }
        let raw = self.output.raw.as_ref().map(|raw| raw.write(run, &self.output.options));
        let is_whole = raw.transpose()?.unwrap_or(true);
        let Some(prefix) = &self.output.logs else { return Ok(is_whole) };
        for (name, log) in self.logs.files(run.measurement.started_at)? {
            let path = format!("{prefix}{name}.hdr");
            fs::write(&path, log)
                .with_context(|| format!("hdrhistogram.output.path: {path}: cannot be written"))?;
        }
        Ok(is_whole)
    }
}

/// The time of day as YCSB writes it, in UTC.
fn clock(now: SystemTime) -> String {
    let text = humantime::format_rfc3339_millis(now.max(SystemTime::UNIX_EPOCH)).to_string();
    text.trim_end_matches('Z').replace('T', " ").replace('.', ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_has_its_milliseconds_behind_a_colon() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_335_895_181);
        assert_eq!(clock(at), "2026-11-22 08:24:55:181");
    }
}
