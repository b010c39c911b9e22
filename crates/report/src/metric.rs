//! Metrics of a run, one number each.
//!
//! Owns their names, units and better direction, so that repeats and comparisons use the same figures.

/// A figure of a run that can be averaged and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Answered requests per second.
    Throughput,
    /// Mean response time, in milliseconds like all latencies here.
    Mean,
    /// Minimum response time.
    Min,
    /// Median response time.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P99_9,
    /// Greatest response time.
    Max,
    /// Microseconds of the client's CPU for each request.
    ClientCpu,
    /// Microseconds of the server's CPU per request, by its own count.
    ServerCpu,
    /// Keys requested per second, if each request asks for several.
    Keys,
    /// Instructions of the server for each request; known from a profile only.
    Instructions,
}

/// Metrics that a history stores, in the order of its columns.
pub const KEPT: [Metric; 7] = {
    use Metric::{ClientCpu, Instructions, P50, P99, P99_9, ServerCpu, Throughput};
    [Throughput, P50, P99, P99_9, ClientCpu, ServerCpu, Instructions]
};

/// Columns of a latency in the classic reports.
pub(crate) const COLUMNS: [Metric; 6] =
    [Metric::Mean, Metric::Min, Metric::P50, Metric::P95, Metric::P99, Metric::Max];

/// Columns of an open loop, with the 99.9th percentile.
pub(crate) const OPEN_COLUMNS: [Metric; 7] =
    [Metric::Mean, Metric::Min, Metric::P50, Metric::P95, Metric::P99, Metric::P99_9, Metric::Max];

/// Direction in which a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The greater.
    Higher,
    /// The smaller.
    Lower,
}

/// A metric, its name, label and option, and the quantile of a percentile.
type Row = (Metric, &'static str, &'static str, Option<&'static str>, Option<f64>);

/// Every metric, in the order of its variants.
pub(crate) const ROWS: [Row; 13] = [
    (Metric::Throughput, "throughput_rps", "requests/s", Some("throughput"), None),
    (Metric::Mean, "mean_ms", "avg (ms)", None, None),
    (Metric::Min, "min_ms", "min (ms)", None, None),
    (Metric::P50, "p50_ms", "p50 (ms)", Some("p50"), Some(0.5)),
    (Metric::P90, "p90_ms", "p90 (ms)", Some("p90"), Some(0.9)),
    (Metric::P95, "p95_ms", "p95 (ms)", Some("p95"), Some(0.95)),
    (Metric::P99, "p99_ms", "p99 (ms)", Some("p99"), Some(0.99)),
    (Metric::P99_9, "p99.9_ms", "p99.9 (ms)", Some("p99.9"), Some(0.999)),
    (Metric::Max, "max_ms", "max (ms)", None, None),
    (Metric::ClientCpu, CLIENT_CPU, "client µs/request", Some("client-cpu"), None),
    (Metric::ServerCpu, SERVER_CPU, "server µs/request", Some("server-cpu"), None),
    (Metric::Keys, "keys_per_s", "keys/s", None, None),
    (Metric::Instructions, INSTRUCTIONS, "instructions/request", Some("instructions"), None),
];
const CLIENT_CPU: &str = "client_cpu_us_per_request";
const SERVER_CPU: &str = "server_cpu_us_per_request";
const INSTRUCTIONS: &str = "instructions_per_request";

impl Metric {
    /// All metrics that every run may have, in the order of reports: all but keys and instructions.
    pub const ALL: [Self; 11] = {
        use Metric::{ClientCpu, Max, Mean, Min, P50, P90, P95, P99, P99_9, ServerCpu, Throughput};
        [Throughput, Mean, Min, P50, P90, P95, P99, P99_9, Max, ClientCpu, ServerCpu]
    };

    /// The name in JSON and CSV, with its unit. Stable.
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The name on a command line, for metrics that a gate may name.
    pub fn option(self) -> Option<&'static str> {
        ROWS[self as usize].3
    }

    /// The name in a table.
    pub fn label(self) -> &'static str {
        ROWS[self as usize].2
    }

    /// The name without its unit.
    pub fn bare_label(self) -> &'static str {
        self.label().trim_end_matches(" (ms)")
    }

    /// Returns the direction in which the figure is better.
    pub fn better(self) -> Direction {
        match self {
            Self::Throughput | Self::Keys => Direction::Higher,
            _ => Direction::Lower,
        }
    }

    /// The quantile of a percentile, which is only as precise as the histogram.
    pub fn quantile(self) -> Option<f64> {
        ROWS[self as usize].4
    }

    /// Text for a table, with as many decimals as in reports of a run.
    pub fn written(self, value: f64) -> String {
        match self.better() {
            Direction::Higher => format!("{value:.2}"),
            Direction::Lower => format!("{value:.3}"),
        }
    }
}
