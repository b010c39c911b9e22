//! What goes along with a run: its progress line, and its figures second by second.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use measure::{Ending, Tally};
use report::Run;
use report::memtier::{Progress as Line, Rows, Second, Seconds, Style};
use runner::{Observer, Snapshot};
use workload::{Plan, Stop};

use super::statsd::Client;
use crate::aside::{self, Unread};
use crate::front::Companion;

const NS_PER_S: u64 = 1_000_000_000;

/// Watches one run.
pub(super) struct Progress<'p> {
    plan: &'p Plan,
    run: u32,
    seconds: Option<Seconds>,
    ended: Arc<Mutex<Vec<Vec<Second>>>>,
    /// What was so far when the last line was written.
    last: Sum,
    /// Nobody reads what is said.
    unread: bool,
    statsd: Option<Client>,
    percentiles: Vec<f64>,
    /// Per cent of a CPU above which a thread is told of.
    cpu_warn: Option<f64>,
}

/// Sums since the start.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    at_ns: u64,
    requests: u64,
    bytes: u64,
    timed: u64,
    latency_ms: f64,
    lost: u64,
}

impl Sum {
    fn of(total: &Tally, at_ns: u64) -> Self {
        let timed = total.commands.iter().map(|command| command.service.count());
        let ms = total.commands.iter().map(|command| {
            command.service.mean_ns().unwrap_or_default() * command.service.count() as f64 / 1e6
        });
        Self {
            at_ns,
            requests: total.requests(),
            bytes: total.connections.bytes_in + total.connections.bytes_out,
            timed: timed.sum(),
            latency_ms: ms.sum(),
            lost: total.connections.dropped,
        }
    }

    /// Requests and bytes per second, and mean latency, since `before`.
    fn rates(&self, before: &Self) -> [f64; 3] {
        let seconds = (self.at_ns - before.at_ns.min(self.at_ns)) as f64 / 1e9;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let timed = self.timed.saturating_sub(before.timed);
        let latency = self.latency_ms - before.latency_ms;
        [
            rate(self.requests.saturating_sub(before.requests)),
            rate(self.bytes.saturating_sub(before.bytes)),
            if timed > 0 { latency / timed as f64 } else { 0.0 },
        ]
    }
}

impl<'p> Progress<'p> {
    /// For run number `run`; its seconds are put behind those that ended before.
    pub(super) fn new(
        plan: &'p Plan,
        run: u32,
        style: &Style,
        (statsd, cpu_warn): (Option<Client>, Option<f64>),
        ended: Arc<Mutex<Vec<Vec<Second>>>>,
    ) -> Self {
        let seconds = Some(Seconds::new(Rows::of(plan, style), style));
        let last = Sum::default();
        let percentiles = style.percentiles.clone();
        Self { plan, run, seconds, ended, last, unread: false, statsd, percentiles, cpu_warn }
    }

    fn say(&mut self, text: &str) {
        self.unread |= aside::put(text).is_err();
    }

    fn line(&mut self, sum: Sum, total: &Tally) {
        let fleet = &self.plan.fleet;
        let done = match (self.plan.stop, self.plan.own_requests()) {
            (Stop::AfterNs(ns), _) => sum.at_ns as f64 / ns as f64,
            (Stop::Requests(_), numbers) => {
                let requests = numbers.unwrap_or(1) * self.plan.requests_in_number();
                sum.requests as f64 / requests as f64
            }
        };
        let (now, mean) = (sum.rates(&self.last), sum.rates(&Sum::default()));
        let line = Line {
            run: self.run,
            percent: 100.0 * done,
            seconds: sum.at_ns / NS_PER_S,
            threads: fleet.workers,
            clients: fleet.connections / u32::from(fleet.workers),
            connection_errors: sum.lost,
            ops: sum.requests,
            rates: [now[0], mean[0]],
            bytes: [now[1], mean[1]],
            latencies_ms: [now[2], mean[2]],
        };
        if let Some(statsd) = &self.statsd {
            statsd.send(&line, total, &self.percentiles);
        }
        self.last = sum;
        self.say(&format!("{}\r", line.line()));
    }
}

impl Observer for Progress<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        if snapshot.warming_up {
            return;
        }
        // An interval that ends with a second is part of it.
        let second = snapshot.elapsed_ns.saturating_sub(1) / NS_PER_S;
        if let Some(seconds) = &mut self.seconds {
            seconds.add(second, snapshot.tally);
        }
        if snapshot.elapsed_ns / NS_PER_S > self.last.at_ns / NS_PER_S {
            self.line(Sum::of(snapshot.total, snapshot.elapsed_ns), snapshot.total);
        }
    }
}

impl Companion for Progress<'_> {
    fn begin(&mut self) -> Result<()> {
        let run = self.run;
        self.say(&format!("[RUN #{run}] Preparing benchmark client...\n"));
        self.say(&format!("[RUN #{run}] Launching threads now...\n"));
        if self.unread { Err(Unread.into()) } else { Ok(()) }
    }

    fn end(&mut self, run: &Run) -> Result<bool> {
        let measurement = &run.measurement;
        if let Some(seconds) = self.seconds.take() {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.push(seconds.end());
        }
        let elapsed_s = measurement.elapsed_ns as f64 / 1e9;
        if measurement.ending == Ending::Interrupted {
            let run = self.run;
            self.say(&format!(
                "\n[RUN #{run}] Interrupted by user (Ctrl+C) after {elapsed_s:.1} secs, stopping \
                 threads...\n"
            ));
        }
        let total = &measurement.total;
        self.line(Sum::of(total, measurement.elapsed_ns), total);
        if let Some(statsd) = &self.statsd {
            statsd.end(&self.percentiles);
        }
        self.say("\n\n");
        if let Some(threshold) = self.cpu_warn {
            for (thread, used) in measurement.workers.iter().enumerate() {
                let percent = 100.0 * used.busy();
                if percent >= threshold {
                    self.say(&format!(
                        "warning: high CPU on thread {thread}: {percent:.1}% of the run\n"
                    ));
                }
            }
        }
        let errors = &measurement.total.errors;
        let (count, all) = (errors.total(), measurement.total.requests());
        if count > 0 {
            let first = errors.examples().first().map(report::escape).unwrap_or_default();
            self.say(&format!("error: {count} of {all} replies are errors, the first: {first}\n"));
        }
        // What was refused to the last request is no result.
        let well = count < all || all == 0;
        if self.unread { Err(Unread.into()) } else { Ok(well) }
    }
}
