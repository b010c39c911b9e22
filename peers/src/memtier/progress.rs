//! The progress line of a run, and its figures second by second.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use cli::console::diagnostics::{self, ClosedPipe};
use cli::job::{End, RunMonitor};
use host::affinity;
use measure::{Ending, ErrorCounts, Negotiated, Tally};
use report::Run;
use runner::{FailedRequests, Observer, Snapshot};
use workload::{Backoff, Plan, Stop};

use super::debug;
use super::error_lines::{address_of, error_lines};
use super::exporter::{Exporter, RunMoment};
use super::failed_keys::FailedKeys;
use super::options::Options;
use super::staircase;
use super::statsd::Client;
use super::threads::Threads;
use crate::memtier::layout::{
    CpuSecond, Lookup, MemtierHistogram, Progress as ProgressFigures, Realtime, Rows, Second,
    Seconds, Style, Sum, Window, lookups,
};

const NS_PER_S: u64 = 1_000_000_000;

/// Default miss rate (%) above which a command is reported.
const MISS_THRESHOLD: f64 = 1.0;

/// A run second by second.
#[derive(Debug, Default)]
pub(super) struct RunSeconds {
    pub(super) seconds: Vec<Second>,
    pub(super) cpu: Vec<CpuSecond>,
}

/// Watches one run.
pub(super) struct ProgressMonitor<'p> {
    plan: &'p Plan,
    run: u32,
    options: Arc<Options>,
    style: Style,
    /// Set by the reports that ask for it.
    pub(super) exporter: Option<Arc<Exporter>>,
    /// Set to end the run.
    interrupted: &'p AtomicBool,
    /// Set if the run was ended for want of a valid reply.
    unheard: bool,
    seconds: Option<Seconds>,
    /// Destination of its seconds, behind those of earlier runs.
    pub(super) ended: Arc<Mutex<Vec<RunSeconds>>>,
    /// Sum when the last line was written.
    last: Sum,
    /// Rates and mean latency in the last line.
    shown: [f64; 3],
    /// Standard error is closed.
    unread: bool,
    statsd: Option<Client>,
    failed_keys: Option<FailedKeys>,
    threads: Threads,
    window: Option<Window>,
    /// Address of the server in errors, once there are any.
    address: Option<String>,
    /// Lines of the last block, which the next one replaces on a terminal.
    block: usize,
}

impl<'p> ProgressMonitor<'p> {
    /// Returns the monitor of run number `run`.
    pub(super) fn new(
        plan: &'p Plan,
        run: u32,
        options: Arc<Options>,
        style: Style,
        interrupted: &'p AtomicBool,
    ) -> Self {
        Self {
            plan,
            run,
            exporter: None,
            interrupted,
            unheard: false,
            seconds: Some(Seconds::new(Rows::from_plan(plan, &style), &style)),
            ended: Arc::default(),
            last: Sum::default(),
            shown: [0.0; 3],
            unread: false,
            statsd: Client::new(&options),
            failed_keys: None,
            threads: Threads::new(plan.load.concurrency.workers, options.cpu_warn),
            window: options.realtime.then(|| Window::new(options.latency_window)),
            address: None,
            block: 0,
            options,
            style,
        }
    }

    /// Clients of a thread, once all have joined.
    fn clients(&self) -> u32 {
        self.plan.load.concurrency.connections / u32::from(self.plan.load.concurrency.workers)
    }

    fn say(&mut self, text: &str) {
        self.unread |= diagnostics::put(text).is_err();
    }

    fn line(&mut self, mut sum: Sum, total: &Tally) {
        // Waiting for the last replies does not count as time of the run, and time does not run back.
        sum.at_ns = sum.at_ns.max(self.last.at_ns);
        let concurrency = &self.plan.load.concurrency;
        let done = match (self.plan.load.stop, self.plan.own_requests()) {
            (Stop::AfterNs(ns), _) => sum.at_ns as f64 / ns as f64,
            (Stop::Requests(_), numbers) => {
                let requests = numbers.unwrap_or(1) * self.plan.requests_in_number();
                sum.requests as f64 / requests as f64
            }
        };
        // The last moments get no line of their own.
        let is_rest = self.last.at_ns > 0 && sum.at_ns - self.last.at_ns < NS_PER_S / 2;
        let now = if is_rest { self.shown } else { sum.rates(&self.last) };
        self.shown = now;
        let mean = sum.rates(&Sum::default());
        let line = ProgressFigures {
            run: self.run,
            percent: 100.0 * done.min(1.0),
            seconds: sum.at_ns / NS_PER_S,
            threads: concurrency.workers,
            clients: staircase::clients_at(concurrency.joining, self.clients(), sum.at_ns),
            sum,
            rates: [now[0], mean[0]],
            bytes: [now[1], mean[1]],
            latencies_ms: [now[2], mean[2]],
            retried_since: self.options.retries().then_some(self.last),
        };
        if let Some(statsd) = &self.statsd {
            statsd.send(&line, total, &self.style.percentiles);
        }
        if let Some(exporter) = &self.exporter {
            let threads = u64::from(concurrency.workers);
            let connections = u64::from(line.clients) * threads;
            let latency = Some(total.service());
            exporter.publish(RunMoment { run: self.run, sum, latency, connections, threads });
        }
        if self.plan.recovery.reconnect && sum.lost > self.last.lost {
            self.say_lost(sum.lost - self.last.lost);
        }
        let before = std::mem::replace(&mut self.last, sum);
        match &mut self.window {
            None => self.say(&format!("{}\r", line.line())),
            Some(window) => {
                let (second, all) = window.tick();
                let block = Realtime {
                    progress: line,
                    miss_percent: [sum.miss_percent(&before), sum.miss_percent(&Sum::default())],
                    second,
                    window: all.map(|all| (self.options.latency_window, all)),
                    overall: MemtierHistogram::from_latency(&total.service()),
                    percentiles: &self.style.percentiles,
                };
                let lines = block.lines();
                self.say_block(&lines);
            }
        }
    }

