//! The figures of tests that are under way or done, in the format that Prometheus reads.
//!
//! Owns the names of the metrics, their labels and the bounds of their buckets; how they are
//! written is the business of `prometheus-client`. Who asks for them, and when, is left to the
//! caller: there is no socket and no clock here.
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use std::fmt;

use measure::{Latency, Tally};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use workload::Plan;

use crate::{OperationFigures, escape};

/// The media type of [`openmetrics`]'s text.
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of latency buckets within a decade.
const STEPS: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0];
/// The decades: from 10 microseconds to 100 seconds.
const DECADES_NS: [f64; 7] = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

/// How far one test is.
#[derive(Debug, Clone, Default)]
pub struct TestState {
    /// Its name, unescaped.
    pub name: String,
    /// The engine that moves its bytes.
    pub engine: String,
    /// Whether load runs, the warm-up included.
    pub running: bool,
    /// Whether measuring has yet to begin.
    pub warming_up: bool,
    /// What was measured so far.
    pub seen: Seen,
    /// Requests answered per second, of late.
    pub rate_per_s: f64,
    /// Requests sent and not answered.
    pub in_flight: u64,
    /// Requests due and not sent; `None` in a closed loop.
    pub backlog: Option<u64>,
    /// Connections that are open.
    pub connections: u64,
    /// CPU time of each worker thread since load began, in seconds.
    pub cpu_s: Vec<f64>,
    /// Seconds since measuring began.
    pub elapsed_s: f64,
    /// Share of the test that is done, 0 to 1; `None` if it has no end.
    pub progress: Option<f64>,
}

/// Counts and latencies, without the many buckets of the histograms that they are of.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    requests: u64,
    errors: Vec<(String, u64)>,
    response: Buckets,
    service: Buckets,
    bytes_out: u64,
    bytes_in: u64,
    operations: Vec<SeenOperation>,
}

/// The same of one operation of a mix.
#[derive(Debug, Clone)]
struct SeenOperation {
    name: String,
    succeeded: u64,
    misses: u64,
    errors: u64,
    bytes_out: u64,
    bytes_in: u64,
    response: Buckets,
}

impl Seen {
    /// What a tally of this plan holds.
    #[must_use]
    pub fn of(plan: &Plan, tally: &Tally) -> Self {
        let operations = OperationFigures::of_plan(plan, tally, 0.0).into_iter();
        Self {
            operations: operations.map(SeenOperation::of).collect(),
            requests: tally.requests(),
            errors: tally.errors.by_kind().to_vec(),
            response: Buckets::of(&tally.response()),
            service: Buckets::of(&tally.service()),
            bytes_out: tally.connections.bytes_out,
            bytes_in: tally.connections.bytes_in,
        }
    }

    /// Requests answered, errors included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }
}

impl SeenOperation {
    fn of(figures: OperationFigures) -> Self {
        let OperationFigures { name, succeeded, misses, errors, bytes_out, bytes_in, .. } = figures;
        let response = Buckets::of(&figures.response_times);
        Self { name, succeeded, misses, errors, bytes_out, bytes_in, response }
    }

    fn label(&self) -> (&'static str, String) {
        ("operation", self.name.clone())
    }
}

/// A histogram with few buckets, each with the requests that are its own.
#[derive(Debug, Clone)]
struct Buckets {
    /// Upper bounds in seconds, the last without end.
    counts: Vec<(f64, u64)>,
    count: u64,
    sum_s: f64,
}

impl Default for Buckets {
    /// Of nothing: a histogram without its buckets would be none.
    fn default() -> Self {
        Self::of(&Latency::new(1))
    }
}

