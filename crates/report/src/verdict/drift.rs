//! Test whether both halves of a run are alike. A neighbour that starts work at half time, a cache that
//! fills, or a disk that falls behind make them differ, and then one mean describes neither.
//!
//! Each half is divided into blocks of intervals, and the ranks of all blocks are compared (Mann and Whitney,
//! 1947). A difference is reported if it is neither due to chance nor small. In a closed loop, throughput is
//! compared; in an open one, whose throughput is given, the mean response time is.

use measure::{Ending, Measurement, Point};
use workload::Plan;

use crate::quantity::{grouped, time};

/// Maximum and minimum number of blocks of each half.
const BLOCKS_MAX: u64 = 10;
const BLOCKS_MIN: u64 = 6;
/// Distance of the sum of ranks from its expectation, in standard deviations, from which a drift is reported: chance
/// exceeds it in one run in a thousand.
const SURE: f64 = 3.0;
/// Minimum difference of the halves that is reported: for throughput, and for response times, which vary more.
const RATE_MIN: f64 = 0.1;
const TIME_MIN: f64 = 0.5;

/// Describes the difference between the two halves of a run; `None` if there is none, or it cannot be known.
pub(super) fn drift(plan: &Plan, measurement: &Measurement) -> Option<String> {
    let limited = plan.load.pace.schedule().filter(|schedule| schedule.is_limited());
    let open = limited.is_some();
    if let Some(schedule) = limited {
        // The requested rate may differ.
        schedule.rate_per_s()?;
    }
    // Connections that join are a change on purpose, and an outage has lines of its own.
    let whole = measurement.ending == Ending::Complete && measurement.outages.is_empty();
    if !whole || plan.load.concurrency.joining.is_some() {
        return None;
    }
    let value = if open { mean_s } else { rate_per_s };
    let [first, second] = halves(measurement, value)?;
    let (before, after) = (mean(&first), mean(&second));
    let (low, high) = (before.min(after), before.max(after));
    let least = if open { TIME_MIN } else { RATE_MIN };
    if low <= 0.0 || high / low < 1.0 + least || deviations(&first, &second).abs() < SURE {
        return None;
    }
    let describe =
        |value: f64| if open { time(value) } else { format!("{} requests/s", grouped(value)) };
    let what = if open { "a mean response time of " } else { "" };
    Some(format!(
        "the two halves of the run differ: {what}{}, then {}; figures of the whole run describe \
         neither. Look for what changed, or run again",
        describe(before),
        describe(after)
    ))
}

/// A figure of some neighbouring intervals, of this length each in seconds.
type Value = fn(&[&Point], f64, u64) -> Option<f64>;

fn rate_per_s(points: &[&Point], interval_s: f64, intervals: u64) -> Option<f64> {
    let requests: u64 = points.iter().map(|point| point.requests).sum();
    Some(requests as f64 / (interval_s * intervals as f64))
}

fn mean_s(points: &[&Point], _interval_s: f64, _intervals: u64) -> Option<f64> {
    let (sum, n) = points
        .iter()
        .filter_map(|point| Some((point.mean_ns()?, point.requests as f64)))
        .fold((0.0, 0.0), |(sum, n), (mean, count)| (sum + mean * count, n + count));
    (n > 0.0).then(|| sum / n / 1e9)
}

