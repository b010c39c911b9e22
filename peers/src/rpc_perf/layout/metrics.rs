//! Metrics by their names: a line of the metrics file, and the pages of the admin port. The binary form of the
//! file is in [`packed`](super::packed).

use std::time::{Duration, SystemTime};

use measure::Latency;
use report::exposition::Exposition;
use serde_json::{Map, Value, json};

use super::window::PERCENTILES;
use super::{Figures, buckets};

/// The histograms, in the order of [`Figures::latency`].
pub(super) const HISTOGRAMS: [&str; 3] =
    ["response_latency", "kvget_response_latency", "kvset_response_latency"];

/// Metadata of every histogram.
pub(super) const SHAPE: [(&str, u32); 2] =
    [("grouping_power", buckets::GROUPING_POWER), ("max_value_power", buckets::MAX_VALUE_POWER)];

/// Metadata of every line of the metrics file. `every`: the time between two lines.
pub(super) fn about(every: Duration) -> [(&'static str, String); 3] {
    [
        ("source", "rpc-perf".to_owned()),
        ("version", concat!("keystorm ", env!("CARGO_PKG_VERSION")).to_owned()),
        ("sampling_interval_ms", every.as_millis().to_string()),
    ]
}

/// State of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// Figures so far.
    pub(crate) total: Figures,
    /// Figures of the last window.
    pub(crate) window: Figures,
    /// Connections that are open.
    pub(crate) open: u64,
    /// Requests that are to be sent per second; 0 for as many as replies allow.
    pub(crate) rate: u64,
}

/// A snapshot by names.
#[derive(Debug)]
pub(crate) struct Metrics<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) counters: Vec<(String, u64)>,
    pub(super) gauges: Vec<(&'static str, u64)>,
}

impl<'s> Metrics<'s> {
    /// Returns the metrics of a snapshot.
    pub(crate) fn new(snapshot: &'s Snapshot) -> Self {
        let total = &snapshot.total;
        let requests = total.requests();
        let mut counters: Vec<(String, u64)> = [
            ("client/connect/total", total.opened),
            ("client/connect/ok", total.opened),
            ("client/connect/exception", 0),
            ("client/connect/timeout", 0),
            ("client/connect/reconnect", total.closed),
            ("client/request/total", requests),
            ("client/request/ok", requests),
            ("client/request/unsupported", 0),
            ("client/request/dropped", 0),
            ("client/response/ok", total.ok),
            ("client/response/exception", total.exception),
            ("client/response/timeout", total.timeout),
            ("client/response/ratelimited", 0),
            ("client/response/backend_timeout", 0),
            ("client/response/invalid", 0),
            ("client/response/hit", total.hit),
            ("client/response/miss", total.miss),
        ]
        .map(|(name, count)| (name.to_owned(), count))
        .to_vec();
        for (verb, counts) in &total.verbs {
            for (what, count) in [
                ("total", counts.ok + counts.exception),
                ("ok", counts.ok),
                ("exception", counts.exception),
                ("hit", counts.hit),
                ("miss", counts.miss),
            ] {
                counters.push((format!("{verb}/{what}"), count));
            }
        }
        let gauges = vec![
            ("client/connections/current", snapshot.open),
            ("ratelimit/current", snapshot.rate),
        ];
        Self { snapshot, counters, gauges }
    }

    /// A line of the metrics file; cumulative. `every` is how long it is between two.
    pub(crate) fn line(&self, at: SystemTime, every: Duration, sparse: bool) -> String {
        let named =
            |name: &str, value: Value| json!({"name": name, "value": value, "metadata": {}});
        let counters = self.counters.iter().map(|(name, count)| named(name, json!(count)));
        let gauges = self.gauges.iter().map(|(name, value)| named(name, json!(value)));
        let latencies = self.snapshot.total.latency.iter().map(Option::as_ref);
        let histograms = HISTOGRAMS.iter().zip(latencies).map(|(name, latency)| {
            let value = histogram(latency, sparse);
            let metadata = object(SHAPE.map(|(name, value)| (name, json!(value.to_string()))));
            json!({"name": name, "value": value, "metadata": metadata})
        });
        let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = json!({
            "systemtime": {
                "secs_since_epoch": since.as_secs(),
                "nanos_since_epoch": since.subsec_nanos(),
            },
            "metadata": object(about(every).map(|(name, value)| (name, json!(value)))),
            "counters": counters.collect::<Vec<_>>(),
            "gauges": gauges.collect::<Vec<_>>(),
            "histograms": histograms.collect::<Vec<_>>(),
        });
        format!("{line}\n")
    }

