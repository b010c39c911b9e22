//! Metrics by which runs are judged, as one number each.
//!
//! Owns their names, units and better direction, so that repeats and comparisons use the same figures, which
//! [`Summary`] computes.

use measure::Latency;

use crate::{OperationFigures, Summary};

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
}

/// Figures that a history has, in the order of its columns.
pub const KEPT: [Metric; 6] = [
    Metric::Throughput,
    Metric::P50,
    Metric::P99,
    Metric::P99_9,
    Metric::ClientCpu,
    Metric::ServerCpu,
];

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

    /// All of them.
    const EVERY: [Self; 12] = [
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
    ];

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
        }
    }

    /// Returns the direction in which the figure is better.
    #[must_use]
    pub fn better(self) -> Direction {
        match self {
            Self::Throughput | Self::Keys => Direction::Higher,
            _ => Direction::Lower,
        }
    }

    /// The quantile of a percentile, which is read off a histogram and only as precise.
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

/// The figures of one run, by [`Metric`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures([Option<f64>; Metric::EVERY.len()]);

impl Figures {
    /// Makes the figures of a run, without unmeasured ones.
    #[must_use]
    pub fn from_summary(summary: &Summary<'_>) -> Self {
        Self(Metric::EVERY.map(|metric| value(metric, summary)))
    }

    /// Makes the figures of one operation of the run's mix.
    #[must_use]
    pub fn of_operation(operation: &OperationFigures) -> Self {
        let figures = Metric::EVERY.map(|metric| match metric {
            Metric::Throughput => Some(operation.rate_per_s).filter(|_| operation.count > 0),
            Metric::ClientCpu | Metric::ServerCpu | Metric::Keys => None,
            latency => of_latencies(latency, operation.tally.response()),
        });
        Self(figures)
    }

    /// Returns the figures with one value replaced.
    pub(crate) fn with(mut self, metric: Metric, value: Option<f64>) -> Self {
        self.0[metric as usize] = value;
        self
    }

    /// Makes the figures of one command of recorded traffic. A percentile is left out unless the two runs of
    /// a block have ten replies beyond it. With even fewer replies there is a median and no mean, by which
    /// [`Self::is_rare`] recognises it.
    pub(crate) fn of_command(times: &Latency, server_cpu_us: Option<f64>) -> Self {
        const REPLIES_MIN: u64 = 20;
        const REPLIES_P99: u64 = 500;
        let figures = Metric::EVERY.map(|metric| match metric {
            Metric::P50 => of_latencies(metric, times),
            Metric::Mean if times.count() >= REPLIES_MIN => of_latencies(metric, times),
            Metric::P99 if times.count() >= REPLIES_P99 => of_latencies(metric, times),
            Metric::ServerCpu => server_cpu_us.filter(|_| times.count() >= REPLIES_MIN),
            _ => None,
        });
        Self(figures)
    }

    /// Returns whether these are of a command with few replies.
    pub(crate) fn is_rare(&self) -> bool {
        self.get(Metric::P50).is_some() && self.get(Metric::Mean).is_none()
    }

    /// Returns the value of a metric; `None` if the run lacks it.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }
}

/// Returns the value of a figure of response times.
fn of_latencies(metric: Metric, times: &Latency) -> Option<f64> {
    let quantile = |q| times.quantile_ns(q).map(|ns| ns as f64 / 1e6);
    match metric {
        Metric::Mean => times.mean_ns().map(|ns| ns / 1e6),
        Metric::Min => times.min_ns().map(|ns| ns as f64 / 1e6),
        Metric::Max => times.max_ns().map(|ns| ns as f64 / 1e6),
        metric => metric.quantile().and_then(quantile),
    }
}

fn value(metric: Metric, summary: &Summary<'_>) -> Option<f64> {
    match metric {
        Metric::Throughput => Some(summary.throughput_rps).filter(|_| summary.requests > 0),
        Metric::Keys => {
            let keys = summary.run.plan.keys_per_request()?;
            Some(summary.throughput_rps * keys).filter(|_| summary.requests > 0)
        }
        Metric::ClientCpu => summary.client_cpu_ns().map(|ns| ns / 1e3),
        Metric::ServerCpu => {
            let servers = &summary.run.watched.servers;
            let known = servers.iter().map(|s| s.cpu_process_s.or(s.cpu_main_s));
            let cpu_s: Option<f64> =
                known.collect::<Option<Vec<f64>>>().map(|all| all.iter().sum());
            cpu_us_per_request(summary, cpu_s.filter(|s| *s > 0.0)? * 1e6)
        }
        latency => of_latencies(latency, &summary.response_times),
    }
}

/// CPU time covers the whole load, and requests exclude the warm-up, as if both parts cost the same.
fn cpu_us_per_request(summary: &Summary<'_>, cpu_us: f64) -> Option<f64> {
    let workers = &summary.run.measurement.workers;
    let load_s = workers.iter().map(|worker| worker.wall_ns).max()? as f64 / 1e9;
    let share = (summary.elapsed_s / load_s).min(1.0);
    Some(cpu_us * share / summary.requests as f64).filter(|us| us.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn figures_are_those_of_the_summary() {
        let run = fixture::limited();
        let summary = Summary::from_run(&run);
        let figures = Figures::from_summary(&summary);
        assert_eq!(figures.get(Metric::Throughput), Some(2000.0));
        assert_eq!(figures.get(Metric::P50), Some(summary.response.p50_ns as f64 / 1e6));
        assert_eq!(figures.get(Metric::P99), Some(summary.response.p99_ns as f64 / 1e6));
        assert_eq!(figures.get(Metric::ClientCpu), Some(300.0));
        assert_eq!(figures.get(Metric::ServerCpu), Some(495.0));
    }

    #[test]
    fn the_warm_up_costs_cpu_that_requests_do_not_account_for() {
        let mut run = fixture::limited();
        run.measurement.workers[0].cpu_ns = 1_200_000_000;
        run.measurement.workers[0].wall_ns = 2_000_000_000;
        let summary = Summary::from_run(&run);
        assert_eq!(Figures::from_summary(&summary).get(Metric::ClientCpu), Some(300.0));
        assert_eq!(summary.client_cpu_ns(), Some(300_000.0), "the same wherever it is told");
        // A worker that ran for half of what its clients did together used what it used.
        run.measurement.workers[0].wall_ns = 500_000_000;
        assert_eq!(Summary::from_run(&run).client_cpu_ns(), Some(600_000.0));
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let run = fixture::empty();
        assert_eq!(Figures::from_summary(&Summary::from_run(&run)), Figures::default());
        let run = fixture::complete();
        let figures = Figures::from_summary(&Summary::from_run(&run));
        assert_eq!((figures.get(Metric::ClientCpu), figures.get(Metric::ServerCpu)), (None, None));
    }
}
