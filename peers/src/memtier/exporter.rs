//! `--prometheus-port`: figures over HTTP while runs go on, in the names and buckets of the original.
//!
//! Figures are copied from the collector once a second. A page is made for a request, and served again for one
//! second.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cli::console::http::{HttpRequest, HttpResponse, HttpServer, Service};
use measure::Latency;
use report::exposition::Exposition;

use super::option_list::VERSION;
use super::options::Options;
use crate::memtier::layout::Sum;

/// The media type of the page.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Time for which a page is good.
const PAGE_LIFE: Duration = Duration::from_secs(1);
/// Shortest and longest time in seconds that the original could record.
const LEAST_S: f64 = 1e-5;
const MOST_S: f64 = 600.0;

/// Upper bounds of its buckets in seconds, where no others are asked for.
const BUCKETS: [f64; 26] = [
    0.0001, 0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01,
    0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// The HTTP exporter of one run of the program.
pub(super) struct Exporter {
    options: Arc<Options>,
    started: SystemTime,
    state: Mutex<State>,
}

/// State that a page shows.
struct State {
    /// Sums and latencies of the runs that have ended.
    ended: Vec<Sum>,
    ended_latency: Option<Latency>,
    now: RunMoment,
    published: Instant,
    renders: u64,
    page: Option<(Instant, String)>,
}

/// State of a run at a moment.
#[derive(Default)]
pub(super) struct RunMoment {
    /// Number of the run, from 1; 0 before the first.
    pub(super) run: u32,
    pub(super) sum: Sum,
    pub(super) latency: Option<Latency>,
    /// Connections that are open.
    pub(super) connections: u64,
    pub(super) threads: u64,
}

/// Warnings about where figures are served, and about buckets.
pub(super) fn notes(options: &Options) -> Vec<String> {
    let address = options.prometheus_address.filter(|ip| !ip.is_loopback()).map(|ip| {
        format!(
            "warning: --prometheus-bind-addr: {ip} is not a loopback address: whoever can reach \
             this machine can read the figures"
        )
    });
    let bounds = options.prometheus_buckets.iter().flatten();
    let odd = bounds.copied().find(|bound| !(LEAST_S..=MOST_S).contains(bound)).map(|bound| {
        let what = if bound < LEAST_S {
            "below the 1e-05 s recordable latency floor"
        } else {
            "above the 600 s recordable latency cap"
        };
        format!(
            "warning: --prometheus-latency-buckets: bound {bound} is {what} of \
             memtier_benchmark; here latencies are recorded as they are"
        )
    });
    address.into_iter().chain(odd).collect()
}

/// Address at which figures are served, if they are.
fn address(options: &Options) -> Option<SocketAddr> {
    let address = options.prometheus_address.unwrap_or(Ipv4Addr::LOCALHOST.into());
    options.prometheus_port.map(|port| SocketAddr::new(address, port))
}

impl Exporter {
    /// Returns the exporter of runs with these options.
    pub(super) fn new(options: Arc<Options>) -> Self {
        let state = State {
            ended: Vec::new(),
            ended_latency: None,
            now: RunMoment::default(),
            published: Instant::now(),
            renders: 0,
            page: None,
        };
        Self { options, started: SystemTime::now(), state: Mutex::new(state) }
    }

    /// Serves until the returned server is dropped. The text announces the address.
    ///
    /// # Errors
    /// Returns an error if the port is taken, or the address is not this machine's.
    pub(super) fn serve(self: &Arc<Self>) -> io::Result<Option<(HttpServer, String)>> {
        let Some(at) = address(&self.options) else { return Ok(None) };
        let listener = TcpListener::bind(at).map_err(|error| {
            io::Error::new(error.kind(), format!("--prometheus-port: failed to bind {at}: {error}"))
        })?;
        let address = listener.local_addr()?;
        let server = HttpServer::start(listener, "metrics", Arc::clone(self))?;
        Ok(Some((server, format!("Prometheus exporter listening on http://{address}/metrics\n"))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows how far a run has come.
    pub(super) fn publish(&self, now: RunMoment) {
        let mut state = self.lock();
        let State { ended, ended_latency, now: before, published, .. } = &mut *state;
        let is_next = before.run != now.run;
        let before = std::mem::replace(before, now);
        if is_next {
            ended.push(before.sum);
            add(ended_latency, before.latency);
        }
        *published = Instant::now();
    }

    fn page(&self) -> String {
        let mut state = self.lock();
        if let Some((made, page)) = &state.page
            && made.elapsed() < PAGE_LIFE
        {
            return page.clone();
        }
        state.renders += 1;
        let page = self.rendered(&state);
        state.page = Some((Instant::now(), page.clone()));
        page
    }

    fn rendered(&self, state: &State) -> String {
        let options = &self.options;
        let labels = options.prometheus_labels.iter();
        let labels: Vec<_> = labels.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut page = Exposition::new(&labels);
        let build = [("version", VERSION), ("git_sha", "00000000")];
        page.family("memtier_build_info", "gauge", "The program that measures", "");
        page.line("memtier_build_info", &build, &1);
        page.one(
            "memtier_start_time_seconds",
            "gauge",
            "When the program was started, since 1970",
            &format_args!(
                "{:.3}",
                self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
            ),
        );
        let RunMoment { run, sum, latency, connections, threads } = &state.now;
        let sums = state.ended.iter().chain([sum]);
        let built_in = options.commands.is_empty();
        for (name, help, of) in COUNTERS {
            let count: u64 = sums.clone().map(|sum| of(sum, built_in)).sum();
            page.one(&format!("memtier_{name}_total"), "counter", help, &count);
        }
        for (name, help, value) in [
            ("connections", "Connections that are open", *connections),
            ("threads", "Threads that send requests", *threads),
            ("run", "Number of the run, 0 before the first", u64::from(*run)),
            ("configured_runs", "How many runs there will be", options.run_count.into()),
            (
                "config_test_time_seconds",
                "Length of a run, 0 if it ends by requests",
                options.test_time.unwrap_or_default(),
            ),
        ] {
            page.one(&format!("memtier_{name}"), "gauge", help, &value);
        }
        let mut latency = latency.clone();
        add(&mut latency, state.ended_latency.clone());
        let bounds = options.prometheus_buckets.as_deref().unwrap_or(&BUCKETS);
        histogram(latency.as_ref(), bounds, &mut page);
        page.one(
            "memtier_exporter_renders_total",
            "counter",
            "Pages made, not counting repeats",
            &state.renders,
        );
        page.one(
            "memtier_exporter_snapshot_age_seconds",
            "gauge",
            "How old these figures are",
            &format_args!("{:.3}", state.published.elapsed().as_secs_f64()),
        );
        page.into_text()
    }
}

impl Service for Exporter {
    fn answer(&self, asked: &HttpRequest<'_>) -> HttpResponse {
        if asked.method != "GET" {
            return HttpResponse::plain("501 Not Implemented", "only GET is served");
        }
        if asked.path != "/metrics" {
            return HttpResponse::plain("404 Not Found", "keystorm serves /metrics");
        }
        HttpResponse::page(MEDIA_TYPE, self.page())
    }
}

/// A counter: its name, its help, and what it counts, which for lookups depends on whether these are of generated GETs.
type Counter = (&'static str, &'static str, fn(&Sum, bool) -> u64);

const COUNTERS: [Counter; 11] = [
    ("ops", "Requests that were answered", |sum, _| sum.requests),
    ("sent_bytes", "Bytes of requests", |sum, _| sum.sent),
    ("received_bytes", "Bytes of replies", |sum, _| sum.received),
    ("hits", "Keys that GETs found", |sum, gets| if gets { sum.lookups[0] } else { 0 }),
    ("misses", "Keys that GETs did not find", |sum, gets| if gets { sum.lookups[1] } else { 0 }),
    ("errors", "Error replies", |sum, _| sum.errors),
    ("connection_errors", "Connections that were lost", |sum, _| sum.lost),
    ("retry_attempts", "How often requests were sent again", |sum, _| sum.retries),
    ("retried_ops", "Requests that were sent again", |sum, _| sum.retried),
    ("arbitrary_hits", "Lookups of commands given with --command that hit", |sum, gets| {
        if gets { 0 } else { sum.lookups[0] }
    }),
    ("arbitrary_misses", "Lookups of commands given with --command that missed", |sum, gets| {
        if gets { 0 } else { sum.lookups[1] }
    }),
];

/// The histogram of latencies, with buckets up to these bounds in seconds.
fn histogram(latency: Option<&Latency>, bounds: &[f64], page: &mut Exposition) {
    const NAME: &str = "memtier_latency_seconds";
    page.family(NAME, "histogram", "Latency of all requests but those with error replies", "");
    let recorded = || latency.into_iter().flat_map(Latency::recorded);
    for bound in bounds {
        // Divided, not multiplied, so that a bound is compared as it is written.
        let within = recorded().filter(|(ns, _)| *ns as f64 / 1e9 <= *bound);
        let count: u64 = within.map(|(_, count)| count).sum();
        page.line(&format!("{NAME}_bucket"), &[("le", &bound.to_string())], &count);
    }
    let count: u64 = recorded().map(|(_, count)| count).sum();
    let mean_ns = latency.and_then(Latency::mean_ns).unwrap_or_default();
    page.line(&format!("{NAME}_bucket"), &[("le", "+Inf")], &count);
    page.line(&format!("{NAME}_count"), &[], &count);
    page.line(&format!("{NAME}_sum"), &[], &format_args!("{:.9}", mean_ns * count as f64 / 1e9));
}

/// Adds latencies to others, if there are any.
fn add(into: &mut Option<Latency>, more: Option<Latency>) {
    match (into, more) {
        (Some(all), Some(more)) => all.merge(&more),
        (none @ None, more) => *none = more,
        (Some(_), None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtier::options::tests::parsed;

    fn page(line: &str, latency: Option<Latency>) -> String {
        let exporter = Exporter::new(Arc::new(parsed(line).unwrap()));
        let sum = Sum { requests: 7, lookups: [0, 1], ..Sum::default() };
        let moment = RunMoment { run: 1, sum, latency, connections: 4, threads: 2 };
        exporter.publish(moment);
        let sum = Sum { requests: 1, ..sum };
        exporter.publish(RunMoment { run: 2, sum, ..RunMoment::default() });
        exporter.page()
    }

    #[test]
    fn buckets_are_cumulative_and_bounds_are_written_as_they_were_asked_for() {
        let mut latency = Latency::new(4);
        for us in [90, 90, 4000, 70_000_000] {
            latency.record_n(us * 1000, 1);
        }
        let page = page("--command PING", Some(latency));
        for line in [
            "memtier_latency_seconds_bucket{le=\"0.0001\"} 2",
            "memtier_latency_seconds_bucket{le=\"0.005\"} 3",
            "memtier_latency_seconds_bucket{le=\"60\"} 3",
            "memtier_latency_seconds_bucket{le=\"+Inf\"} 4",
            "memtier_latency_seconds_count 4",
            "memtier_ops_total 8",
            "memtier_misses_total 0",
            "memtier_arbitrary_misses_total 2",
            "memtier_build_info{version=\"2.4.4\",git_sha=\"00000000\"} 1",
        ] {
            assert!(page.lines().any(|known| known == line), "{line} in\n{page}");
        }
    }

    #[test]
    fn labels_are_on_every_line_and_escaped() {
        let page = page(r#"--prometheus-run-label note=a"b\c"#, None);
        let label = r#"note="a\"b\\c""#;
        assert!(page.lines().all(|line| line.starts_with('#') || line.contains(label)), "{page}");
        assert!(
            page.contains("memtier_latency_seconds_bucket{note=\"a\\\"b\\\\c\",le=\"+Inf\"} 0\n")
        );
    }

    #[test]
    fn bounds_that_the_original_cannot_record_and_open_addresses_are_noted() {
        for (good, text) in [
            ("0.001,0.005,0.05", None),
            ("0.000005,700", Some("below the 1e-05 s")),
            ("1,86400", Some("above the 600 s")),
        ] {
            let options = parsed(&format!("--prometheus-latency-buckets {good}")).unwrap();
            let notes = notes(&options);
            assert_eq!(notes.len(), usize::from(text.is_some()), "{notes:?}");
            assert!(text.is_none_or(|text| notes[0].contains(text)), "{notes:?}");
        }
        let options = parsed("--prometheus-bind-addr [::1] --prometheus-port 0").unwrap();
        assert_eq!(notes(&options).len(), 0);
        assert_eq!(address(&options).unwrap().to_string(), "[::1]:0");
    }
}
