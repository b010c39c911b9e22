//! Progress of a test while it runs: a live line on a terminal, rows for a log, and permanent lines for
//! silences and spikes.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, SystemTime};

use crate::job::RunMonitor;
use anyhow::Result;
use measure::Latency;
use report::{
    LiveLine, LiveProgress, LiveUnit, Run, cleared, progress_line, progress_row, wall_clock_s,
};
use runner::{Observer, Snapshot};
use workload::{Plan, Stop, streams};

use crate::console::spikes::{IntervalFigures, Spikes};
use crate::console::{bar, diagnostics};

/// Interval of keystorm's live line, a multiple of the measuring interval: faster changes could not be read.
const OURS_EVERY_NS: u64 = 1_000_000_000;

/// Display of a line of the terminal that is rewritten.
pub struct LiveDisplay<'p> {
    plan: &'p Plan,
    title: String,
    test_index: u32,
    test_count: u32,
    kind: LiveLine,
    /// Characters of the visible line; `None` if there is no live line.
    shown: Option<usize>,
    /// Figures since the last line.
    recent: Recent,
    warming_up: bool,
    /// Time between rows on standard error, and the figures since the last one.
    rows: Option<Rows>,
    spikes: Spikes,
}

struct Rows {
    every_ns: u64,
    recent: Recent,
}

/// Requests since a line, and their response times.
struct Recent {
    since_ns: u64,
    requests: u64,
    response: Latency,
}

impl Default for Recent {
    fn default() -> Self {
        // Two digits: nobody reads a third off a moving line.
        Self { since_ns: 0, requests: 0, response: Latency::new(2) }
    }
}

impl Recent {
    fn add(&mut self, snapshot: &Snapshot<'_>) {
        self.since_ns += snapshot.span_ns;
        self.requests += snapshot.point.counted();
        self.response.merge(&snapshot.tally.response());
    }
}

impl<'p> LiveDisplay<'p> {
    /// Creates a live line for test `test_index` (from 1) of `test_count`, if it is wanted and standard
    /// output is a terminal.
    pub fn new(plan: &'p Plan, test_index: u32, test_count: u32, wanted: Option<LiveLine>) -> Self {
        let kind = wanted.unwrap_or(LiveLine::All);
        // Of several shares one may show it: under a launcher they all write to one terminal.
        let first = plan.load.shard.index == 1;
        let shown = (wanted.is_some() && first && io::stdout().is_terminal() && !bar::is_shown())
            .then_some(0);
        Self {
            plan,
            title: plan.name.clone(),
            test_index,
            test_count,
            kind,
            shown,
            recent: Recent::default(),
            warming_up: false,
            rows: None,
            spikes: Spikes::default(),
        }
    }

    /// Adds a row on standard error at this interval.
    pub fn with_rows(self, every: Option<Duration>) -> Self {
        // Of several shares one says them.
        let rows = every.filter(|_| self.plan.load.shard.index == 1).map(|every| Rows {
            every_ns: u64::try_from(every.as_nanos()).unwrap_or(u64::MAX),
            recent: Recent::default(),
        });
        Self { rows, ..self }
    }

    /// Sets another title than the plan's name.
    pub fn titled(self, title: String) -> Self {
        Self { title, ..self }
    }

    /// Clears the line for other output.
    pub fn clear(&mut self) {
        if let Some(len) = self.shown.filter(|len| *len > 0) {
            self.print(&cleared(len), 0);
        }
    }

    fn print(&mut self, text: &str, len: usize) {
        let mut out = streams::output();
        // A terminal that is gone is noticed by what prints the results.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.shown = Some(len);
    }

    /// Prints a permanent line: above the live line, or among the rows.
    fn stay(&mut self, text: &str) {
        let line = format!("{} {text}", wall_clock_s(SystemTime::now(), 0));
        match self.shown {
            Some(shown) if self.rows.is_none() => self.print(&format!("{line:<shown$}\n"), 0),
            _ => {
                self.clear();
                // A closed standard error is noticed when the results are printed.
                let _ = diagnostics::say(line);
            }
        }
    }

    /// Prints the events of an interval that deserve a permanent line.
    fn events(&mut self, snapshot: &Snapshot<'_>) {
        if self.kind != LiveLine::All || (self.shown.is_none() && self.rows.is_none()) {
            return;
        }
        if !snapshot.warming_up {
            let gauges = snapshot.gauges;
            let seen = IntervalFigures {
                span_ns: snapshot.span_ns,
                replies: snapshot.point.requests,
                asked: gauges.iter().any(|g| g.in_flight > 0 || g.backlog.unwrap_or(0) > 0),
                p99_ns: snapshot.point.p99_ns,
                max_ns: snapshot.point.max_ns,
            };
            if let Some(text) = self.spikes.interval(&seen) {
                self.stay(&text);
            }
        }
        let Some(rows) = &mut self.rows else { return };
        rows.recent.add(snapshot);
        let Recent { since_ns, requests, .. } = rows.recent;
        if since_ns < rows.every_ns {
            return;
        }
        let from_ns = snapshot.elapsed_ns.saturating_sub(since_ns);
        if requests == 0 && matches!(self.plan.load.stop, Stop::AfterNs(ns) if from_ns >= ns) {
            return; // Nothing was due any more.
        }
        let recent = std::mem::take(&mut rows.recent);
        let progress = self.progress(snapshot, &recent);
        let row = progress_row(&progress, &wall_clock_s(SystemTime::now(), 0));
        self.clear();
        let _ = diagnostics::say(row);
    }