    /// Reports lost connections, which are being reopened.
    fn say_lost(&mut self, lost: u64) {
        let delay = match self.plan.recovery.backoff {
            Some(Backoff { first_ns, .. }) => format!("in {:.2} seconds", first_ns as f64 / 1e9),
            None => "at once".to_owned(),
        };
        self.say(&format!(
            "\nConnection error: {lost} connections were lost, attempting reconnection {delay}...\n"
        ));
        self.block = 0;
    }

    fn say_errors(&mut self, errors: &ErrorCounts) {
        let endpoint = &self.plan.target.endpoint;
        let address = self.address.get_or_insert_with(|| address_of(endpoint));
        let lines = error_lines(errors, address);
        self.say(&lines);
        self.block = 0;
    }

    /// Prints lines; on a terminal they overwrite the last ones.
    fn say_block(&mut self, lines: &[String]) {
        let text = if io::stderr().is_terminal() {
            let up = match self.block {
                0 => String::new(),
                lines => format!("\x1b[{lines}A"),
            };
            let each = lines.iter().map(|line| format!("{line}\x1b[K\n"));
            up + &each.collect::<String>()
        } else {
            lines.iter().map(|line| format!("{line}\n")).collect()
        };
        self.block = lines.len();
        self.say(&text);
    }

    /// Ends a run without a reply for too long.
    fn watch_over(&mut self, total: &Tally, elapsed_ns: u64) {
        let Some(seconds) = self.options.stage_timeout.map(u64::from) else { return };
        if self.unheard || total.requests() > 0 || elapsed_ns < seconds * NS_PER_S {
            return;
        }
        self.unheard = true;
        self.say(&format!(
            "\nmemtier_benchmark: aborting after {seconds} seconds without a reply. See \
             --connection-stage-timeout.\n"
        ));
        self.interrupted.store(true, Ordering::Relaxed);
    }
}

/// The warning about threads that share CPUs.
fn oversubscribed(threads: u32) -> Option<String> {
    let allowed = affinity::allowed().len();
    (allowed > 0 && threads as usize > allowed).then(|| {
        format!(
            "warning: CPU oversubscription: {threads} worker threads share {allowed} allowed logical \
             CPU(s). CPU contention may limit benchmark throughput and increase latency. Consider \
             reducing --threads or expanding the allowed CPU set.\n"
        )
    })
}

impl Observer for ProgressMonitor<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        if snapshot.warming_up {
            return;
        }
        // An interval that ends with a second belongs to that second.
        let second = snapshot.elapsed_ns.saturating_sub(1) / NS_PER_S;
        if let Some(seconds) = &mut self.seconds {
            seconds.add(second, snapshot.tally);
        }
        if let Some(window) = &mut self.window {
            window.add(snapshot.tally);
        }
        if snapshot.elapsed_ns / NS_PER_S > self.last.at_ns / NS_PER_S {
            let lines = self.threads.second(snapshot.gauges, snapshot.elapsed_ns);
            self.line(Sum::new(self.plan, snapshot.total, snapshot.elapsed_ns), snapshot.total);
            lines.into_iter().for_each(|line| self.say(&line));
            if self.options.debug {
                let text = debug::of_second(snapshot.gauges, snapshot.elapsed_ns);
                self.say(&format!("\n{text}"));
            }
        }
        if snapshot.tally.errors.total() > 0 {
            self.say_errors(&snapshot.tally.errors);
        }
        self.watch_over(snapshot.total, snapshot.elapsed_ns);
    }

    fn failed(&mut self, failed: &FailedRequests) {
        let note = self.failed_keys.as_mut().and_then(|keys| keys.add(failed));
        note.into_iter().for_each(|line| self.say(&line));
    }
}

