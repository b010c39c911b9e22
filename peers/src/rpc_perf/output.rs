//! Output during a run: windows on standard output, the file of metrics, the admin port.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use cli::console::diagnostics::{self, ClosedPipe};
use cli::console::print;
use cli::job::{End, RunMonitor, ToolOutput};
use measure::Ending;
use report::{Format, Run, Summary};
use runner::{INTERVAL_NS, LiveRate, Observer, Snapshot};
use tempfile::NamedTempFile;
use workload::{Plan, Stop};

use super::VERSION;
use super::admin::{Admin, Throttle};
use super::config::{Config, General, Histogram, Metrics, MetricsFormat};
use super::verb::Protocol;
use crate::rpc_perf::layout::{
    self, Figures, Line, Role, Roles, Snapshot as Shown, Window, stamped,
};

const NS_PER_S: u64 = 1_000_000_000;

/// The reports of a run, and where each goes.
pub(super) struct Reports {
    pub(super) config: Arc<Config>,
    /// Role of each operation in the reports.
    pub(super) roles: Vec<Role>,
    /// Set if several clients carry it out.
    pub(super) several: bool,
}

impl ToolOutput for Reports {
    fn format(&self) -> Box<dyn Format> {
        Box::new(Head { protocol: self.config.general.protocol })
    }

    fn monitor<'p>(
        &self,
        plan: &'p Plan,
        _run: u32,
        interrupted: &'p AtomicBool,
    ) -> Box<dyn RunMonitor + 'p> {
        Box::new(Windows {
            plan,
            roles: Roles::new(plan, self.roles.clone()),
            config: Arc::clone(&self.config),
            printed: 0,
            window: Figures::default(),
            shown: Shown::default(),
            file: None,
            admin: None,
            rate: LiveRate::from_plan(plan).filter(|_| !self.several).map(Arc::new),
            unread: false,
            interrupted,
        })
    }
}

/// The lines before the first window. A run has no report behind its windows.
struct Head {
    protocol: Protocol,
}

impl Format for Head {
    fn begin(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let now = SystemTime::now();
        let protocol = stamped(now, &format!("Protocol: {:?}", self.protocol));
        let version = stamped(now, &format!("rpc-perf {VERSION}"));
        out.write_all((protocol + &version).as_bytes())?;
        out.flush()
    }

    fn each(&mut self, _: &Summary<'_>, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }
}

/// Watches a run.
struct Windows<'p> {
    plan: &'p Plan,
    roles: Roles,
    config: Arc<Config>,
    /// Number of windows printed so far.
    printed: u64,
    /// Figures since the last window.
    window: Figures,
    shown: Shown,
    file: Option<File>,
    admin: Option<Admin>,
    /// Handle by which its rate may be changed.
    rate: Option<Arc<LiveRate>>,
    /// Set once the output is closed.
    unread: bool,
    interrupted: &'p AtomicBool,
}

/// The file of metrics, in its place when the run has ended.
struct File {
    metrics: Metrics,
    text: NamedTempFile,
    /// Result of writing so far.
    written: std::io::Result<()>,
    every_ns: u64,
    /// Time at which the next line is due.
    next_ns: u64,
}

impl File {
    fn create(metrics: &Metrics) -> Result<Self> {
        let dir = Path::new(&metrics.output).parent().filter(|dir| !dir.as_os_str().is_empty());
        let text = NamedTempFile::new_in(dir.unwrap_or(Path::new(".")));
        let text = text.with_context(|| format!("[metrics] output: {}", metrics.output))?;
        // As often as figures come, at most.
        let every_ns = u64::try_from(metrics.interval.as_nanos()).unwrap_or(u64::MAX);
        let every_ns = every_ns.div_ceil(INTERVAL_NS).saturating_mul(INTERVAL_NS);
        Ok(Self { metrics: metrics.clone(), text, written: Ok(()), every_ns, next_ns: every_ns })
    }

    /// Adds the lines that are due up to that time.
    fn add_until(&mut self, elapsed_ns: u64, shown: &Shown) {
        while elapsed_ns >= self.next_ns && self.written.is_ok() {
            self.next_ns = self.next_ns.saturating_add(self.every_ns);
            let every = Duration::from_nanos(self.every_ns);
            let metrics = layout::Metrics::new(shown);
            let sparse = self.metrics.histogram == Histogram::Sparse;
            let line = Line::new(&metrics, SystemTime::now(), every, sparse);
            let line = match self.metrics.format {
                MetricsFormat::Json => line.json(),
                MetricsFormat::Msgpack => line.packed(),
            };
            self.written = line.and_then(|line| self.text.write_all(&line));
        }
    }

    fn end(self) -> Result<()> {
        let Self { metrics: Metrics { output, .. }, text, written, .. } = self;
        let fault = || format!("[metrics] output: {output}");
        written.with_context(fault)?;
        text.persist(&output).with_context(fault)?;
        Ok(())
    }
}

