//! Figures of running and finished tests in Prometheus's format.
//!
//! Owns the names of the metrics, their labels and the bounds of their buckets;
//! [`exposition`](crate::exposition) writes them. The caller serves them; there is no socket and no clock
//! here. <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use std::fmt::Display;

use measure::{ConnectStages, Latency, OperationTally, Tally};
use workload::Plan;

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
    succeeded: u64,
    misses: u64,
    errors: u64,
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
        let response = Buckets::from_latency(tally.response());
        let OperationTally { ok: succeeded, missed: misses, failed: errors, .. } = tally;
        Self { name, succeeded, misses, errors, bytes_out, bytes_in, response }
    }

    fn label(&self) -> (&'static str, String) {
        ("operation", self.name.clone())
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
}

/// Writes all tests in every family, in the given order. Names of tests must differ.
pub fn openmetrics(version: &str, tests: &[TestState]) -> String {
    let mut page = Page { text: Exposition::default(), tests };
    page.text.family("keystorm_build", "info", "This keystorm", "");
    page.text.line("keystorm_build_info", &[("version", version)], &1);
    page.requests();
    page.connections();
    page.operations();
    page.progress();
    page.text.into_open_metrics()
}

/// Labels of one line beside those of its test.
type Labels = Vec<(&'static str, String)>;

/// The families in order, each with a line or histogram for every test with that figure.
struct Page<'t> {
    text: Exposition,
    tests: &'t [TestState],
}

