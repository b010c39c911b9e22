//! `--metrics`: figures over HTTP while tests run.
//!
//! Workers are not disturbed: figures are copied from the collector's data, on its thread, and converted to
//! text on the serving thread upon request. No worker takes the lock.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::job::MetricsAt;
use anyhow::{Context, Result, anyhow};
use measure::Ending;
use naming::METRICS;
use report::{Counters, OPENMETRICS_TYPE, Run, TestState, openmetrics};
use runner::{FailedRequests, Observer, Snapshot};
use workload::{Plan, Stop};

use crate::console::diagnostics::{self, Diagnostics};
use crate::console::http::{HttpRequest, HttpResponse, HttpServer, Service};

/// Span of the mean rate: one second.
const RATE_SPAN_NS: u64 = 1_000_000_000;

/// Server of the figures, until it is dropped.
pub struct Metrics {
    tests: Arc<Tests>,
    _server: HttpServer,
}

/// The tests so far; the last one may be running.
#[derive(Default)]
struct Tests(Mutex<Vec<TestState>>);

impl Tests {
    /// Locks the tests, even after a panic of a thread, which leaves no partial data that matters.
    fn lock(&self) -> MutexGuard<'_, Vec<TestState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        let mut tests = self.lock().clone();
        // Until the engine is known, lines would be of another series than those that follow.
        tests.retain(|test| !test.engine.is_empty());
        openmetrics(env!("CARGO_PKG_VERSION"), &tests)
    }
}

impl Service for Tests {
    fn answer(&self, asked: &HttpRequest<'_>) -> HttpResponse {
        if !asked.reads() {
            return HttpResponse::not_allowed("GET, HEAD");
        }
        if asked.path != "/metrics" {
            return HttpResponse::plain("404 Not Found", "keystorm serves /metrics");
        }
        HttpResponse::page(OPENMETRICS_TYPE, self.text())
    }
}

impl Metrics {
    /// Listens at this address.
    ///
    /// # Errors
    /// Returns an error if it cannot listen: the port is taken, or the address is not this machine's.
    pub fn serve(at: &MetricsAt, remarks: &Diagnostics) -> Result<Self> {
        let listener = listen(at, METRICS)?;
        let address = listener.local_addr().context(METRICS)?;
        if !address.ip().is_loopback() {
            remarks.say(format_args!(
                "warning: anyone who can reach this machine can read the metrics on {address}"
            ))?;
        }
        let tests = Arc::new(Tests::default());
        let server = HttpServer::start(listener, "metrics", Arc::clone(&tests))
            .with_context(|| format!("{METRICS}: starting to serve"))?;
        let text = format!("Metrics on http://{address}/metrics");
        // Nobody else can know which port it is.
        if at.port == 0 {
            diagnostics::say(text)?
        } else {
            remarks.say(text)?
        }
        Ok(Self { tests, _server: server })
    }

    /// Starts to watch a test that is about to run.
    pub fn watch<'p>(&self, plan: &'p Plan) -> Watch<'p> {
        let state = TestState { name: plan.name.clone(), running: true, ..TestState::default() };
        let mut tests = self.tests.lock();
        // A name that comes again, as with -l, starts anew: two of one name would be one series.
        tests.retain(|test| test.name != plan.name);
        tests.push(state);
        Watch { plan, tests: Arc::clone(&self.tests), recent: RateWindow::default() }
    }
}

/// Listens at an address from this option.
///
/// # Errors
/// Returns an error if the port is taken, or the address is not this machine's.
pub fn listen(at: &MetricsAt, option: impl Display) -> Result<TcpListener> {
    let MetricsAt { host, port } = at;
    TcpListener::bind((host.as_str(), *port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow!("{option}: {at} is in use; choose another port")
        }
        _ => anyhow!("{option}: cannot listen on {at}: {}", engine::error_text(&error)),
    })
}

/// Requests of the last intervals, and how long each was.
#[derive(Default)]
struct RateWindow {
    intervals: VecDeque<(u64, u64)>,
}

