//! How latencies spread: each percentile on a scale of nines.

use measure::Latency;
use report::Run;

use crate::{Axis, Chart, DataPoint, Series, Unit};

/// Points in each factor of ten of what is left of 1.
const PER_DECADE: u32 = 10;

/// Response times of all requests by percentile, a line for each run; of a single run on a schedule,
/// service times too. Runs are named where there are several.
#[must_use]
pub fn spectrum(title: &str, runs: &[(&str, &Run)]) -> Chart {
    let mut chart =
        Chart::lines(title, Axis::nines(), Axis::log("response time", Unit::Nanoseconds));
    match runs {
        [(_, run)] if run.plan.load.pace.schedule().is_some() => {
            let total = &run.measurement.total;
            chart.y.label = "latency".to_owned();
            chart.note =
                "Response time counts from when a request was due, service time from when \
                          it was sent."
                    .to_owned();
            chart.series.push(series("response time", &total.response()));
            chart.series.push(series("service time", &total.service()));
        }
        runs => {
            let lines = runs.iter().map(|(name, run)| {
                let name = if name.is_empty() { "response time" } else { name };
                series(name, &run.measurement.total.response())
            });
            chart.series.extend(lines);
        }
    }
    chart
}

/// The latency at quantiles ever nearer to 1, as far as there are requests to tell them apart, and
/// the greatest, which lies half a request from the end.
fn series(name: &str, latency: &Latency) -> Series {
    let count = latency.count() as f64;
    let left = (0..).map(|n| 10f64.powf(-f64::from(n) / f64::from(PER_DECADE)));
    let quantiles = left.take_while(|left| left * count >= 1.0).filter_map(|left| {
        let ns = latency.quantile_ns(1.0 - left)?;
        Some(DataPoint::from((1.0 - left, ns.max(1) as f64)))
    });
    let greatest = latency.max_ns().map(|ns| DataPoint {
        note: "the maximum".to_owned(),
        ..DataPoint::from((1.0 - 0.5 / count, ns.max(1) as f64))
    });
    Series { points: quantiles.chain(greatest).collect(), ..Series::new(name, []) }
}
