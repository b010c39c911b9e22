//! Figures while runs go on, as Prometheus reads them: the names and buckets of the original, in its
//! text format of version 0.0.4.

use measure::Latency;
use report::exposition::Exposition as Page;

/// The media type of the page.
pub(crate) const EXPOSITION_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of its buckets in seconds, where no others are asked for.
pub(crate) const EXPOSITION_BUCKETS: [f64; 26] = [
    0.0001, 0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01,
    0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// Sums since the start of the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Requests that were answered.
    pub(crate) ops: u64,
    /// Bytes of requests.
    pub(crate) sent: u64,
    /// Bytes of replies.
    pub(crate) received: u64,
    /// Lookups by the generated GETs that found something.
    pub(crate) hits: u64,
    /// Lookups by the generated GETs that found nothing.
    pub(crate) misses: u64,
    /// Error replies.
    pub(crate) errors: u64,
    /// Number of times that requests were sent again.
    pub(crate) retries: u64,
    /// Number of requests that were sent again at least once.
    pub(crate) retried: u64,
    /// Connections that were lost.
    pub(crate) connection_errors: u64,
    /// Lookups by `--command` commands that found something.
    pub(crate) command_hits: u64,
    /// Lookups by `--command` commands that found nothing.
    pub(crate) command_misses: u64,
}

impl Counters {
    /// Both together.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            ops: self.ops + other.ops,
            sent: self.sent + other.sent,
            received: self.received + other.received,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            errors: self.errors + other.errors,
            retries: self.retries + other.retries,
            retried: self.retried + other.retried,
            connection_errors: self.connection_errors + other.connection_errors,
            command_hits: self.command_hits + other.command_hits,
            command_misses: self.command_misses + other.command_misses,
        }
    }
}

/// Content of a page.
#[derive(Debug)]
pub(crate) struct Exposition<'e> {
    /// Labels of every line.
    pub(crate) labels: &'e [(String, String)],
    /// Upper bounds of the buckets in seconds, rising.
    pub(crate) buckets: &'e [f64],
    /// The version of the program.
    pub(crate) version: &'e str,
    /// Start, in seconds since 1970.
    pub(crate) started_s: f64,
    /// See there.
    pub(crate) counters: Counters,
    /// The latencies of all requests so far.
    pub(crate) latency: Option<&'e Latency>,
    /// Connections that are open now.
    pub(crate) connections: u64,
    /// Threads that run now.
    pub(crate) threads: u64,
    /// The number of the run, from 1; 0 before the first.
    pub(crate) run: u32,
    /// Number of runs that there will be.
    pub(crate) runs: u32,
    /// Planned seconds of each, if it ends by time.
    pub(crate) test_time: u64,
    /// Number of pages made so far, this one included.
    pub(crate) renders: u64,
    /// Age of the figures, in seconds.
    pub(crate) age_s: f64,
}

