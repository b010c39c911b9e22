//! The live line: what runs, how fast, how far it is. Only where somebody watches.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use measure::Latency;
use report::{Persona, Progress, Run, cleared, progress_line};
use runner::{Observer, Snapshot};
use workload::{Plan, Stop};

use crate::bar;
use crate::front::Companion;

/// Our line moves once a second, a multiple of the interval: a figure that changes more often
/// cannot be read.
const OURS_EVERY_NS: u64 = 1_000_000_000;

/// Rewrites one line of the terminal.
pub(crate) struct Live<'p> {
    plan: &'p Plan,
    test_index: u32,
    test_count: u32,
    wording: Persona,
    /// Characters of the line that stands there; `None` where nobody watches.
    shown: Option<usize>,
    /// What came since the last line: how long that was, and the response times.
    since_ns: u64,
    requests: u64,
    recent: Latency,
    warming_up: bool,
}

impl<'p> Live<'p> {
    /// A live line for test `test_index` (from 1) of `test_count`, if one is wanted and if standard
    /// output is a terminal.
    pub(crate) fn new(
        plan: &'p Plan,
        test_index: u32,
        test_count: u32,
        wanted: Option<Persona>,
    ) -> Self {
        let wording = wanted.unwrap_or(Persona::Ours);
        // Of several shares one may show it: under a launcher they all write to one terminal.
        let first = plan.shard.index == 1;
        let shown = (wanted.is_some() && first && io::stdout().is_terminal() && !bar::is_shown())
            .then_some(0);
        // Two digits: nobody reads a third off a moving line.
        let recent = Latency::new(2);
        Self {
            plan,
            test_index,
            test_count,
            wording,
            shown,
            since_ns: 0,
            requests: 0,
            recent,
            warming_up: false,
        }
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
        let elapsed_s = snapshot.elapsed_ns as f64 / 1e9;
        let requests = snapshot.total.requests();
        let share_done = match (self.plan.stop, self.plan.own_requests()) {
            _ if snapshot.warming_up => None,
            (Stop::AfterNs(ns), _) => Some(snapshot.elapsed_ns as f64 / ns as f64),
            (Stop::Requests(_), n) => {
                n.map(|n| snapshot.total.operations_ended() as f64 / n as f64)
            }
        };
        let msec = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
        let quantile = |q| msec(self.recent.quantile_ns(q).map(|ns| ns as f64));
        Progress {
            title: self.plan.name.clone(),
            warming_up: snapshot.warming_up,
            interval_rps: Some(self.requests as f64 / (self.since_ns as f64 / 1e9)),
            overall_rps: Some(requests as f64 / elapsed_s),
            interval_avg_msec: msec(self.recent.mean_ns()),
            overall_avg_msec: msec(snapshot.total.response().mean_ns()),
            interval_p50_msec: quantile(0.5),
            interval_p99_msec: quantile(0.99),
            errors: snapshot.total.errors.total(),
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

    /// Begins anew to add up what comes.
    fn forget(&mut self) {
        (self.since_ns, self.requests) = (0, 0);
        self.recent.clear();
    }

    /// Whether it is time for another line. The first comes as soon as there is something to say.
    fn is_due(&self, snapshot: &Snapshot<'_>) -> bool {
        self.wording != Persona::Ours
            || self.shown == Some(0)
            || snapshot.elapsed_ns.is_multiple_of(OURS_EVERY_NS)
            || self.since_ns >= OURS_EVERY_NS
    }
}

/// Watches nothing: of a run beside another, or of which a table is all that is shown.
pub(crate) struct Nobody;

impl Observer for Nobody {
    fn interval(&mut self, _snapshot: &Snapshot<'_>) {}
}

impl Companion for Live<'_> {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _run: &Run) -> Result<bool> {
        self.clear();
        Ok(true)
    }
}

impl Observer for Live<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let Some(shown) = self.shown else { return };
        if self.warming_up != snapshot.warming_up {
            self.warming_up = snapshot.warming_up;
            self.forget();
        }
        self.since_ns += snapshot.span_ns;
        self.requests += snapshot.point.requests;
        self.recent.merge(&snapshot.tally.response());
        if !self.is_due(snapshot) {
            return;
        }
        // A terminal that does not know its size, such as one in a pipe, takes everything.
        let size = rustix::termios::tcgetwinsize(io::stdout());
        let columns = size.ok().map(|size| usize::from(size.ws_col)).filter(|n| *n > 1);
        let line = progress_line(&self.progress(snapshot), self.wording, columns);
        let len = line.chars().count();
        let text = if len < shown { cleared(shown) } else { String::new() };
        self.print(&format!("{text}{line}\r"), len);
        self.forget();
    }
}
