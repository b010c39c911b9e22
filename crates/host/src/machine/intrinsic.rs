//! Latency that this machine adds without any server: interruptions of a busy thread, and lateness of timers.
//!
//! Modelled on `redis-cli --intrinsic-latency`, which gives the longest interruption; this gives the
//! distribution. `doctor` judges the figures.

use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use super::load::cpu_times;

/// Distance of two clock readings above which there was an interruption. A reading takes 20 to 60 ns.
const INTERRUPTION_NS: u64 = 5_000;
/// Length of timers: the wait of a client between requests at 1,000/s.
const TIMER: Duration = Duration::from_millis(1);
/// Shortest useful time: a hundred timers.
const SHORTEST: Duration = Duration::from_millis(100);

/// Delays of a machine without any server at work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Intrinsic {
    /// Seconds of a busy thread, and again of timers.
    pub seconds: f64,
    /// Wait of the busy thread for the CPU at a random moment.
    pub busy: Delays,
    /// Lateness of timers of 1 ms.
    pub timers: Delays,
    /// Share of the busy time without a CPU, 0 to 1, for any reason.
    pub interrupted: f64,
    /// Share of this machine's CPU time that its hypervisor gave to others during it, 0 to 1.
    pub stolen: Option<f64>,
    /// Share of the busy time in which other programs had the CPU, 0 to 1.
    pub waited: Option<f64>,
}

/// A distribution of delays, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Delays {
    /// Interruptions, or timers.
    pub count: u64,
    /// The median.
    pub p50_us: f64,
    /// The 90th percentile.
    pub p90_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The 99.9th percentile.
    pub p999_us: f64,
    /// The 99.99th percentile.
    pub p9999_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Intrinsic {
    /// Keeps the calling thread busy for half of this time, and lets it wait for timers in the other half, at
    /// least a tenth of a second each.
    pub fn measure(time: Duration) -> Self {
        let half = (time / 2).max(SHORTEST);
        let (times, delay_ns) = (cpu_times(), engine::run_delay_ns());
        let gaps = interruptions(half);
        let meanwhile = cpu_times().zip(times).map(|(after, before)| after.since(before));
        let delays_ns = engine::run_delay_ns().zip(delay_ns);
        let timers = timers(half);
        let (ns, half_ns) = (half.as_nanos() as f64, half.as_nanos() as u64);
        Self {
            seconds: half.as_secs_f64(),
            busy: Delays::from_interruptions(&gaps, half_ns),
            timers: Delays::from_samples(&timers),
            interrupted: (total_ns(&gaps) / ns).min(1.0),
            stolen: meanwhile.and_then(|times| times.steal_share()),
            waited: delays_ns
                .map(|(after, before)| (after.saturating_sub(before) as f64 / ns).min(1.0)),
        }
    }
}

impl Delays {
    /// Computes how long a random moment within `span_ns` waits for the end of the interruption around it.
    fn from_interruptions(gaps: &Histogram<u64>, span_ns: u64) -> Self {
        Self::new(gaps, |quantile| delay_of_a_moment(gaps, span_ns, quantile) / 1e3)
    }

    /// Quantiles of delays, each counted once.
    fn from_samples(delays: &Histogram<u64>) -> Self {
        Self::new(delays, |quantile| delays.value_at_quantile(quantile) as f64 / 1e3)
    }

    fn new(delays: &Histogram<u64>, at: impl Fn(f64) -> f64) -> Self {
        let max_us = delays.max() as f64 / 1e3;
        let at = |quantile| at(quantile).min(max_us);
        Self {
            count: delays.len(),
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            p9999_us: at(0.9999),
            max_us,
        }
    }
}

fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new(2).expect("two digits are valid");
    histogram.auto(true);
    histogram
}

/// Reads the clock continuously, and records long intervals between two readings as interruptions.
fn interruptions(time: Duration) -> Histogram<u64> {
    let mut gaps = histogram();
    let begun = Instant::now();
    let mut last = begun;
    loop {
        let now = Instant::now();
        let gap_ns = (now - last).as_nanos() as u64;
        if gap_ns > INTERRUPTION_NS {
            let _ = gaps.record(gap_ns);
        }
        if now - begun >= time {
            return gaps;
        }
        // Recording is no interruption.
        last = if gap_ns > INTERRUPTION_NS { Instant::now() } else { now };
    }
}

