//! Allowances for runs that did not alternate: the machine's changes over time, and disturbances of one side
//! only.
//!
//! The first is a standard deviation added to that of the runs
//! ([`RatioEstimate::of_sittings`](measure::statistics::RatioEstimate)); it grows with the noise that both sides
//! had. The second goes one way: other programs make a server slower and never faster. So the side that they held
//! up more may be better than measured, by as much as that time can explain.

use super::RunDigest;
use crate::{Direction, Held, Metric, noise_deviation};

/// Returns the least change of a figure between hours of a quiet machine, as a standard deviation: clock
/// rates, placement of threads and memory, and other programs differ.
fn drift(metric: Metric) -> f64 {
    match metric {
        Metric::Throughput | Metric::Keys | Metric::ClientCpu | Metric::ServerCpu => 0.01,
        Metric::Instructions => 0.001,
        Metric::Mean | Metric::Min | Metric::P50 | Metric::P90 => 0.02,
        Metric::P95 => 0.04,
        Metric::P99 => 0.1,
        Metric::P99_9 | Metric::Max => 0.2,
    }
}

/// Noise of runs that did not alternate: its excess on one side as a bound, what both had as a deviation.
#[derive(Debug, Clone, Default)]
pub(super) struct Excuse {
    /// The side that was held up more.
    side: usize,
    /// The excess of its noise over the other's.
    excess: Held,
    /// The noise that both had.
    common: Held,
    /// Percentiles of that side.
    percentiles: Vec<PercentileNoise>,
}

/// Factors by which noise may have raised a percentile.
#[derive(Debug, Clone)]
struct PercentileNoise {
    metric: Metric,
    excess: f64,
    common: f64,
}

impl Excuse {
    /// Makes the excuse of runs of A and of B.
    pub(super) fn of_runs([a, b]: [&[RunDigest]; 2]) -> Self {
        let held = [a, b].map(|side| Held::mean(side.iter().map(|glance| glance.held)));
        let side = usize::from(held[1].share > held[0].share);
        let excess = held[side].beyond(held[1 - side]);
        let common = held[0].common(held[1]);
        let Some(times) = super::response_times([a, b][side].iter().map(RunDigest::run)) else {
            return Self::default();
        };
        let percentiles = super::COMPARED.into_iter().filter_map(|metric| {
            let quantile = metric.quantile()?;
            let as_measured = times.quantile_ns(quantile)? as f64;
            // Without the requests that may have been delayed.
            let factor = |held: Held| {
                let least = times.quantile_ns(quantile * (1.0 - held.delayed))?.max(1) as f64;
                Some(as_measured / least)
            };
            Some(PercentileNoise { metric, excess: factor(excess)?, common: factor(common)? })
        });
        let percentiles = percentiles.collect();
        Self { side, excess, common, percentiles }
    }

    /// Factors for a metric by which the ratio may be lower, and higher.
    pub(super) fn for_metric(&self, metric: Metric) -> [f64; 2] {
        let by = self.percentile(metric).map_or(self.excess.factor(), |noise| noise.excess);
        // A figure for which higher is better was measured too low on the delayed side.
        let is_low = (metric.better() == Direction::Higher) != (self.side == 1);
        if is_low { [by, 1.0] } else { [1.0, by] }
    }

    /// Standard deviation of a metric between two sittings, as a share: that of a quiet machine, and that of the
    /// noise which both had.
    pub(super) fn deviation(&self, metric: Metric) -> f64 {
        let by = self.percentile(metric).map_or(self.common.factor(), |noise| noise.common);
        drift(metric).hypot(noise_deviation(by))
    }

    fn percentile(&self, metric: Metric) -> Option<&PercentileNoise> {
        self.percentiles.iter().find(|noise| noise.metric == metric)
    }
}