    fn progress(&self, snapshot: &Snapshot<'_>, recent: &Recent) -> LiveProgress {
        let Recent { since_ns, requests, response } = recent;
        let elapsed_s = snapshot.elapsed_ns as f64 / 1e9;
        let ended = snapshot.total.operations_ended();
        let share_done = match (self.plan.load.stop, self.plan.own_requests()) {
            _ if snapshot.warming_up => None,
            // How many deliveries a number of messages becomes depends on their receivers.
            (Stop::Requests(_), _) if self.plan.has_receivers() => None,
            (Stop::AfterNs(ns), _) => Some(snapshot.elapsed_ns as f64 / ns as f64),
            (Stop::Requests(_), n) => n.map(|n| ended as f64 / n as f64),
        };
        let msec = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
        let quantile = |q| msec(response.quantile_ns(q).map(|ns| ns as f64));
        let schedule = self.plan.load.pace.schedule().filter(|schedule| schedule.is_limited());
        let wanted_rps = schedule.filter(|_| !snapshot.warming_up).map(|schedule| {
            let due = |ns| self.plan.own_rate_per_s(schedule.due_by(ns));
            let from_ns = snapshot.elapsed_ns.saturating_sub(*since_ns);
            let span_s = (snapshot.elapsed_ns - from_ns) as f64 / 1e9;
            (due(snapshot.elapsed_ns) - due(from_ns)) / span_s
        });
        LiveProgress {
            title: self.title.clone(),
            unit: LiveUnit::from_plan(self.plan),
            warming_up: snapshot.warming_up,
            interval_rps: Some(*requests as f64 / (*since_ns as f64 / 1e9)),
            overall_rps: Some(ended as f64 / elapsed_s),
            interval_avg_msec: msec(response.mean_ns()),
            overall_avg_msec: msec(snapshot.total.response().mean_ns()),
            interval_p50_msec: quantile(0.5),
            interval_p99_msec: quantile(0.99),
            interval_max_msec: msec(response.max_ns().map(|ns| ns as f64)),
            wanted_rps,
            behind: snapshot.gauges.iter().map(|gauge| gauge.backlog).sum::<Option<u64>>(),
            errors: snapshot.total.errors.total(),
            timed: matches!(self.plan.load.stop, Stop::AfterNs(_)),
            requests: ended,
            elapsed_s,
            test_index: self.test_index,
            test_count: self.test_count,
            share_done,
            // Assumes that all tests take as long as this one. The rounding shows that it is rough.
            time_left_s: share_done.filter(|share| *share > 0.0).map(|share| {
                let whole_s = elapsed_s / share;
                whole_s * f64::from(self.test_count - self.test_index)
                    + (whole_s - elapsed_s).max(0.0)
            }),
        }
    }

    /// Returns whether another line is due. The first comes with the first figures.
    fn is_due(&self, snapshot: &Snapshot<'_>) -> bool {
        self.kind != LiveLine::All
            || self.shown == Some(0)
            || snapshot.elapsed_ns.is_multiple_of(OURS_EVERY_NS)
            || self.recent.since_ns >= OURS_EVERY_NS
    }
}

impl RunMonitor for LiveDisplay<'_> {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _run: &Run) -> Result<bool> {
        self.clear();
        Ok(true)
    }
}

impl Observer for LiveDisplay<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        self.events(snapshot);
        let Some(shown) = self.shown else { return };
        if self.warming_up != snapshot.warming_up {
            self.warming_up = snapshot.warming_up;
            self.recent = Recent::default();
        }
        self.recent.add(snapshot);
        if !self.is_due(snapshot) {
            return;
        }
        let progress = self.progress(snapshot, &self.recent);
        // A terminal that does not know its size, such as one in a pipe, takes everything.
        let size = rustix::termios::tcgetwinsize(io::stdout());
        let columns = size.ok().map(|size| usize::from(size.ws_col)).filter(|n| *n > 1);
        let line = progress_line(&progress, self.kind, columns);
        let len = line.chars().count();
        let text = if len < shown { cleared(shown) } else { String::new() };
        self.print(&format!("{text}{line}\r"), len);
        self.recent = Recent::default();
    }
}
