//! All response times over time, as a heat map.

use crate::{Run, grouped};

use super::over_time::{groups_at_most, with_events};
use super::words::words;
use crate::page::{Axis, Chart, DataPoint, Unit};

/// Most columns: more would make the page large and show no more.
const COLUMNS_MAX: u64 = 90;
/// Cells in each factor of ten.
const PER_DECADE: f64 = 6.0;

/// The chart; `None` for a test that is too short.
pub(super) fn latency_heat(title: &str, run: &Run) -> Option<Chart> {
    let groups = groups_at_most(run, COLUMNS_MAX);
    let first = groups.first().filter(|_| groups.len() > 2)?;
    let chart = Chart::heat_map(
        title,
        Axis::linear("time", Unit::Seconds),
        Axis::log(words(run).response, Unit::Nanoseconds),
        first.to_s - first.from_s,
    );
    let mut cells: Vec<DataPoint> = Vec::new();
    for group in &groups {
        let Some(response) = group.response() else { continue };
        let mut counts: Vec<(i32, u64)> = Vec::new();
        for (ns, count) in response.recorded() {
            let cell = ((ns.max(1) as f64).log10() * PER_DECADE).floor() as i32;
            match counts.last_mut().filter(|(known, _)| *known == cell) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => counts.push((cell, count)),
            }
        }
        for (cell, count) in counts {
            let edge = |cell: i32| 10f64.powf(f64::from(cell) / PER_DECADE);
            let (low, high) = (edge(cell), edge(cell + 1));
            let middle = (low * high).sqrt();
            let point = DataPoint::at(group.middle_s, middle).within(low, high);
            cells.push(DataPoint { weight: count as f64, ..point });
        }
    }
    let most = cells.iter().map(|point| point.weight).fold(0.0, f64::max);
    let note = format!(
        "Each cell counts the {} of {}; the darkest has {}. Shades are logarithmic.",
        words(run).replies,
        Unit::Seconds.show(first.to_s - first.from_s),
        grouped(most),
    );
    Some(with_events(chart.with("replies", cells).noted(note), run))
}
