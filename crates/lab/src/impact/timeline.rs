//! Cost of an act to other users, read off the timeline of the load beside it.

use std::ops::Range;

use measure::{Latency, Measurement, Point};

use super::{EVERYBODY, Price};

/// Record of an act. Times are seconds since the measured part began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ActRecord {
    /// Start of the rest before it.
    pub rest_from_s: f64,
    /// Start of the act.
    pub from_s: f64,
    /// Time at which its end condition held, or its start was answered; `None` if it was given up.
    pub ended_s: Option<f64>,
    /// End of the rest after it.
    pub until_s: f64,
    /// Memory of the server before, in bytes: resident memory, if the server reports it.
    pub memory_before: Option<u64>,
    /// Largest memory until the rest was over, including copies of a forked child.
    pub memory_peak: Option<u64>,
}

/// Ratio up to which latency is back to normal.
const AS_BEFORE: f64 = 1.1;
/// Consecutive intervals for a return to normal; one alone may be luck.
const CALM: usize = 4;

impl Price {
    /// The price of an act, read off the timeline of the load beside it. `target_ns` is the target's bound.
    pub fn of_act(played: &ActRecord, measurement: &Measurement, target_ns: Option<f64>) -> Self {
        let timeline = &measurement.timeline;
        let interval_s = timeline.interval_ns as f64 / 1e9;
        let within = |span: Range<f64>| {
            let from = (span.start / interval_s).floor();
            let to = (span.end / interval_s).floor();
            timeline
                .points
                .iter()
                .filter(move |p| (from..to.max(from + 1.0)).contains(&f64::from(p.index)))
        };
        // The interval that it begins in is its own.
        let before: Vec<&Point> = within(played.rest_from_s..played.from_s - interval_s).collect();
        let during: Vec<&Point> = within(played.from_s..played.until_s).collect();
        let calm = together(before.iter().copied());
        let before_ns = calm.quantile_ns(0.99).unwrap_or(0) as f64;
        // Intervals of so few requests differ by chance: as far as they did before is as before.
        let usual = before.iter().filter_map(|p| p.p99_ns).max().unwrap_or(0) as f64;
        let bound_ns = (before_ns * AS_BEFORE).max(usual);
        let all = together(during.iter().copied());
        let excess_ns = |target_ns: f64| -> f64 {
            let over = all.recorded().map(|(ns, n)| (ns as f64 - target_ns).max(0.0) * n as f64);
            over.sum()
        };
        let outages = measurement.outages.iter().filter(|outage| {
            let at_s = outage.from_ns as f64 / 1e9;
            (played.from_s - interval_s..played.until_s).contains(&at_s)
        });
        let lost = outages.map(|outage| outage.failures.lost + outage.failures.timed_out);
        let errors = during.iter().map(|point| point.errors);
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            waits: EVERYBODY.to_owned(),
            from_s: Some(played.from_s),
            lasted_s: played.ended_s.map(|ended_s| (ended_s - played.from_s).max(0.0)),
            without_ms: calm.quantile_ns(0.99).map(ms),
            with_ms: during.iter().filter_map(|p| p.p99_ns).max().map(ms),
            max_ms: all.max_ns().map(ms),
            back_s: back(&during, bound_ns)
                .map(|index| (f64::from(index) * interval_s - played.from_s).max(0.0)),
            user_seconds: target_ns.map(|target_ns| excess_ns(target_ns) / 1e9),
            failed: Some(errors.chain(lost).fold(0, u64::saturating_add)),
            memory_before: played.memory_before,
            memory_peak: played.memory_peak,
            ..Self::default()
        }
    }
}

/// The response times of these intervals.
fn together<'p>(points: impl Iterator<Item = &'p Point>) -> Latency {
    let decoded = points.filter_map(|point| point.response.as_ref()?.decode().ok());
    let mut all: Option<Latency> = None;
    for latency in decoded {
        match &mut all {
            Some(all) => all.merge(&latency),
            None => all = Some(latency),
        }
    }
    all.unwrap_or_else(|| Latency::new(3))
}

/// The first of the consecutive intervals that are back to normal, if latency came back.
fn back(points: &[&Point], bound_ns: f64) -> Option<u32> {
    let calm = |point: &&Point| point.p99_ns.is_some_and(|ns| ns as f64 <= bound_ns);
    let mut worse = points.iter().rposition(|point| !calm(point)).map_or(0, |at| at + 1);
    // An interval that is worse long after the recovery has another cause.
    if let Some(first) = points.windows(CALM).position(|window| window.iter().all(calm)) {
        worse = worse.min(first);
    }
    points.get(worse).map(|point| point.index)
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
