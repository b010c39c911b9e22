//! Figures of running and finished tests in Prometheus's format.
//!
//! Owns the names of the metrics, their labels and the bounds of their buckets;
//! [`exposition`](crate::exposition) writes them. The caller serves them; there is no socket and no clock
//! here. <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use measure::{ConnectStages, Latency, Tally};
use workload::Plan;

use Figure::{Count, Histogram, Number};

use crate::exposition::{Exposition, decimal};
use crate::{OperationFigures, escape};

/// The media type of [`openmetrics`]'s text.
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of latency buckets within a decade.
const STEPS: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0];
/// Decades of the buckets: from 10 microseconds to 100 seconds.
const DECADES_NS: [f64; 7] = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

/// State of one test.
#[derive(Debug, Clone, Default)]
pub struct TestState {
    /// Name of the test, unescaped.
    pub name: String,
    /// Name of the engine.
    pub engine: String,
    /// Set while load runs, the warm-up included.
    pub running: bool,
    /// Set while measuring has yet to begin.
    pub warming_up: bool,
    /// Figures measured so far.
    pub seen: Counters,
    /// Answers per second, of late, counted as `-n` counts.
    pub rate_per_s: f64,
    /// Requests sent and not answered.
    pub in_flight: u64,
    /// Requests due and unsent; `None` in a closed loop.
    pub backlog: Option<u64>,
    /// Connections that are open.
    pub connections: u64,
    /// CPU time of each worker thread since load began, in seconds.
    pub cpu_s: Vec<f64>,
    /// Seconds since measuring began.
    pub elapsed_s: f64,
    /// Completed share of the test, 0 to 1; `None` if it has no end.
    pub progress: Option<f64>,
}

/// Counts and latencies, with coarse buckets instead of the histograms.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    requests: u64,
    /// Answered in time, late, and given up, if there is a deadline.
    deadline: Option<[u64; 3]>,
    errors: Vec<(String, u64)>,
    response: Buckets,
    service: Buckets,
    /// Times of each stage of opening connections, if each carries one request.
    stages: Vec<(&'static str, Buckets)>,
    bytes_out: u64,
    bytes_in: u64,
    operations: Vec<OperationCounters>,
}

