//! Average latencies over time, of each kind of operation: what `measurementtype=timeseries` tells.

use std::collections::BTreeMap;

use super::sections::Section;

const NS_PER_MS: u64 = 1_000_000;

/// Latencies in each span of time, by the names of [`Section`]s.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    granularity_ms: u64,
    spans: BTreeMap<String, BTreeMap<u64, Sum>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    ns: f64,
    count: u64,
}

impl Series {
    /// Returns an empty series, of spans of `granularity_ms` milliseconds.
    pub(crate) fn new(granularity_ms: u64) -> Self {
        Self { granularity_ms: granularity_ms.max(1), spans: BTreeMap::new() }
    }

    /// Forgets everything, for another run.
    pub(crate) fn clear(&mut self) {
        self.spans.clear();
    }

    /// Adds the figures of an interval that began `from_ns` after the load.
    pub(crate) fn add(&mut self, sections: &[Section], from_ns: u64) {
        let from_ms = from_ns / NS_PER_MS / self.granularity_ms * self.granularity_ms;
        for Section { name, latency, .. } in sections {
            let Some(mean_ns) = latency.mean_ns() else { continue };
            let sum = self.spans.entry(name.clone()).or_default().entry(from_ms).or_default();
            sum.ns += mean_ns * latency.count() as f64;
            sum.count += latency.count();
        }
    }

    /// The start of each span in milliseconds in which something of this name ended, and its average
    /// latency in microseconds.
    pub(super) fn averages(&self, name: &str) -> impl Iterator<Item = (u64, f64)> {
        let spans = self.spans.get(name).into_iter().flatten();
        spans.map(|(from_ms, sum)| (*from_ms, sum.ns / sum.count as f64 / 1e3))
    }
}

#[cfg(test)]
mod tests {
    use measure::Latency;

    use super::*;

    #[test]
    fn intervals_are_put_together_by_their_weight_and_silent_spans_left_out() {
        let section = |us: u64, count| {
            let mut latency = Latency::new(3);
            latency.record_n(us * 1000, count);
            [Section { name: "READ".to_owned(), latency, returned: None }]
        };
        let mut series = Series::new(500);
        for (from_ms, us, count) in [(0, 100, 3), (250, 200, 1), (1250, 50, 2), (1500, 0, 0)] {
            series.add(&section(us, count), from_ms * NS_PER_MS);
        }
        let averages: Vec<_> = series.averages("READ").collect();
        assert_eq!(averages, [(0, 125.0), (1000, 50.0)]);
        assert_eq!(series.averages("SCAN").count(), 0);
    }
}
