//! `--prometheus-port`: figures over HTTP while runs go on, in the names of the original.
//!
//! Figures are copied from the collector once a second. A page is made for a request, and served again for one
//! second.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cli::console::http::{HttpRequest, HttpResponse, HttpServer};
use measure::{Latency, Tally};

use super::prometheus::Prometheus;
use crate::memtier::layout::{Counters, EXPOSITION_TYPE, Exposition};

/// Time for which a page is good.
const PAGE_LIFE: Duration = Duration::from_secs(1);

/// The HTTP exporter of one run of the program.
pub(super) struct Exporter {
    choices: Prometheus,
    bounds: Vec<f64>,
    runs: u32,
    test_time: u64,
    state: Mutex<State>,
}

/// State that a page shows.
struct State {
    started: SystemTime,
    /// Sums of the runs that have ended, and of the current run.
    ended: Sums,
    current: Sums,
    connections: u64,
    threads: u64,
    run: u32,
    published: Instant,
    renders: u64,
    page: Option<(Instant, String)>,
}

/// Sums of runs.
#[derive(Default)]
struct Sums {
    counters: Counters,
    latency: Option<Latency>,
}

/// State of a run at a moment.
pub(super) struct RunMoment<'n> {
    pub(super) run: u32,
    pub(super) counters: Counters,
    pub(super) total: &'n Tally,
    pub(super) connections: u64,
    pub(super) threads: u64,
}

impl Exporter {
    /// Returns an exporter for `runs` runs, of `test_time` seconds if they end by time.
    pub(super) fn new(choices: &Prometheus, runs: u32, test_time: u64) -> Self {
        let state = State {
            started: SystemTime::now(),
            ended: Sums::default(),
            current: Sums::default(),
            connections: 0,
            threads: 0,
            run: 0,
            published: Instant::now(),
            renders: 0,
            page: None,
        };
        Self {
            bounds: choices.bounds(),
            choices: choices.clone(),
            runs,
            test_time,
            state: Mutex::new(state),
        }
    }

    /// Serves until the returned server is dropped. The text announces the address.
    ///
    /// # Errors
    /// Returns an error if the port is taken, or the address is not this machine's.
    pub(super) fn serve(self: &Arc<Self>) -> io::Result<Option<(HttpServer, String)>> {
        let Some(at) = self.choices.at() else { return Ok(None) };
        let listener = TcpListener::bind(at).map_err(|error| {
            io::Error::new(error.kind(), format!("--prometheus-port: failed to bind {at}: {error}"))
        })?;
        let address = listener.local_addr()?;
        let shown = Arc::clone(self);
        let server = HttpServer::start(listener, "metrics", move |asked| shown.answer(asked))?;
        Ok(Some((server, format!("Prometheus exporter listening on http://{address}/metrics\n"))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows how far a run has come.
    pub(super) fn publish(&self, now: RunMoment<'_>) {
        // Outside the lock: the histograms are large.
        let latency = now.total.service();
        let mut state = self.lock();
        if state.run != now.run {
            let State { ended, current, .. } = &mut *state;
            ended.counters = ended.counters.with(current.counters);
            add(&mut ended.latency, current.latency.take());
        }
        state.run = now.run;
        state.current = Sums { counters: now.counters, latency: Some(latency) };
        (state.connections, state.threads) = (now.connections, now.threads);
        state.published = Instant::now();
    }

    fn answer(&self, asked: &HttpRequest<'_>) -> HttpResponse {
        if asked.method != "GET" {
            return HttpResponse::plain("501 Not Implemented", "only GET is served");
        }
        if asked.path != "/metrics" {
            return HttpResponse::plain("404 Not Found", "keystorm serves /metrics");
        }
        HttpResponse::page(EXPOSITION_TYPE, self.page())
    }

    fn page(&self) -> String {
        let mut state = self.lock();
        if let Some((made, page)) = &state.page
            && made.elapsed() < PAGE_LIFE
        {
            return page.clone();
        }
        state.renders += 1;
        let mut latency = state.current.latency.clone();
        add(&mut latency, state.ended.latency.clone());
        let page = Exposition {
            labels: &self.choices.labels,
            buckets: &self.bounds,
            version: super::VERSION,
            started_s: state.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            counters: state.ended.counters.with(state.current.counters),
            latency: latency.as_ref(),
            connections: state.connections,
            threads: state.threads,
            run: state.run,
            runs: self.runs,
            test_time: self.test_time,
            renders: state.renders,
            age_s: state.published.elapsed().as_secs_f64(),
        }
        .page();
        state.page = Some((Instant::now(), page.clone()));
        page
    }
}

/// Adds latencies to others, if there are any.
fn add(into: &mut Option<Latency>, more: Option<Latency>) {
    match (into, more) {
        (Some(all), Some(more)) => all.merge(&more),
        (none @ None, more) => *none = more,
        (Some(_), None) => {}
    }
}
