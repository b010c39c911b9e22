//! The live line: what runs, how fast, how far it is. Only where somebody watches.

use std::io::{self, IsTerminal, Write};

use report::{Progress, cleared, progress_line};
use runner::{INTERVAL_NS, Observer, Snapshot};
use workload::{Plan, Stop};

/// Rewrites one line of the terminal for each interval.
pub(crate) struct Live<'p> {
    plan: &'p Plan,
    test_index: u32,
    test_count: u32,
    /// Characters of the line that stands there; `None` where nobody watches.
    shown: Option<usize>,
}

impl<'p> Live<'p> {
    /// A live line for test `test_index` (from 1) of `test_count`, if `wanted` and if standard
    /// output is a terminal.
    pub(crate) fn new(plan: &'p Plan, test_index: u32, test_count: u32, wanted: bool) -> Self {
        let shown = (wanted && io::stdout().is_terminal()).then_some(0);
        Self { plan, test_index, test_count, shown }
    }

    /// Leaves a clean line for what is printed next.
    pub(crate) fn clear(&mut self) {
        if let Some(len) = self.shown.filter(|len| *len > 0) {
            self.print(&cleared(len), 0);
        }
    }

    fn print(&mut self, text: &str, len: usize) {
        let mut out = io::stdout().lock();
        // A terminal that is gone is noticed by what prints the results.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.shown = Some(len);
    }

    fn progress(&self, snapshot: &Snapshot<'_>) -> Progress {
        let interval_s = INTERVAL_NS as f64 / 1e9;
        let elapsed_s = snapshot.elapsed_ns as f64 / 1e9;
        let requests = snapshot.total.requests();
        let share_done = match (self.plan.stop, self.plan.own_requests()) {
            _ if snapshot.warming_up => None,
            (Stop::AfterNs(ns), _) => Some(snapshot.elapsed_ns as f64 / ns as f64),
            (Stop::Requests(_), n) => n.map(|n| requests as f64 / n as f64),
        };
        let msec = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
        Progress {
            title: self.plan.name.clone(),
            warming_up: snapshot.warming_up,
            interval_rps: Some(snapshot.point.requests as f64 / interval_s),
            overall_rps: Some(requests as f64 / elapsed_s),
            interval_avg_msec: msec(snapshot.point.mean_ns),
            overall_avg_msec: msec(snapshot.total.response().mean_ns()),
            timed: matches!(self.plan.stop, Stop::AfterNs(_)),
            requests,
            elapsed_s,
            test_index: self.test_index,
            test_count: self.test_count,
            share_done,
            // As if all tests took as long as this one: rough, and told as such by its rounding.
            time_left_s: share_done.filter(|share| *share > 0.0).map(|share| {
                let whole_s = elapsed_s / share;
                whole_s * f64::from(self.test_count - self.test_index)
                    + (whole_s - elapsed_s).max(0.0)
            }),
        }
    }
}

impl Observer for Live<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let Some(shown) = self.shown else { return };
        let mut line = progress_line(&self.progress(snapshot));
        if let Ok(size) = rustix::termios::tcgetwinsize(io::stdout())
            && size.ws_col > 1
        {
            // A line that wraps cannot be rewritten.
            line = line.chars().take(usize::from(size.ws_col) - 1).collect();
        }
        let len = line.chars().count();
        let text = if len < shown { cleared(shown) } else { String::new() };
        self.print(&format!("{text}{line}\r"), len);
    }
}