impl RunMonitor for ProgressMonitor<'_> {
    fn begin(&mut self) -> Result<()> {
        let run = self.run;
        if self.options.debug {
            self.say(&debug::of_plan(self.plan));
        }
        self.say(&format!("[RUN #{run}] Preparing benchmark client...\n"));
        if let (Some(joining), Stop::AfterNs(ns)) =
            (self.plan.load.concurrency.joining, self.plan.load.stop)
        {
            let (clients, threads) = (self.clients(), self.plan.load.concurrency.workers);
            self.say(&staircase::preview(run, joining, clients, threads, ns / NS_PER_S));
        }
        self.say(&format!("[RUN #{run}] Launching threads now...\n"));
        if let Some(warning) = oversubscribed(self.options.threads).filter(|_| run == 1) {
            self.say(&warning);
        }
        if let Some(statsd) = &self.statsd {
            statsd.event(&format!("run {run} started"));
        }
        if let Some(path) = &self.options.failed_keys_file {
            let (keys, note) = FailedKeys::open(path, self.style.built_in);
            self.failed_keys = Some(keys);
            note.into_iter().for_each(|line| self.say(&line));
        }
        if self.unread { Err(ClosedPipe.into()) } else { Ok(()) }
    }

    fn end(&mut self, run: &Run) -> Result<bool> {
        let measurement = &run.measurement;
        if let Some(seconds) = self.seconds.take() {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            let cpu = self.threads.taken(&measurement.workers, measurement.elapsed_ns);
            ended.push(RunSeconds { seconds: seconds.end(), cpu });
        }
        let elapsed_s = measurement.elapsed_ns as f64 / 1e9;
        if measurement.ending == Ending::Interrupted && !self.unheard {
            let run = self.run;
            self.say(&format!(
                "\n[RUN #{run}] Interrupted by user (Ctrl+C) after {elapsed_s:.1} secs, stopping \
                 threads...\n"
            ));
        }
        let total = &measurement.total;
        self.line(Sum::new(self.plan, total, measurement.elapsed_ns), total);
        if let Some(statsd) = &self.statsd {
            statsd.end(&self.style.percentiles);
            statsd.event(&format!("run {} ended", self.run));
        }
        self.say("\n\n");
        if self.options.debug {
            self.say(&debug::of_end(measurement));
        }
        let mut lines = self.threads.averages(&measurement.workers);
        if let Some(Negotiated { version, cipher, .. }) = total.connections.tls.negotiated.first() {
            lines
                .push(format!("TLS connection established: protocol {version}, cipher {cipher}\n"));
        }
        // Misses of generated GETs are reported only with a threshold.
        let tracked = self.options.miss_tracking && !self.style.built_in;
        let threshold = self.options.miss_threshold.or(tracked.then_some(MISS_THRESHOLD));
        let missing = lookups(self.plan, total).into_iter().filter_map(|lookup| {
            let percent = lookup.miss_percent()?;
            let threshold = threshold.filter(|threshold| percent > *threshold)?;
            let Lookup { name, hits, misses, .. } = lookup;
            let all = hits + misses;
            Some(format!(
                "warning: {name} miss rate {percent:.2}% above target {threshold:.2}% ({misses} misses \
                 / {all} ops)\n"
            ))
        });
        lines.extend(missing);
        if matches!(measurement.ending, Ending::Failed(_)) && total.connections.dropped > 0 {
            lines.push("error: the run ended with unrecovered connection errors\n".to_owned());
        }
        lines.extend(self.failed_keys.as_ref().and_then(FailedKeys::end));
        // The server speaks another protocol, or refuses the setup.
        if matches!(measurement.ending, Ending::Failed(_))
            && total.requests() == 0
            && total.connections.dropped == 0
        {
            self.unheard = true;
            lines.push(
                "memtier_benchmark: aborting after the first try: the connection could not be set up. \
                 See --connection-stage-timeout.\n"
                    .to_owned(),
            );
        }
        lines.iter().for_each(|line| self.say(line));
        let errors = &measurement.total.errors;
        let (count, all) = (errors.total(), measurement.total.requests());
        if count > 0 {
            let first = errors.examples().first().map(report::escape).unwrap_or_default();
            self.say(&format!("error: {count} of {all} replies are errors, the first: {first}\n"));
        }
        // Error replies are replies, as in memtier_benchmark.
        if self.unread { Err(ClosedPipe.into()) } else { Ok(!self.unheard) }
    }

    fn end_of_its_own(&self) -> Option<End> {
        self.unheard.then_some(End::Unanswered)
    }
}