impl Exposition<'_> {
    /// The page.
    pub(crate) fn page(&self) -> String {
        let labels: Vec<(&str, &str)> =
            self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut page = Page::new(&labels);
        let Counters { ops, sent, received, hits, misses, .. } = self.counters;
        let Counters { errors, retries, retried, connection_errors, .. } = self.counters;
        let Counters { command_hits, command_misses, .. } = self.counters;
        let build = [("version", self.version), ("git_sha", "00000000")];
        page.family("memtier_build_info", "gauge", "The program that measures", "");
        page.line("memtier_build_info", &build, &1);
        page.one(
            "memtier_start_time_seconds",
            "gauge",
            "When the program was started, since 1970",
            &format_args!("{:.3}", self.started_s),
        );
        for (name, help, count) in [
            ("ops", "Requests that were answered", ops),
            ("sent_bytes", "Bytes of requests", sent),
            ("received_bytes", "Bytes of replies", received),
            ("hits", "Keys that GETs found", hits),
            ("misses", "Keys that GETs did not find", misses),
            ("errors", "Error replies", errors),
            ("connection_errors", "Connections that were lost", connection_errors),
            ("retry_attempts", "How often requests were sent again", retries),
            ("retried_ops", "Requests that were sent again", retried),
            ("arbitrary_hits", "Lookups of commands given with --command that hit", command_hits),
            (
                "arbitrary_misses",
                "Lookups of commands given with --command that missed",
                command_misses,
            ),
        ] {
            page.one(&format!("memtier_{name}_total"), "counter", help, &count);
        }
        for (name, help, value) in [
            ("connections", "Connections that are open", self.connections),
            ("threads", "Threads that send requests", self.threads),
            ("run", "Number of the run, 0 before the first", self.run.into()),
            ("configured_runs", "How many runs there will be", self.runs.into()),
            (
                "config_test_time_seconds",
                "Length of a run, 0 if it ends by requests",
                self.test_time,
            ),
        ] {
            page.one(&format!("memtier_{name}"), "gauge", help, &value);
        }
        self.histogram(&mut page);
        page.one(
            "memtier_exporter_renders_total",
            "counter",
            "Pages made, not counting repeats",
            &self.renders,
        );
        page.one(
            "memtier_exporter_snapshot_age_seconds",
            "gauge",
            "How old these figures are",
            &format_args!("{:.3}", self.age_s),
        );
        page.into_text()
    }

    fn histogram(&self, page: &mut Page) {
        const NAME: &str = "memtier_latency_seconds";
        page.family(NAME, "histogram", "Latency of all requests but those with error replies", "");
        let recorded = || self.latency.into_iter().flat_map(Latency::recorded);
        for bound in self.buckets {
            // Divided, not multiplied, so that a bound is compared as it is written.
            let within = recorded().filter(|(ns, _)| *ns as f64 / 1e9 <= *bound);
            let count: u64 = within.map(|(_, count)| count).sum();
            page.line(&format!("{NAME}_bucket"), &[("le", &bound.to_string())], &count);
        }
        let count: u64 = recorded().map(|(_, count)| count).sum();
        let mean_ns = self.latency.and_then(Latency::mean_ns).unwrap_or_default();
        page.line(&format!("{NAME}_bucket"), &[("le", "+Inf")], &count);
        page.line(&format!("{NAME}_count"), &[], &count);
        page.line(
            &format!("{NAME}_sum"),
            &[],
            &format_args!("{:.9}", mean_ns * count as f64 / 1e9),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(labels: &[(String, String)], latency: Option<&Latency>) -> String {
        let counters = Counters { ops: 7, ..Counters::default() };
        let counters = counters.with(Counters { ops: 1, command_misses: 2, ..counters });
        Exposition {
            labels,
            buckets: &EXPOSITION_BUCKETS,
            version: "1.2.3",
            started_s: 1.5,
            counters,
            latency,
            connections: 4,
            threads: 2,
            run: 1,
            runs: 3,
            test_time: 5,
            renders: 1,
            age_s: 0.25,
        }
        .page()
    }

    #[test]
    fn buckets_are_cumulative_and_bounds_are_written_as_they_were_asked_for() {
        let mut latency = Latency::new(4);
        for us in [90, 90, 4000, 70_000_000] {
            latency.record_n(us * 1000, 1);
        }
        let page = page(&[], Some(&latency));
        for line in [
            "memtier_latency_seconds_bucket{le=\"0.0001\"} 2",
            "memtier_latency_seconds_bucket{le=\"0.005\"} 3",
            "memtier_latency_seconds_bucket{le=\"60\"} 3",
            "memtier_latency_seconds_bucket{le=\"+Inf\"} 4",
            "memtier_latency_seconds_count 4",
            "memtier_ops_total 8",
            "memtier_arbitrary_misses_total 2",
            "memtier_build_info{version=\"1.2.3\",git_sha=\"00000000\"} 1",
        ] {
            assert!(page.lines().any(|known| known == line), "{line} in\n{page}");
        }
    }

    #[test]
    fn labels_are_on_every_line_and_escaped() {
        let labels = [("note".to_owned(), "a\"b\\c".to_owned())];
        let page = page(&labels, None);
        let label = r#"note="a\"b\\c""#;
        assert!(page.lines().all(|line| line.starts_with('#') || line.contains(label)), "{page}");
        assert!(
            page.contains("memtier_latency_seconds_bucket{note=\"a\\\"b\\\\c\",le=\"+Inf\"} 0\n")
        );
    }
}
