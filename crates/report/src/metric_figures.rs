//! Figures of a run by metric, which [`Summary`] computes.

use measure::Latency;

use crate::metric::ROWS;
use crate::{Metric, OperationFigures, Summary};

/// The figures of one run, by [`Metric`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures([Option<f64>; ROWS.len()]);

impl Figures {
    /// Makes the figures of a run, without unmeasured ones.
    pub fn from_summary(summary: &Summary<'_>) -> Self {
        Self::new(|metric| value(metric, summary))
    }

    /// Makes the figures of a function.
    pub(crate) fn new(figure: impl Fn(Metric) -> Option<f64>) -> Self {
        Self(ROWS.map(|(metric, ..)| figure(metric)))
    }

    /// Makes the figures of one operation of the run's mix.
    pub fn of_operation(operation: &OperationFigures) -> Self {
        Self::new(|metric| match metric {
            Metric::Throughput => Some(operation.rate_per_s).filter(|_| operation.count > 0),
            Metric::ClientCpu | Metric::ServerCpu | Metric::Keys => None,
            latency => of_latencies(latency, operation.tally.response()),
        })
    }

    /// Returns the figures with one value replaced.
    pub fn with(mut self, metric: Metric, value: Option<f64>) -> Self {
        self.0[metric as usize] = value;
        self
    }

    /// Makes the figures of one command of recorded traffic. A percentile is left out unless the two runs of
    /// a block have ten replies beyond it. With even fewer replies there is a median and no mean, by which
    /// [`Self::is_rare`] recognises it.
    pub(crate) fn of_command(times: &Latency, server_cpu_us: Option<f64>) -> Self {
        const REPLIES_MIN: u64 = 20;
        const REPLIES_P99: u64 = 500;
        Self::new(|metric| match metric {
            Metric::P50 => of_latencies(metric, times),
            Metric::Mean if times.count() >= REPLIES_MIN => of_latencies(metric, times),
            Metric::P99 if times.count() >= REPLIES_P99 => of_latencies(metric, times),
            Metric::ServerCpu => server_cpu_us.filter(|_| times.count() >= REPLIES_MIN),
            _ => None,
        })
    }

    /// Returns whether these are of a command with few replies.
    pub(crate) fn is_rare(&self) -> bool {
        self.get(Metric::P50).is_some() && self.get(Metric::Mean).is_none()
    }

    /// Returns the value of a metric; `None` if the run lacks it.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }
}

/// Returns the value of a figure of response times.
fn of_latencies(metric: Metric, times: &Latency) -> Option<f64> {
    match metric {
        Metric::Mean => times.mean_ns().map(|ns| ns / 1e6),
        Metric::Min => times.min_ns().map(|ns| ns as f64 / 1e6),
        Metric::Max => times.max_ns().map(|ns| ns as f64 / 1e6),
        metric => metric.quantile().and_then(|q| times.quantile_ns(q).map(|ns| ns as f64 / 1e6)),
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
