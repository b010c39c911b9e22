//! Requests over time, and spans without any.

use crate::intervals::Intervals;
use crate::stalls::{Gap, Stalls};

/// Maximum number of points; further ones are merged with neighbours.
const POINTS_MAX: usize = 2048;
const SECOND_NS: u64 = 1_000_000_000;

/// Requests per second over the record.
#[derive(Debug, Default)]
pub(super) struct Times {
    first_ns: Option<u64>,
    last_ns: u64,
    counts: Intervals<POINTS_MAX, SECOND_NS>,
    /// Largest count of a whole second, and the count of the current second.
    peak: u64,
    second: u64,
    of_second: u64,
    pub(super) stalls: Stalls,
    /// Number of times that the clock was set back.
    pub(super) steps_back: u64,
    pub(super) events: u64,
}

impl Times {
    /// Adds the next request. Returns the gap before it, if that may be a stall.
    pub(super) fn add(&mut self, at_ns: u64) -> Option<Gap> {
        self.events += 1;
        let Some(first) = self.first_ns else {
            (self.first_ns, self.last_ns) = (Some(at_ns), at_ns);
            (self.second, self.of_second) = (0, 1);
            self.counts.add(0);
            return self.stalls.add(0);
        };
        if at_ns < self.last_ns {
            self.steps_back += 1;
        }
        let at = at_ns.max(self.last_ns);
        let gap = self.stalls.add(at - first);
        self.last_ns = at;
        let second = (at - first) / SECOND_NS;
        if second != self.second {
            self.peak = self.peak.max(self.of_second);
            (self.second, self.of_second) = (second, 0);
        }
        self.of_second += 1;
        self.counts.add(at - first);
        gap
    }

    /// Time from the first event to the last, in nanoseconds.
    pub(super) fn span_ns(&self) -> u64 {
        self.last_ns - self.first_ns.unwrap_or(self.last_ns)
    }

    /// Requests per second, in the mean.
    pub(super) fn mean_per_s(&self) -> Option<f64> {
        let span = self.span_ns();
        (span > 0).then(|| self.events as f64 * 1e9 / span as f64)
    }

    /// The most requests of a second.
    pub(super) fn peak_per_s(&self) -> u64 {
        self.peak.max(self.of_second)
    }

    /// Seconds after the first event, and requests per second then.
    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        let width_s = self.counts.each_ns as f64 / 1e9;
        let rate = |(at, count): (usize, &u64)| (at as f64 * width_s, *count as f64 / width_s);
        self.counts.counts.iter().enumerate().map(rate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_peaks_and_stalls_are_those_of_the_events() {
        let mut times = Times::default();
        for second in 0..10_000_u64 {
            let count = if second == 77 { 500 } else { 10 };
            for n in 0..count {
                times.add(second * SECOND_NS + n * SECOND_NS / count);
            }
        }
        assert_eq!((times.peak_per_s(), times.events), (500, 100_490));
        assert!(times.points().len() <= POINTS_MAX && times.stalls.found().is_empty());
        let total: f64 =
            times.points().iter().map(|(_, rate)| rate * times.counts.each_ns as f64 / 1e9).sum();
        assert!((total - 100_490.0).abs() < 1.0);
        times.add(10_100 * SECOND_NS);
        assert_eq!(times.stalls.found()[0].length_ns, 100_100_000_000);
        times.add(0);
        assert_eq!(times.steps_back, 1);
    }
}
