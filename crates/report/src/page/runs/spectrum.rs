//! Distribution of latencies: percentiles on a scale of nines.

use crate::Run;
use measure::Latency;

use super::words::words;
use crate::page::{Axis, Chart, DataPoint, Series, Unit};

/// Points for each factor of ten of the distance from 1.
const PER_DECADE: u32 = 10;

/// Response times of all requests by percentile, a line for each run; for a single run on a schedule, service
/// times too. Several runs are named.
pub fn spectrum(title: &str, runs: &[(&str, &Run)]) -> Chart {
    let named = runs.first().map(|(_, run)| words(run));
    let axis = named.as_ref().map_or("response time", |words| words.response);
    let mut chart = Chart::lines(title, Axis::nines(), Axis::log(axis, Unit::Nanoseconds));
    match (runs, named) {
        ([(_, run)], Some(words)) if run.plan.load.pace.schedule().is_some() => {
            let total = &run.measurement.total;
            words.latency.clone_into(&mut chart.y.label);
            if !run.plan.has_receivers() {
                let note = "Response time counts from when a request was due, service time from when it was sent.";
                note.clone_into(&mut chart.note);
            }
            let [response, service] = words.lines;
            chart.series.push(series(response, &total.response()));
            chart.series.push(series(service, &total.service()));
        }
        (runs, named) => {
            let only = named.map_or("response time", |words| words.lines[0]);
            let lines = runs.iter().map(|(name, run)| {
                let name = if name.is_empty() { only } else { name };
                series(name, &run.measurement.total.response())
            });
            chart.series.extend(lines);
        }
    }
    chart
}

/// The latency at quantiles ever nearer to 1, as far as the requests resolve them, and the greatest, which is
/// half a request from the end.
fn series(name: &str, latency: &Latency) -> Series {
    let count = latency.count() as f64;
    let left = (0..).map(|n| 10f64.powf(-f64::from(n) / f64::from(PER_DECADE)));
    let quantiles = left.take_while(|left| left * count >= 1.0).filter_map(|left| {
        let ns = latency.quantile_ns(1.0 - left)?;
        Some(DataPoint::at(1.0 - left, ns.max(1) as f64))
    });
    let greatest = latency
        .max_ns()
        .map(|ns| DataPoint::at(1.0 - 0.5 / count, ns.max(1) as f64).noted("the maximum"));
    Series::new(name, quantiles.chain(greatest))
}