    /// Every figure of `/vars` with its name, sorted.
    fn vars(&self) -> Vec<(String, u64)> {
        let mut all = self.counters.clone();
        all.extend(self.gauges.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        for (name, latency) in HISTOGRAMS.iter().zip(&self.snapshot.window.latency) {
            all.extend(percentiles(latency.as_ref()).map(|(p, _, ns)| (format!("{name}/{p}"), ns)));
        }
        all.sort();
        all
    }

    /// The page `/vars`.
    pub(crate) fn page(&self) -> String {
        let lines = self.vars().into_iter().map(|(name, value)| format!("\"{name}\": {value}\n"));
        lines.collect()
    }

    /// The page `/vars.json`.
    pub(crate) fn json(&self) -> String {
        let mut vars = Map::new();
        for (name, value) in self.vars() {
            vars.insert(name, json!(value));
        }
        Value::Object(vars).to_string() + "\n"
    }

    /// The page `/metrics`, in the text format of Prometheus.
    pub(crate) fn prometheus(&self) -> String {
        let mut page = Exposition::default();
        let plain = |name: &str| name.replace('/', "_");
        for (name, count) in &self.counters {
            page.one(&plain(name), "counter", "", count);
        }
        for (name, value) in &self.gauges {
            page.one(&plain(name), "gauge", "", value);
        }
        for (name, latency) in HISTOGRAMS.iter().zip(&self.snapshot.window.latency) {
            page.family(name, "gauge", "", "");
            for (_, quantile, ns) in percentiles(latency.as_ref()) {
                page.line(name, &[("percentile", &quantile.to_string())], &ns);
            }
        }
        page.into_text()
    }
}

/// Percentiles of something, with their names and places.
fn percentiles(latency: Option<&Latency>) -> impl Iterator<Item = (&'static str, f64, u64)> + '_ {
    PERCENTILES
        .into_iter()
        .filter_map(move |(name, quantile)| Some((name, quantile, latency?.quantile_ns(quantile)?)))
}

/// An object of these, put in one by one: collecting them would bring a sort of their own for each.
fn object<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let mut object = Map::new();
    for (name, value) in pairs {
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}

fn histogram(latency: Option<&Latency>, sparse: bool) -> Value {
    let mut value = Map::new();
    value.insert("config".to_owned(), object(SHAPE.map(|(name, value)| (name, json!(value)))));
    if sparse {
        let (index, count): (Vec<usize>, Vec<u64>) = buckets::held(latency).into_iter().unzip();
        value.insert("index".to_owned(), json!(index));
        value.insert("count".to_owned(), json!(count));
    } else {
        value.insert("buckets".to_owned(), json!(buckets::all(latency)));
    }
    Value::Object(value)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::figures::Counts;
    use super::*;

    pub(in crate::rpc_perf::layout) fn snapshot() -> Snapshot {
        let mut latency = Latency::new(3);
        latency.record_n(1000, 5);
        let counts = Counts { ok: 5, exception: 1, hit: 4, miss: 1 };
        let figures = Figures {
            ok: 5,
            exception: 1,
            latency: [Some(latency.clone()), Some(latency), None],
            verbs: vec![("get", counts)],
            ..Figures::default()
        };
        Snapshot { total: figures.clone(), window: figures, open: 7, rate: 100 }
    }

    #[test]
    fn a_line_holds_everything_so_far() {
        let snapshot = snapshot();
        for sparse in [false, true] {
            let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1500);
            let text = Metrics::new(&snapshot).line(at, Duration::from_secs(1), sparse);
            assert_eq!(text.matches('\n').count(), 1);
            let line: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(line["systemtime"]["nanos_since_epoch"], 500_000_000);
            let named = |kind: &str, name: &str| {
                let all = line[kind].as_array().unwrap().iter();
                all.clone().find(|entry| entry["name"] == name).unwrap()["value"].clone()
            };
            assert_eq!(named("counters", "client/request/total"), 6);
            assert_eq!(named("counters", "get/hit"), 4);
            assert_eq!(named("gauges", "client/connections/current"), 7);
            let histogram = named("histograms", "response_latency");
            if sparse {
                assert_eq!(histogram["count"], json!([5]))
            } else {
                assert_eq!(histogram["buckets"].as_array().unwrap().len(), 7424)
            }
        }
    }

    #[test]
    fn pages_name_each_figure_once() {
        let snapshot = snapshot();
        let metrics = Metrics::new(&snapshot);
        let vars: Value = serde_json::from_str(&metrics.json()).unwrap();
        assert_eq!(vars["response_latency/p999"], 1000, "nanoseconds");
        assert!(metrics.page().contains("\"get/ok\": 5\n"));
        let page = metrics.prometheus();
        let types: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
        let mut once = types.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), types.len(), "{page}");
        assert!(page.contains("response_latency{percentile=\"0.25\"} 1000\n"), "{page}");
        assert!(page.contains("response_latency{percentile=\"1\"} 1000\n"), "{page}");
    }
}