/// Counters of one operation of a mix.
#[derive(Debug, Clone)]
struct OperationCounters {
    name: String,
    outcomes: [(&'static str, u64); 3],
    bytes_out: u64,
    bytes_in: u64,
    response: Buckets,
}

impl Counters {
    /// Makes the counters of a tally of this plan.
    pub fn new(plan: &Plan, tally: &Tally) -> Self {
        let operations = OperationFigures::of_plan(plan, tally, 0.0).into_iter();
        Self {
            operations: operations.map(OperationCounters::from_figures).collect(),
            requests: if plan.has_receivers() { tally.succeeded() } else { tally.requests() },
            deadline: tally
                .in_time()
                .zip(tally.deadline)
                .map(|(in_time, of)| [in_time, of.late, of.given_up]),
            errors: tally.errors.by_kind().to_vec(),
            response: Buckets::from_latency(&tally.response()),
            service: Buckets::from_latency(&tally.service()),
            stages: tally.connections.stages.as_deref().map_or_else(Vec::new, |stages| {
                let ConnectStages { connected, tls, login, first_reply } = stages;
                let names = ["connect", "tls", "login", "first-reply"];
                let of = [connected, tls, login, first_reply].map(Buckets::from_latency);
                names.into_iter().zip(of).filter(|(_, of)| of.count > 0).collect()
            }),
            bytes_out: tally.connections.bytes_out,
            bytes_in: tally.connections.bytes_in,
        }
    }

    /// Requests answered, errors included.
    pub fn requests(&self) -> u64 {
        self.requests
    }
}

impl OperationCounters {
    fn from_figures(figures: OperationFigures) -> Self {
        let OperationFigures { name, tally, bytes_out, bytes_in, .. } = figures;
        let outcomes = [("hit", tally.ok), ("miss", tally.missed), ("error", tally.failed)];
        let response = Buckets::from_latency(tally.response());
        Self { name, outcomes, bytes_out, bytes_in, response }
    }
}

/// A histogram with few buckets, each with its own requests only.
#[derive(Debug, Clone)]
struct Buckets {
    /// Upper bounds in seconds with their counts; the last bound is infinite.
    counts: Vec<(f64, u64)>,
    count: u64,
    sum_s: f64,
}

impl Default for Buckets {
    /// Makes empty buckets: Prometheus requires buckets of every histogram.
    fn default() -> Self {
        Self::from_latency(&Latency::new(1))
    }
}

impl Buckets {
    /// Counts a fine bucket that crosses a bound above it, so that a request counted below a bound took at
    /// most that long.
    fn from_latency(latency: &Latency) -> Self {
        let bounds = DECADES_NS.iter().flat_map(|decade| STEPS.map(|step| decade * step));
        let bounds: Vec<f64> = bounds.chain([1e11, f64::INFINITY]).collect();
        // Divided, not multiplied: 1e-9 is no binary fraction, and bounds would read 0.0030000001.
        let mut counts: Vec<_> = bounds.iter().map(|bound| (bound / 1e9, 0)).collect();
        let mut at = 0;
        for (ns, count) in latency.recorded() {
            while ns as f64 > bounds[at] {
                at += 1;
            }
            counts[at].1 += count;
        }
        let count = latency.count();
        Self { counts, count, sum_s: latency.mean_ns().unwrap_or(0.0) * count as f64 / 1e9 }
    }

    /// Writes the lines of a histogram with this name.
    fn write(&self, name: &str, labels: &[(&str, &str)], page: &mut Exposition) {
        page.line(&format!("{name}_sum"), labels, &decimal(self.sum_s));
        page.line(&format!("{name}_count"), labels, &self.count);
        let mut so_far = 0;
        for (bound, count) in &self.counts {
            so_far += count;
            let bound = if bound.is_finite() { decimal(*bound) } else { "+Inf".to_owned() };
            let labels = [&[("le", &*bound)], labels].concat();
            page.line(&format!("{name}_bucket"), &labels, &so_far);
        }
    }
}

/// A figure of a test, which takes one line or several.
enum Figure<'t> {
    Count(u64),
    Number(f64),
    Histogram(&'t Buckets),
}

/// Figures of one test in a family, each with its labels beside those of the test.
type Figures<'t> = Vec<(Vec<(&'static str, String)>, Figure<'t>)>;

/// A figure without labels of its own, if the test has it.
fn plain<'t>(figure: impl IntoIterator<Item = Figure<'t>>) -> Figures<'t> {
    figure.into_iter().map(|figure| (Vec::new(), figure)).collect()
}

/// Figures that this label tells apart.
fn each<'t>(
    label: &'static str,
    figures: impl IntoIterator<Item = (impl Into<String>, Figure<'t>)>,
) -> Figures<'t> {
    figures.into_iter().map(|(name, figure)| (vec![(label, name.into())], figure)).collect()
}

/// A figure of each operation.
fn by_operation(test: &TestState, figure: fn(&OperationCounters) -> Figure<'_>) -> Figures<'_> {
    each("operation", test.seen.operations.iter().map(|of| (&of.name, figure(of))))
}

/// Operations of a test by their outcomes.
fn outcomes(test: &TestState) -> Figures<'_> {
    let operations = test.seen.operations.iter().flat_map(|of| {
        of.outcomes.map(|(outcome, count)| {
            let labels = vec![("operation", of.name.clone()), ("outcome", outcome.to_owned())];
            (labels, Count(count))
        })
    });
    operations.collect()
}

/// A family: its name without prefix and unit, its kind, unit and help, and the figures of a test.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    for<'t> fn(&'t TestState) -> Figures<'t>,
);

