//! Metrics by their names, and the pages of the admin port.

use std::collections::BTreeMap;

use measure::Latency;
use report::exposition::Exposition;
use serde_json::json;

use super::Figures;
use super::window::PERCENTILES;

/// The histograms, in the order of [`Figures::latency`].
pub(super) const HISTOGRAMS: [&str; 3] =
    ["response_latency", "kvget_response_latency", "kvset_response_latency"];

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
            ("client/response/ok", total.all.ok),
            ("client/response/exception", total.all.exception),
            ("client/response/timeout", total.timeout),
            ("client/response/ratelimited", 0),
            ("client/response/backend_timeout", 0),
            ("client/response/invalid", 0),
            ("client/response/hit", total.all.hit),
            ("client/response/miss", total.all.miss),
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

    /// Every figure of `/vars` with its name.
    fn vars(&self) -> BTreeMap<String, u64> {
        let mut all: BTreeMap<String, u64> = self.counters.iter().cloned().collect();
        all.extend(self.gauges.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        for (name, latency) in HISTOGRAMS.iter().zip(&self.snapshot.window.latency) {
            all.extend(percentiles(latency.as_ref()).map(|(p, _, ns)| (format!("{name}/{p}"), ns)));
        }
        all
    }

    /// The page `/vars`.
    pub(crate) fn page(&self) -> String {
        let lines = self.vars().into_iter().map(|(name, value)| format!("\"{name}\": {value}\n"));
        lines.collect()
    }

    /// The page `/vars.json`.
    pub(crate) fn json(&self) -> String {
        json!(self.vars()).to_string() + "\n"
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

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Value;

    use super::super::figures::Counts;
    use super::super::line::Line;
    use std::time::{Duration, SystemTime};

    use super::*;

    pub(in crate::rpc_perf::layout) fn snapshot() -> Snapshot {
        let mut latency = Latency::new(3);
        latency.record_n(1000, 5);
        let counts = Counts { ok: 5, exception: 1, hit: 4, miss: 1 };
        let figures = Figures {
            all: counts,
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
            let metrics = Metrics::new(&snapshot);
            let text = Line::new(&metrics, at, Duration::from_secs(1), sparse).json().unwrap();
            assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 1);
            let line: Value = serde_json::from_slice(&text).unwrap();
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