impl RateWindow {
    /// Adds an interval. Returns the rate over the last second.
    fn rate_per_s(&mut self, requests: u64, span_ns: u64) -> f64 {
        self.intervals.push_back((requests, span_ns));
        let spans = |recent: &Self| recent.intervals.iter().map(|(_, ns)| ns).sum::<u64>();
        while self.intervals.len() > 1 && spans(self) > RATE_SPAN_NS {
            self.intervals.pop_front();
        }
        let requests: u64 = self.intervals.iter().map(|(requests, _)| requests).sum();
        requests as f64 / (spans(self) as f64 / 1e9)
    }
}

/// Watches one test.
pub struct Watch<'p> {
    plan: &'p Plan,
    tests: Arc<Tests>,
    recent: RateWindow,
}

impl Watch<'_> {
    /// Ends the test: the report's figures are served from now on.
    pub fn ended(self, run: &Run) {
        let measured = &run.measurement;
        let seen = Counters::new(self.plan, &measured.total);
        let mut tests = self.tests.lock();
        let Some(state) = tests.last_mut() else { return };
        state.engine.clone_from(&measured.engine);
        state.seen = seen;
        state.elapsed_s = measured.elapsed_ns as f64 / 1e9;
        state.cpu_s = measured.workers.iter().map(|w| w.cpu_ns as f64 / 1e9).collect();
        (state.running, state.warming_up) = (false, false);
        (state.in_flight, state.connections, state.rate_per_s) = (0, 0, 0.0);
        state.backlog = state.backlog.map(|_| 0);
        if measured.ending == Ending::Complete {
            state.progress = state.progress.map(|_| 1.0);
        }
    }
}

impl Observer for Watch<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let Snapshot { point, span_ns, warming_up, total, gauges, engine, elapsed_ns, .. } =
            *snapshot;
        let in_flight = gauges.iter().map(|w| w.in_flight).sum();
        let done = total.operations_ended();
        let left = self.plan.own_requests().map(|n| n.saturating_sub(done + in_flight));
        let backlog = gauges.iter().map(|w| w.backlog).sum::<Option<u64>>();
        let share = match (self.plan.load.stop, self.plan.own_requests()) {
            (Stop::AfterNs(ns), _) => Some(elapsed_ns as f64 / ns as f64),
            (Stop::Requests(_), n) => n.map(|n| done as f64 / n as f64),
        };
        // Outside the lock: the histograms are large.
        let seen = if warming_up { Counters::default() } else { Counters::new(self.plan, total) };
        let rate_per_s = self.recent.rate_per_s(point.requests, span_ns);
        let mut tests = self.tests.lock();
        let Some(state) = tests.last_mut() else { return };
        *state = TestState {
            name: std::mem::take(&mut state.name),
            engine: engine.to_owned(),
            running: true,
            warming_up,
            seen,
            rate_per_s,
            in_flight,
            // The schedule goes on where the requests of -n end.
            backlog: backlog.map(|n| if warming_up { n } else { n.min(left.unwrap_or(n)) }),
            connections: gauges.iter().map(|w| u64::from(w.connections)).sum(),
            cpu_s: gauges.iter().map(|w| w.cpu_ns as f64 / 1e9).collect(),
            elapsed_s: if warming_up { 0.0 } else { elapsed_ns as f64 / 1e9 },
            progress: share.map(|s| if warming_up { 0.0 } else { s.min(1.0) }),
        };
    }
}

/// Two observers of one run, of which the second is optional.
pub struct ObserverPair<'o, A, B>(pub &'o mut A, pub Option<&'o mut B>);

impl<A: Observer, B: Observer> Observer for ObserverPair<'_, A, B> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        self.0.interval(snapshot);
        if let Some(second) = &mut self.1 {
            second.interval(snapshot);
        }
    }

    fn failed(&mut self, failed: &FailedRequests) {
        self.0.failed(failed);
        if let Some(second) = &mut self.1 {
            second.failed(failed);
        }
    }
}