/// The values of the blocks of both halves; `None` if there are too few.
fn halves(measurement: &Measurement, value: Value) -> Option<[Vec<f64>; 2]> {
    let timeline = &measurement.timeline;
    let full = timeline.full_intervals(measurement.elapsed_ns);
    let all = full.end - full.start;
    let blocks = (all / 2).min(BLOCKS_MAX);
    if blocks < BLOCKS_MIN {
        return None;
    }
    let interval_s = timeline.interval_ns as f64 / 1e9;
    let each = all / (2 * blocks);
    let block = |number: u64| {
        let from = full.start + number * each;
        let first = timeline.points.partition_point(|point| u64::from(point.index) < from);
        let last = timeline.points.partition_point(|point| u64::from(point.index) < from + each);
        let points: Vec<&Point> = timeline.points[first..last].iter().collect();
        value(&points, interval_s, each)
    };
    let first = (0..blocks).map(block).collect::<Option<Vec<f64>>>()?;
    // The second half begins in the middle, whatever is left over by whole blocks.
    let rest = (all - each * blocks) / each;
    let second = (rest..rest + blocks).map(block).collect::<Option<Vec<f64>>>()?;
    Some([first, second])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns by how many standard deviations the number of pairs with a higher second value differs from half
/// of the pairs.
fn deviations(first: &[f64], second: &[f64]) -> f64 {
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    let above: f64 = pairs
        .map(|(a, b)| match a.total_cmp(b) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 0.0,
        })
        .sum();
    let (n, m) = (first.len() as f64, second.len() as f64);
    (above - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}

#[cfg(test)]
mod tests {
    use measure::statistics::Noise;
    use measure::{EncodedLatency, ExactFigures, Timeline};

    use super::*;
    use crate::{Run, fixture};

    /// A run of intervals with these numbers of requests and mean response times in microseconds.
    fn run(open: bool, intervals: impl Iterator<Item = (f64, f64)>) -> Run {
        let mut run = if open { fixture::open_loop() } else { fixture::complete() };
        run.measurement.ending = Ending::Complete;
        let points: Vec<Point> = (0..)
            .zip(intervals)
            .map(|(index, (requests, mean_us))| {
                let sum_ns = (mean_us * 1e3) as u128;
                let exact = ExactFigures { count: 1, sum_ns, min_ns: 0, max_ns: 0 };
                let response = Some(EncodedLatency { exact, buckets: [].into() });
                Point { response, ..fixture::point(index, requests as u64) }
            })
            .collect();
        run.measurement.elapsed_ns = points.len() as u64 * 250_000_000;
        run.measurement.timeline = Timeline::from_points(250_000_000, points);
        run
    }

    fn describe(run: &Run) -> Option<String> {
        drift(&run.plan, &run.measurement)
    }

    #[test]
    fn a_neighbour_that_arrives_at_half_time_is_reported() {
        for arrives in [18, 20, 22] {
            let mut noise = Noise::new(arrives);
            let intervals = (0..40).map(|at| {
                let slowed = at >= arrives;
                let wavers = (0.05 * noise.normal()).exp();
                (
                    if slowed { 5_000.0 } else { 7_500.0 } * wavers,
                    if slowed { 400.0 } else { 100.0 } * wavers,
                )
            });
            let intervals: Vec<(f64, f64)> = intervals.collect();
            let closed = describe(&run(false, intervals.iter().copied()));
            assert!(closed.is_some_and(|text| text.contains("requests/s, then ")), "{arrives}");
            let open = describe(&run(true, intervals.iter().copied()));
            assert!(open.is_some_and(|text| text.contains("mean response time of ")), "{arrives}");
        }
    }

    #[test]
    fn noise_is_no_drift_and_neither_is_little_or_too_short() {
        let mut found = 0;
        for seed in 0..1000 {
            let mut noise = Noise::new(seed);
            let intervals = (0..40).map(|_| {
                let wavers = (0.3 * noise.normal()).exp();
                (5_000.0 * wavers, 100.0 * wavers)
            });
            found += u32::from(describe(&run(seed % 2 == 0, intervals)).is_some());
        }
        assert!(found <= 5, "{found} of 1000");
        let little = (0..40).map(|at| (if at < 20 { 5_000.0 } else { 5_300.0 }, 100.0));
        assert_eq!(describe(&run(false, little)), None, "6 % more is not two states");
        let short = (0..11).map(|at| (if at < 5 { 5_000.0 } else { 1_000.0 }, 100.0));
        assert_eq!(describe(&run(false, short)), None);
    }

    #[test]
    fn what_changes_on_purpose_is_no_drift() {
        let halves = || (0..40).map(|at| (if at < 20 { 5_000.0 } else { 1_000.0 }, 100.0));
        assert!(describe(&run(false, halves())).is_some());
        let mut cut = run(false, halves());
        cut.measurement.ending = Ending::Interrupted;
        assert_eq!(describe(&cut), None);
    }
}
