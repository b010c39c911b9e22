//! Allowances for runs that did not alternate: the machine's changes over time, and disturbances of one side
//! only.
//!
//! The first is a standard deviation added to that of the runs
//! ([`RatioEstimate::of_sittings`](statistics::RatioEstimate)). The second goes one way: other programs make
//! a server slower and never faster. So the side that they held up more may be better than measured, by as
//! much as that time can explain.

use super::RunDigest;
use crate::{Direction, Held, Metric};

/// Returns the least change of a figure between hours of a quiet machine, as a standard deviation: clock
/// rates, placement of threads and memory, and other programs differ.
pub(super) fn drift(metric: Metric) -> f64 {
    match metric {
        Metric::Throughput | Metric::Keys | Metric::ClientCpu | Metric::ServerCpu => 0.01,
        Metric::Mean | Metric::Min | Metric::P50 | Metric::P90 => 0.02,
        Metric::P95 => 0.04,
        Metric::P99 => 0.1,
        Metric::P99_9 | Metric::Max => 0.2,
    }
}

/// Factors by which B / A may be lower and higher than measured.
#[derive(Debug, Clone, Default)]
pub(super) struct Excuse {
    /// The side that was held up more.
    side: usize,
    /// The excess of its noise over the other's.
    held: Held,
    /// Percentiles of that side: the quantile of each, and the quantile without the requests that may have
    /// been delayed.
    percentiles: Vec<(Metric, f64)>,
}

impl Excuse {
    /// Makes the excuse of runs of A and of B.
    pub(super) fn of_runs([a, b]: [&[RunDigest]; 2]) -> Self {
        let held = [a, b].map(|side| Held::mean(side.iter().map(|glance| glance.held)));
        let side = usize::from(held[1].share > held[0].share);
        let held = held[side].beyond(held[1 - side]);
        let Some(times) = super::response_times([a, b][side].iter().map(RunDigest::run)) else {
            return Self::default();
        };
        let factor = |metric: Metric| {
            let quantile = metric.quantile()?;
            let as_measured = times.quantile_ns(quantile)? as f64;
            let least = times.quantile_ns(quantile * (1.0 - held.delayed))?.max(1) as f64;
            Some((metric, as_measured / least))
        };
        Self { side, held, percentiles: super::COMPARED.into_iter().filter_map(factor).collect() }
    }

    /// Factors for a metric by which the ratio may be lower, and higher.
    pub(super) fn of(&self, metric: Metric) -> [f64; 2] {
        let known = self.percentiles.iter().find(|(of, _)| *of == metric);
        let by = known.map_or(self.held.factor(), |(_, factor)| *factor);
        // What is better the higher it is, was measured too low on the side that was held up.
        let is_low = (metric.better() == Direction::Higher) != (self.side == 1);
        if is_low { [by, 1.0] } else { [1.0, by] }
    }
}