/// The families, in order.
const FAMILIES: [Family; 21] = [
    ("requests", "counter", "", "Requests answered, including error replies", |test| {
        plain([Count(test.seen.requests)])
    }),
    ("errors", "counter", "", "Error replies by their first word", |test| {
        each("kind", test.seen.errors.iter().map(|(kind, count)| (escape(kind), Count(*count))))
    }),
    (
        DEADLINE,
        "counter",
        "",
        "What has a deadline: answered in time, answered late, and given up",
        |test| {
            let counts = test.seen.deadline.into_iter().flatten().map(Count);
            each("outcome", ["in_time", "late", "given_up"].into_iter().zip(counts))
        },
    ),
    ("requests_per_second", "gauge", "", "Requests answered in the last second", |test| {
        plain([Number(test.rate_per_s)])
    }),
    (
        "response_time",
        "histogram",
        "seconds",
        "From when a request was due, or sent in a closed loop, to its reply, errors excluded",
        |test| plain([Histogram(&test.seen.response)]),
    ),
    (
        "service_time",
        "histogram",
        "seconds",
        "From when a request was sent to its reply, errors excluded",
        |test| plain([Histogram(&test.seen.service)]),
    ),
    (
        STAGES,
        "histogram",
        "seconds",
        "Each stage of opening a connection, with --connect",
        |test| each("stage", test.seen.stages.iter().map(|(stage, of)| (*stage, Histogram(of)))),
    ),
    ("requests_in_flight", "gauge", "", "Requests sent and not yet answered", |test| {
        plain([Number(test.in_flight as f64)])
    }),
    ("requests_backlog", "gauge", "", "Requests due by the rate and not sent", |test| {
        plain(test.backlog.map(|count| Number(count as f64)))
    }),
    ("connections", "gauge", "", "Connections that are open and ready", |test| {
        plain([Number(test.connections as f64)])
    }),
    ("client_cpu", "counter", "seconds", "CPU time of each worker thread", |test| {
        each("worker", test.cpu_s.iter().enumerate().map(|(at, s)| (at.to_string(), Number(*s))))
    }),
    ("sent", "counter", "bytes", "Bytes of requests", |test| plain([Count(test.seen.bytes_out)])),
    ("received", "counter", "bytes", "Bytes of replies", |test| plain([Count(test.seen.bytes_in)])),
    ("operations", "counter", "", "Operations of a mix that ended, by outcome", outcomes),
    (
        "operation_time",
        "histogram",
        "seconds",
        "From when an operation was due, or sent in a closed loop, to its last reply",
        |test| by_operation(test, |of| Histogram(&of.response)),
    ),
    ("operation_sent", "counter", "bytes", "Bytes of an operation's requests", |test| {
        by_operation(test, |of| Count(of.bytes_out))
    }),
    ("operation_received", "counter", "bytes", "Bytes of the replies to an operation", |test| {
        by_operation(test, |of| Count(of.bytes_in))
    }),
    ("test_elapsed", "gauge", "seconds", "Time since measuring began", |test| {
        plain([Number(test.elapsed_s)])
    }),
    ("test_progress", "gauge", "ratio", "Completed share of the test", |test| {
        plain(test.progress.map(Number))
    }),
    ("test_running", "gauge", "", "1 while load runs", |test| plain([Number(test.running.into())])),
    ("test_warming_up", "gauge", "", "1 during warm-up", |test| {
        plain([Number(test.warming_up.into())])
    }),
];

/// Families that are left out unless a test has them.
const DEADLINE: &str = "deadline";
const STAGES: &str = "connect_stage_time";

/// Writes all tests in every family, in the given order. Names of tests must differ.
pub fn openmetrics(version: &str, tests: &[TestState]) -> String {
    let mut page = Exposition::default();
    page.family("keystorm_build", "info", "This keystorm", "");
    page.line("keystorm_build_info", &[("version", version)], &1);
    for (name, kind, unit, help, figures) in FAMILIES {
        let of_tests: Vec<_> = tests.iter().map(|test| (test, figures(test))).collect();
        if [DEADLINE, STAGES].contains(&name) && of_tests.iter().all(|(_, of)| of.is_empty()) {
            continue;
        }
        let joint = if unit.is_empty() { "" } else { "_" };
        let name = format!("keystorm_{name}{joint}{unit}");
        page.family(&name, kind, help, unit);
        let total = if kind == "counter" { "_total" } else { "" };
        for (test, figures) in of_tests {
            let shown = escape(&test.name);
            for (own, figure) in &figures {
                let mut labels = vec![("test", &*shown), ("engine", &*test.engine)];
                labels.extend(own.iter().map(|(label, value)| (*label, &**value)));
                match figure {
                    Count(count) => page.line(&format!("{name}{total}"), &labels, count),
                    Number(n) => page.line(&format!("{name}{total}"), &labels, &decimal(*n)),
                    Histogram(buckets) => buckets.write(&name, &labels, &mut page),
                }
            }
        }
    }
    page.into_open_metrics()
}

#[cfg(test)]
#[path = "openmetrics_tests.rs"]
mod tests;