impl Buckets {
    /// A bucket of the histogram that lies across a bound is in the one above: what is said to have
    /// taken at most so long did.
    fn of(latency: &Latency) -> Self {
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

/// The text: every test in every family, in the order given. Names of tests must differ.
///
/// # Errors
/// None that a text could cause; those of the library are passed on.
pub fn openmetrics(version: &str, tests: Vec<TestState>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("keystorm");
    registry.register_collector(Box::new(Families { version: version.to_owned(), tests }));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// What is written, at one moment.
#[derive(Debug)]
struct Families {
    version: String,
    tests: Vec<TestState>,
}

type Labels = Vec<(&'static str, String)>;

/// One line, or one histogram, for each test that has the figure.
struct Family<'e, 't> {
    encoder: MetricEncoder<'e>,
    tests: &'t [TestState],
}

impl Family<'_, '_> {
    fn each<V>(
        mut self,
        figures: impl Fn(&TestState) -> Vec<(Labels, V)>,
        write: impl Fn(&mut MetricEncoder<'_>, V) -> fmt::Result,
    ) -> fmt::Result {
        for test in self.tests {
            for (more, value) in figures(test) {
                let mut labels: Labels = vec![("test", escape(&test.name).to_string())];
                labels.push(("engine", test.engine.clone()));
                labels.extend(more);
                write(&mut self.encoder.encode_family(&labels)?, value)?;
            }
        }
        Ok(())
    }

    fn gauge(self, figure: impl Fn(&TestState) -> Option<f64>) -> fmt::Result {
        let figures = |test: &TestState| figure(test).map(|v| (vec![], v)).into_iter().collect();
        self.each(figures, |encoder, value| encoder.encode_gauge(&value))
    }

    fn counter(self, figure: impl Fn(&TestState) -> u64) -> fmt::Result {
        self.counters(|test| vec![(vec![], figure(test))])
    }

    fn counters(self, figures: impl Fn(&TestState) -> Vec<(Labels, u64)>) -> fmt::Result {
        self.each(figures, |encoder, value| {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        })
    }

    fn histogram(self, figure: impl Fn(&TestState) -> &Buckets) -> fmt::Result {
        self.histograms(|test| vec![(vec![], figure(test).clone())])
    }

    fn histograms(self, figures: impl Fn(&TestState) -> Vec<(Labels, Buckets)>) -> fmt::Result {
        self.each(figures, |encoder, Buckets { counts, count, sum_s }| {
            encoder.encode_histogram::<NoLabelSet>(sum_s, count, &counts, None)
        })
    }
}

/// The families, one after another.
struct Page<'e, 'w> {
    encoder: &'e mut DescriptorEncoder<'w>,
    tests: &'e [TestState],
}

impl Page<'_, '_> {
    fn family<'s>(
        &'s mut self,
        name: &'s str,
        unit: Option<&'s Unit>,
        kind: MetricType,
        help: &str,
    ) -> Result<Family<'s, 's>, fmt::Error> {
        let encoder = self.encoder.encode_descriptor(name, help, unit, kind)?;
        Ok(Family { encoder, tests: self.tests })
    }
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        use MetricType::{Counter, Gauge, Histogram, Info};
        let (seconds, bytes, ratio) = (&Unit::Seconds, &Unit::Bytes, Unit::Other("ratio".into()));
        let build = vec![("version", self.version.clone())];
        encoder.encode_descriptor("build", "This keystorm", None, Info)?.encode_info(&build)?;

        let mut page = Page { encoder: &mut encoder, tests: &self.tests };
        page.family("requests", None, Counter, "Requests answered, including error replies")?
            .counter(|test| test.seen.requests)?;
        page.family("errors", None, Counter, "Error replies by their first word")?.counters(
            |test| {
                let kinds = test.seen.errors.iter();
                kinds.map(|(kind, n)| (vec![("kind", escape(kind).to_string())], *n)).collect()
            },
        )?;
        page.family("requests_per_second", None, Gauge, "Requests answered in the last second")?
            .gauge(|test| Some(test.rate_per_s))?;
        page.family(
            "response_time",
            Some(seconds),
            Histogram,
            "From when a request was due (without --rps: sent) to its reply, errors excluded",
        )?
        .histogram(|test| &test.seen.response)?;
        page.family(
            "service_time",
            Some(seconds),
            Histogram,
            "From when a request was sent to its reply, errors excluded",
        )?
        .histogram(|test| &test.seen.service)?;
        page.family("requests_in_flight", None, Gauge, "Requests sent and not yet answered")?
            .gauge(|test| Some(test.in_flight as f64))?;
        page.family("requests_backlog", None, Gauge, "Requests due by --rps and not sent")?
            .gauge(|test| test.backlog.map(|n| n as f64))?;
        page.family("connections", None, Gauge, "Connections that are open and ready")?
            .gauge(|test| Some(test.connections as f64))?;
        page.family("client_cpu", Some(seconds), Counter, "CPU time of each worker thread")?.each(
            |test| {
                let workers = test.cpu_s.iter().enumerate();
                workers.map(|(n, s)| (vec![("worker", n.to_string())], *s)).collect()
            },
            |encoder, value| encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
        )?;
        page.family("sent", Some(bytes), Counter, "Bytes of requests")?
            .counter(|test| test.seen.bytes_out)?;
        page.family("received", Some(bytes), Counter, "Bytes of replies")?
            .counter(|test| test.seen.bytes_in)?;
        page.family("operations", None, Counter, "Operations of a mix that ended, by outcome")?
            .counters(|test| {
                let outcomes = |o: &SeenOperation| {
                    let counts = [("hit", o.succeeded), ("miss", o.misses), ("error", o.errors)];
                    counts.map(|(outcome, n)| (vec![o.label(), ("outcome", outcome.to_owned())], n))
                };
                test.seen.operations.iter().flat_map(outcomes).collect()
            })?;
        page.family(
            "operation_time",
            Some(seconds),
            Histogram,
            "From when an operation was due (without --rps: sent) to its last reply",
        )?
        .histograms(|test| {
            let operations = test.seen.operations.iter();
            operations.map(|o| (vec![o.label()], o.response.clone())).collect()
        })?;
        let sent: fn(&SeenOperation) -> u64 = |o| o.bytes_out;
        let received: fn(&SeenOperation) -> u64 = |o| o.bytes_in;
        for (name, help, bytes_of) in [
            ("operation_sent", "Bytes of an operation's requests", sent),
            ("operation_received", "Bytes of the replies to an operation", received),
        ] {
            page.family(name, Some(bytes), Counter, help)?.counters(|test| {
                let operations = test.seen.operations.iter();
                operations.map(|o| (vec![o.label()], bytes_of(o))).collect()
            })?;
        }
        page.family("test_elapsed", Some(seconds), Gauge, "Time since measuring began")?
            .gauge(|test| Some(test.elapsed_s))?;
        page.family("test_progress", Some(&ratio), Gauge, "Completed share of the test")?
            .gauge(|test| test.progress)?;
        page.family("test_running", None, Gauge, "1 while load runs")?
            .gauge(|test| Some(f64::from(u8::from(test.running))))?;
        page.family("test_warming_up", None, Gauge, "1 during warm-up")?
            .gauge(|test| Some(f64::from(u8::from(test.warming_up))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Outcome, Sample, TallyShape};

    fn tally() -> Tally {
        let shape = TallyShape {
            commands: 1,
            precision: 3,
            scheduled: true,
            first_byte: false,
            operations: 0,
            apart: false,
            places: 0,
        };
        let mut tally = Tally::new(&shape);
        for (service_ns, count) in [(9_000, 2), (1_499_000, 3), (250_000_000_000, 1)] {
            let (sent_ns, done_ns) = (500_000_000, 500_000_000 + service_ns);
            let outcome = Outcome::Ok;
            let (command, intended_ns, first_byte_ns) = (0, 0, done_ns);
            tally.record(&Sample {
                command,
                outcome,
                count,
                bytes: 0,
                intended_ns,
                sent_ns,
                first_byte_ns,
                done_ns,
            });
        }
        tally.errors.add("OOM", "OOM command not allowed");
        tally
    }

    fn text() -> String {
        let name = "a\"b\\c\n\x1b[2J".to_owned();
        let (engine, seen) =
            ("epoll".to_owned(), Seen::of(&crate::fixture::complete().plan, &tally()));
        let state = TestState { name, engine, seen, cpu_s: vec![0.5, 1.25], ..Default::default() };
        openmetrics("1.2.3", vec![state]).unwrap()
    }

    #[test]
    fn buckets_are_cumulative_and_bounded_by_what_was_recorded() {
        let text = text();
        let bucket = |family: &str, le: &str| -> u64 {
            let lines =
                text.lines().filter(|l| l.starts_with(&format!("keystorm_{family}_seconds_")));
            let mut found = lines.filter(|l| l.contains(&format!("le=\"{le}\"")));
            found.next().and_then(|l| l.rsplit(' ').next()?.parse().ok()).expect(le)
        };
        let service = |le| bucket("service_time", le);
        assert_eq!([service("0.00001"), service("0.001"), service("0.0015")], [2, 2, 5]);
        assert_eq!([service("100.0"), service("+Inf")], [5, 6]);
        let response = |le| bucket("response_time", le);
        assert_eq!([response("0.3"), response("0.5"), response("0.7")], [0, 0, 5]);
        assert!(text.contains("keystorm_service_time_seconds_count{"), "{text}");
    }

    #[test]
    fn a_name_breaks_no_line() {
        let text = text();
        assert!(text.ends_with("\n# EOF\n") && !text.contains('\x1b'), "{text}");
        let requests = text.lines().find(|l| l.starts_with("keystorm_requests_total")).unwrap();
        let name = r#"a\"b\\c\\n\\x1b[2J"#;
        let expected = format!("keystorm_requests_total{{test=\"{name}\",engine=\"epoll\"}} 7");
        assert_eq!(requests, expected);
    }

    #[test]
    fn a_test_that_saw_nothing_has_all_buckets() {
        let text = openmetrics("1", vec![TestState::default()]).unwrap();
        let bounds = text.lines().filter(|l| l.contains("_bucket{") && l.ends_with(" 0")).count();
        assert_eq!((bounds, text.matches("le=\"+Inf\"").count()), (2 * 44, 2), "{text}");
    }

    #[test]
    fn what_a_test_lacks_has_no_line() {
        let text = text();
        assert!(text.contains("\n# TYPE keystorm_requests_backlog gauge\n"), "{text}");
        assert!(!text.contains("\nkeystorm_requests_backlog{"), "a closed loop has none");
        assert!(!text.contains("NaN") && !text.contains("\nkeystorm_test_progress_ratio{"));
        assert!(text.contains("engine=\"epoll\",worker=\"1\"} 1.25\n"), "{text}");
        assert!(text.contains("kind=\"OOM\"} 1\n") && text.contains("version=\"1.2.3\""));
    }
}
