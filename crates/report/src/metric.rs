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

impl Metric {
    /// All metrics that every run may have, in the order of reports.
    pub const ALL: [Self; 11] = match Self::EVERY.first_chunk() {
        Some(all) => *all,
        None => unreachable!(),
    };

    /// Every metric, including keys and instructions, which few runs have.
    pub(crate) const EVERY: [Self; 13] = {
        use Metric::{
            ClientCpu, Instructions, Keys, Max, Mean, Min, P50, P90, P95, P99, P99_9, ServerCpu,
            Throughput,
        };
        [
            Throughput,
            Mean,
            Min,
            P50,
            P90,
            P95,
            P99,
            P99_9,
            Max,
            ClientCpu,
            ServerCpu,
            Keys,
            Instructions,
        ]
    };

    /// The name in JSON and CSV, with its unit. Stable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput_rps",
            Self::Mean => "mean_ms",
            Self::Min => "min_ms",
            Self::P50 => "p50_ms",
            Self::P90 => "p90_ms",
            Self::P95 => "p95_ms",
            Self::P99 => "p99_ms",
            Self::P99_9 => "p99.9_ms",
            Self::Max => "max_ms",
            Self::ClientCpu => "client_cpu_us_per_request",
            Self::ServerCpu => "server_cpu_us_per_request",
            Self::Keys => "keys_per_s",
            Self::Instructions => "instructions_per_request",
        }
    }

    /// The name on a command line, for metrics that a gate may name.
    #[must_use]
    pub fn option(self) -> Option<&'static str> {
        match self {
            Self::Throughput => Some("throughput"),
            Self::P50 => Some("p50"),
            Self::P90 => Some("p90"),
            Self::P95 => Some("p95"),
            Self::P99 => Some("p99"),
            Self::P99_9 => Some("p99.9"),
            Self::ClientCpu => Some("client-cpu"),
            Self::ServerCpu => Some("server-cpu"),
            Self::Instructions => Some("instructions"),
            Self::Mean | Self::Min | Self::Max | Self::Keys => None,
        }
    }

    /// The name in a table.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Throughput => "requests/s",
            Self::Mean => "avg (ms)",
            Self::Min => "min (ms)",
            Self::P50 => "p50 (ms)",
            Self::P90 => "p90 (ms)",
            Self::P95 => "p95 (ms)",
            Self::P99 => "p99 (ms)",
            Self::P99_9 => "p99.9 (ms)",
            Self::Max => "max (ms)",
            Self::ClientCpu => "client µs/request",
            Self::ServerCpu => "server µs/request",
            Self::Keys => "keys/s",
            Self::Instructions => "instructions/request",
        }
    }

    /// The name without its unit.
    #[must_use]
    pub fn bare_label(self) -> &'static str {
        self.label().trim_end_matches(" (ms)")
    }

    /// Returns the direction in which the figure is better.
    #[must_use]
    pub fn better(self) -> Direction {
        match self {
            Self::Throughput | Self::Keys => Direction::Higher,
            _ => Direction::Lower,
        }
    }

    /// The quantile of a percentile, which is only as precise as the histogram.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P99_9 => Some(0.999),
            _ => None,
        }
    }

    /// Text for a table, with as many decimals as in reports of a run.
    #[must_use]
    pub fn written(self, value: f64) -> String {
        match self.better() {
            Direction::Higher => format!("{value:.2}"),
            Direction::Lower => format!("{value:.3}"),
        }
    }
}
