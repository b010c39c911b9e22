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

/// Names of a metric, and the quantile of a percentile.
struct Row {
    name: &'static str,
    label: &'static str,
    option: Option<&'static str>,
    quantile: Option<f64>,
}

impl Metric {
    /// All metrics that every run may have, in the order of reports.
    pub const ALL: [Self; 11] = match Self::EVERY.first_chunk() {
        Some(all) => *all,
        None => unreachable!(),
    };

    /// Every metric, including keys and instructions, which few runs have.
    pub(crate) const EVERY: [Self; 13] = [
        Self::Throughput,
        Self::Mean,
        Self::Min,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P99_9,
        Self::Max,
        Self::ClientCpu,
        Self::ServerCpu,
        Self::Keys,
        Self::Instructions,
    ];

    /// The row of the metric in the table of all.
    fn row(self) -> Row {
        let (name, label, option, quantile) = match self {
            Self::Throughput => ("throughput_rps", "requests/s", Some("throughput"), None),
            Self::Mean => ("mean_ms", "avg (ms)", None, None),
            Self::Min => ("min_ms", "min (ms)", None, None),
            Self::P50 => ("p50_ms", "p50 (ms)", Some("p50"), Some(0.5)),
            Self::P90 => ("p90_ms", "p90 (ms)", Some("p90"), Some(0.9)),
            Self::P95 => ("p95_ms", "p95 (ms)", Some("p95"), Some(0.95)),
            Self::P99 => ("p99_ms", "p99 (ms)", Some("p99"), Some(0.99)),
            Self::P99_9 => ("p99.9_ms", "p99.9 (ms)", Some("p99.9"), Some(0.999)),
            Self::Max => ("max_ms", "max (ms)", None, None),
            Self::ClientCpu => {
                ("client_cpu_us_per_request", "client µs/request", Some("client-cpu"), None)
            }
            Self::ServerCpu => {
                ("server_cpu_us_per_request", "server µs/request", Some("server-cpu"), None)
            }
            Self::Keys => ("keys_per_s", "keys/s", None, None),
            Self::Instructions => {
                ("instructions_per_request", "instructions/request", Some("instructions"), None)
            }
        };
        Row { name, label, option, quantile }
    }

    /// The name in JSON and CSV, with its unit. Stable.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name on a command line, for metrics that a gate may name.
    pub fn option(self) -> Option<&'static str> {
        self.row().option
    }

    /// The name in a table.
    pub fn label(self) -> &'static str {
        self.row().label
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
        self.row().quantile
    }

    /// Text for a table, with as many decimals as in reports of a run.
    pub fn written(self, value: f64) -> String {
        match self.better() {
            Direction::Higher => format!("{value:.2}"),
            Direction::Lower => format!("{value:.3}"),
        }
    }
}