impl Windows<'_> {
    /// Prints a window with the figures since the last one.
    fn print(&mut self) {
        let window = Window {
            number: self.printed,
            seconds: self.config.general.interval.into(),
            open: self.shown.open,
            figures: &self.window,
        };
        let now = SystemTime::now();
        let text: String = window.lines().iter().map(|line| stamped(now, line)).collect();
        self.unread |= print::text(&text).is_err_and(|error| error.is::<ClosedPipe>());
        self.printed += 1;
        self.shown.window = std::mem::take(&mut self.window);
    }

    /// Prints the windows that end up to that time, and writes the metrics that are due.
    fn tell_until(&mut self, elapsed_ns: u64) {
        let General { interval, duration, .. } = self.config.general;
        let windows = u64::from(duration / interval);
        let every_ns = u64::from(interval) * NS_PER_S;
        while self.printed < windows && elapsed_ns >= (self.printed + 1) * every_ns {
            self.print();
        }
        if let Some(file) = &mut self.file {
            file.add_until(elapsed_ns, &self.shown);
        }
    }

    /// The rate at a time, in requests per second; 0 without one.
    fn rate_at(&self, elapsed_ns: u64) -> u64 {
        let planned = || self.plan.load.pace.schedule().map_or(0.0, |s| s.rate_at(elapsed_ns));
        self.rate.as_ref().map_or_else(planned, |rate| rate.at(elapsed_ns)) as u64
    }
}

impl Observer for Windows<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        if self.unread || self.admin.as_ref().is_some_and(Admin::ends) {
            self.interrupted.store(true, Ordering::Relaxed);
        }
        if snapshot.warming_up {
            return;
        }
        // Idle intervals may have been skipped: catch up first.
        self.tell_until(snapshot.elapsed_ns.saturating_sub(snapshot.span_ns));
        let figures = Figures::new(&self.roles, snapshot.tally);
        self.window.merge(&figures);
        self.shown.total.merge(&figures);
        // The first connections were opened before anything was measured.
        self.shown.total.opened = snapshot.total.connections.connect.count();
        self.shown.open = snapshot.gauges.iter().map(|gauges| u64::from(gauges.connections)).sum();
        let now = snapshot.elapsed_ns;
        self.shown.rate = self.rate_at(now);
        self.tell_until(now);
        if let Some(admin) = &self.admin {
            admin.show(&self.shown);
        }
    }
}

impl RunMonitor for Windows<'_> {
    fn begin(&mut self) -> Result<()> {
        self.file = self.config.metrics.as_ref().map(File::create).transpose()?;
        let throttle = match (&self.rate, self.plan.load.pace.schedule()) {
            (Some(rate), _) => Throttle::Live(Arc::clone(rate)),
            (None, Some(_)) => Throttle::Shared,
            (None, None) => Throttle::Unlimited,
        };
        let admin = Admin::start(&self.config.general.admin, throttle)?;
        // Requests before the first figures see the initial rate.
        self.shown.rate = self.rate_at(0);
        admin.show(&self.shown);
        self.admin = Some(admin);
        Ok(())
    }

    fn end(&mut self, run: &Run) -> Result<bool> {
        let measurement = &run.measurement;
        if let (Ending::Complete, Stop::AfterNs(ns)) = (&measurement.ending, self.plan.load.stop) {
            self.tell_until(ns);
        }
        if let Some(file) = self.file.take() {
            file.end()?;
        }
        if self.unread {
            return Err(ClosedPipe.into());
        }
        let (total, connections) = (&measurement.total, &measurement.total.connections);
        let (errors, requests) = (total.errors.total(), total.requests());
        if requests > 0 && errors == requests {
            let first = total.errors.examples().first().map(report::escape).unwrap_or_default();
            diagnostics::say(format_args!(
                "rpc-perf: every reply is an error; the first: {first}"
            ))?;
            return Ok(false);
        }
        if connections.dropped > 0 {
            diagnostics::say(format_args!(
                "rpc-perf: {} connections were lost with {} requests",
                connections.dropped, connections.lost
            ))?;
            return Ok(false);
        }
        Ok(true)
    }

    fn end_of_its_own(&self) -> Option<End> {
        // Asked for over HTTP, it is as complete as any.
        self.admin.as_ref().is_some_and(Admin::ends).then_some(End::Complete)
    }

    fn rate(&self) -> Option<Arc<LiveRate>> {
        self.rate.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_a_line_for_each_interval_however_figures_come() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.json");
        let metrics = Metrics {
            output: path.display().to_string(),
            interval: Duration::from_millis(300),
            histogram: Histogram::Sparse,
            format: MetricsFormat::Json,
            batch_size: None,
        };
        let mut file = File::create(&metrics).unwrap();
        // Every half a second, as figures come in quarters.
        for (elapsed_ms, lines) in [(250, 0), (500, 1), (1750, 3), (1750, 3), (2000, 4)] {
            file.add_until(elapsed_ms * 1_000_000, &Shown::default());
            let text = std::fs::read_to_string(file.text.path()).unwrap();
            assert_eq!(text.lines().count(), lines, "{elapsed_ms}");
        }
        assert!(!path.exists(), "it is there when the run has ended");
        file.end().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4);
    }
}