impl Page<'_> {
    fn requests(&mut self) {
        self.counter("requests", "Requests answered, including error replies", |test| {
            test.seen.requests
        });
        self.counters("errors", "", "Error replies by their first word", |test| {
            let kinds = test.seen.errors.iter();
            kinds.map(|(kind, n)| (vec![("kind", escape(kind).to_string())], *n)).collect()
        });
        if self.tests.iter().any(|test| test.seen.deadline.is_some()) {
            let help = "What has a deadline: answered in time, answered late, and given up";
            self.counters("deadline", "", help, |test| {
                let outcomes = ["in_time", "late", "given_up"].into_iter();
                let counted = outcomes.zip(test.seen.deadline.into_iter().flatten());
                counted.map(|(outcome, n)| (vec![("outcome", outcome.to_owned())], n)).collect()
            });
        }
        self.gauge("requests_per_second", "", "Requests answered in the last second", |test| {
            Some(test.rate_per_s)
        });
        self.histograms(
            "response_time",
            "From when a request was due, or sent in a closed loop, to its reply, errors excluded",
            |test| vec![(vec![], &test.seen.response)],
        );
        self.histograms(
            "service_time",
            "From when a request was sent to its reply, errors excluded",
            |test| vec![(vec![], &test.seen.service)],
        );
        // One connection per request: where there is none, the family is left out.
        if self.tests.iter().any(|test| !test.seen.stages.is_empty()) {
            self.histograms(
                "connect_stage_time",
                "Each stage of opening a connection, with --connect",
                |test| {
                    let stages = test.seen.stages.iter();
                    stages.map(|(stage, of)| (vec![("stage", (*stage).to_owned())], of)).collect()
                },
            );
        }
        self.gauge("requests_in_flight", "", "Requests sent and not yet answered", |test| {
            Some(test.in_flight as f64)
        });
        self.gauge("requests_backlog", "", "Requests due by the rate and not sent", |test| {
            test.backlog.map(|n| n as f64)
        });
    }

    fn connections(&mut self) {
        self.gauge("connections", "", "Connections that are open and ready", |test| {
            Some(test.connections as f64)
        });
        self.lines("client_cpu", "counter", "seconds", "CPU time of each worker thread", |test| {
            let workers = test.cpu_s.iter().enumerate();
            workers.map(|(n, s)| (vec![("worker", n.to_string())], decimal(*s))).collect()
        });
        self.counters("sent", "bytes", "Bytes of requests", |test| {
            vec![(vec![], test.seen.bytes_out)]
        });
        self.counters("received", "bytes", "Bytes of replies", |test| {
            vec![(vec![], test.seen.bytes_in)]
        });
    }

    fn operations(&mut self) {
        self.counters("operations", "", "Operations of a mix that ended, by outcome", |test| {
            let outcomes = test.seen.operations.iter().flat_map(|o| {
                let counts = [("hit", o.succeeded), ("miss", o.misses), ("error", o.errors)];
                counts.map(|(outcome, n)| (vec![o.label(), ("outcome", outcome.to_owned())], n))
            });
            outcomes.collect()
        });
        self.histograms(
            "operation_time",
            "From when an operation was due, or sent in a closed loop, to its last reply",
            |test| {
                let operations = test.seen.operations.iter();
                operations.map(|o| (vec![o.label()], &o.response)).collect()
            },
        );
        let sent: fn(&OperationCounters) -> u64 = |o| o.bytes_out;
        let received: fn(&OperationCounters) -> u64 = |o| o.bytes_in;
        for (name, help, bytes_of) in [
            ("operation_sent", "Bytes of an operation's requests", sent),
            ("operation_received", "Bytes of the replies to an operation", received),
        ] {
            self.counters(name, "bytes", help, |test| {
                let operations = test.seen.operations.iter();
                operations.map(|o| (vec![o.label()], bytes_of(o))).collect()
            });
        }
    }

    fn progress(&mut self) {
        let share = |is: bool| Some(f64::from(u8::from(is)));
        self.gauge("test_elapsed", "seconds", "Time since measuring began", |test| {
            Some(test.elapsed_s)
        });
        self.gauge("test_progress", "ratio", "Completed share of the test", |test| test.progress);
        self.gauge("test_running", "", "1 while load runs", |test| share(test.running));
        self.gauge("test_warming_up", "", "1 during warm-up", |test| share(test.warming_up));
    }

    fn gauge(
        &mut self,
        name: &str,
        unit: &str,
        help: &str,
        figure: impl Fn(&TestState) -> Option<f64>,
    ) {
        self.lines(name, "gauge", unit, help, |test| {
            figure(test).map(|value| (vec![], decimal(value))).into_iter().collect()
        });
    }

    fn counter(&mut self, name: &str, help: &str, figure: impl Fn(&TestState) -> u64) {
        self.counters(name, "", help, |test| vec![(vec![], figure(test))]);
    }

    fn counters(
        &mut self,
        name: &str,
        unit: &str,
        help: &str,
        figures: impl Fn(&TestState) -> Vec<(Labels, u64)>,
    ) {
        self.lines(name, "counter", unit, help, |test| {
            figures(test).into_iter().map(|(labels, n)| (labels, n.to_string())).collect()
        });
    }

    fn lines(
        &mut self,
        name: &str,
        kind: &str,
        unit: &str,
        help: &str,
        figures: impl Fn(&TestState) -> Vec<(Labels, String)>,
    ) {
        let name = full(name, unit);
        self.text.family(&name, kind, help, unit);
        let name = if kind == "counter" { name + "_total" } else { name };
        for test in self.tests {
            for (own, value) in figures(test) {
                self.line(&name, test, &own, None, &value);
            }
        }
    }

    fn histograms<'t>(
        &mut self,
        name: &str,
        help: &str,
        figures: impl Fn(&'t TestState) -> Vec<(Labels, &'t Buckets)>,
    ) where
        Self: 't,
    {
        let name = full(name, "seconds");
        self.text.family(&name, "histogram", help, "seconds");
        for test in self.tests {
            for (own, Buckets { counts, count, sum_s }) in figures(test) {
                self.line(&format!("{name}_sum"), test, &own, None, &decimal(*sum_s));
                self.line(&format!("{name}_count"), test, &own, None, count);
                let mut so_far = 0;
                for (bound, count) in counts {
                    so_far += count;
                    let bound = if bound.is_finite() { decimal(*bound) } else { "+Inf".to_owned() };
                    self.line(&format!("{name}_bucket"), test, &own, Some(&bound), &so_far);
                }
            }
        }
    }

    /// Writes a line with the labels of its test; `bound` is for buckets.
    fn line(
        &mut self,
        name: &str,
        test: &TestState,
        own: &Labels,
        bound: Option<&str>,
        value: &dyn Display,
    ) {
        let shown = escape(&test.name).to_string();
        let mut labels: Vec<(&str, &str)> = bound.map(|bound| ("le", bound)).into_iter().collect();
        labels.extend([("test", shown.as_str()), ("engine", test.engine.as_str())]);
        labels.extend(own.iter().map(|(name, value)| (*name, value.as_str())));
        self.text.line(name, &labels, value);
    }
}

/// The name of a family, which ends in its unit.
fn full(name: &str, unit: &str) -> String {
    let joint = if unit.is_empty() { "" } else { "_" };
    format!("keystorm_{name}{joint}{unit}")
}

#[cfg(test)]
#[path = "openmetrics_tests.rs"]
mod tests;