/// Measures the lateness of timers.
fn timers(time: Duration) -> Histogram<u64> {
    let mut late = histogram();
    let begun = Instant::now();
    while begun.elapsed() < time {
        let set = Instant::now();
        thread::sleep(TIMER);
        let _ = late.record(set.elapsed().saturating_sub(TIMER).as_nanos() as u64);
    }
    late
}

fn total_ns(gaps: &Histogram<u64>) -> f64 {
    gaps.iter_recorded().map(|v| v.value_iterated_to() as f64 * v.count_at_value() as f64).sum()
}

/// Computes the delay in nanoseconds that this share of all moments does not exceed.
///
/// A moment in an interruption of length `g` waits more than `x` if it is in its first `g - x`. So the share
/// of moments that wait more than `x` is the sum of `g - x` over the longer interruptions, divided by the
/// span: a line between two lengths, which is solved for `x` from the longest downwards.
fn delay_of_a_moment(gaps: &Histogram<u64>, span_ns: u64, quantile: f64) -> f64 {
    let beyond_ns = (1.0 - quantile) * span_ns as f64;
    let lengths: Vec<(f64, f64)> = gaps
        .iter_recorded()
        .map(|v| (v.value_iterated_to() as f64, v.count_at_value() as f64))
        .collect();
    let (mut count, mut sum) = (0.0, 0.0);
    for (at, &(length, times)) in lengths.iter().enumerate().rev() {
        (count, sum) = (count + times, sum + length * times);
        let shorter = at.checked_sub(1).map_or(0.0, |at| lengths[at].0);
        let delay = (sum - beyond_ns) / count;
        if delay >= shorter {
            return delay;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(of: &[(u64, u64)]) -> Histogram<u64> {
        let mut gaps = Histogram::new(3).unwrap();
        for (ns, times) in of {
            gaps.record_n(*ns, *times).unwrap();
        }
        gaps
    }

    /// A tenth of all moments waits when 100 times 10 ms of 10 s are lost, each evenly from 0 to 10 ms.
    #[test]
    fn moments_wait_for_the_rest_of_their_interruption() {
        let delays = Delays::from_interruptions(&gaps(&[(10_000_000, 100)]), 10_000_000_000);
        assert!(delays.p50_us == 0.0 && delays.p90_us < 20.0, "{delays:?}");
        assert!((delays.p99_us - 9_000.0).abs() < 20.0, "{delays:?}");
        assert!((delays.p999_us - 9_900.0).abs() < 20.0, "{delays:?}");
        assert!((delays.max_us - 10_000.0).abs() < 10.0, "{delays:?}");
    }

    /// Compares the quantiles with those of randomly drawn moments, for lengths of all sizes.
    #[test]
    fn quantiles_are_those_of_moments_that_are_drawn() {
        let lengths = [(7_000, 300), (80_000, 40), (1_500_000, 9), (30_000_000, 2)];
        let (gaps, span_ns) = (gaps(&lengths), 1_000_000_000_u64);
        let all = lengths.iter().flat_map(|(ns, times)| vec![*ns; *times as usize]);
        // One moment in each microsecond; those outside all interruptions wait for nothing.
        let mut waits: Vec<u64> =
            all.flat_map(|ns| (0..ns).step_by(1_000).map(move |into| ns - into)).collect();
        waits.sort_unstable_by(|a, b| b.cmp(a));
        for quantile in [0.9, 0.95, 0.99, 0.999, 0.9999] {
            let beyond = ((1.0 - quantile) * span_ns as f64 / 1_000.0) as usize;
            let drawn = waits.get(beyond).copied().unwrap_or(0) as f64;
            let solved = delay_of_a_moment(&gaps, span_ns, quantile);
            assert!(
                (solved - drawn).abs() <= 0.01 * drawn + 2_000.0,
                "{quantile}: {solved}, {drawn}"
            );
        }
    }

    #[test]
    fn a_machine_is_measured() {
        let found = Intrinsic::measure(Duration::from_millis(200));
        assert!(found.timers.count > 0 && found.timers.p50_us >= 0.0, "{found:?}");
        assert!((0.0..=1.0).contains(&found.interrupted), "{found:?}");
        assert!(found.busy.p50_us <= found.busy.max_us, "{found:?}");
    }
}
