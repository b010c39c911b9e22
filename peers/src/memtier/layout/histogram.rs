//! The histogram that its latencies are read off: microseconds from 10 to 600 million in two
//! significant digits, so that figures fall on the same steps as the original's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use measure::Latency;

/// Bounds in microseconds.
const LEAST: u64 = 10;
const MOST: u64 = 600_000_000;

/// Latencies in its steps.
#[derive(Debug, Clone)]
pub(crate) struct MemtierHistogram(Histogram<u64>);

impl Default for MemtierHistogram {
    fn default() -> Self {
        let cells = Histogram::new_with_bounds(LEAST, MOST, 2);
        Self(cells.expect("bounds from 10 and two digits are valid"))
    }
}

impl MemtierHistogram {
    /// Returns the histogram of these latencies.
    pub(crate) fn from_latency(latency: &Latency) -> Self {
        let mut cells = Self::default();
        cells.add(latency);
        cells
    }

    /// Returns whether the original's buckets, which go by its steps, tell two numbers of microseconds apart.
    pub(crate) fn tell_apart(a: u64, b: u64) -> bool {
        const DAY: u64 = 86_400_000_000;
        let steps = Histogram::<u64>::new_with_bounds(LEAST, DAY, 2);
        steps.is_ok_and(|steps| !steps.equivalent(a, b))
    }

    /// Adds a histogram.
    pub(crate) fn add(&mut self, latency: &Latency) {
        for (ns, count) in latency.recorded() {
            self.0.saturating_record_n((ns / 1000).clamp(LEAST, MOST), count);
        }
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: &Self) {
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok(), "all have the same bounds");
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// The upper edge of the step in which a percentile lies, in milliseconds; of the 0th the lower one.
    pub(crate) fn percentile_ms(&self, percentile: f64) -> f64 {
        self.0.value_at_percentile(percentile.clamp(0.0, 100.0)) as f64 / 1000.0
    }

    /// The lower edge of the lowest step, in milliseconds.
    pub(crate) fn min_ms(&self) -> f64 {
        self.0.lowest_equivalent(self.0.min()) as f64 / 1000.0
    }

    /// The upper edge of the highest step, in milliseconds.
    pub(crate) fn max_ms(&self) -> f64 {
        if self.0.is_empty() {
            0.0
        } else {
            self.0.highest_equivalent(self.0.max()) as f64 / 1000.0
        }
    }

    /// Mean and standard deviation of the middles of steps, in milliseconds.
    pub(crate) fn mean_and_deviation_ms(&self) -> (f64, f64) {
        (self.0.mean() / 1000.0, self.0.stdev() / 1000.0)
    }

    /// Each step that holds something, by its upper edge in milliseconds, with its count.
    pub(super) fn steps(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let recorded = self.0.iter_recorded();
        recorded.map(|at| (at.value_iterated_to() as f64 / 1000.0, at.count_at_value()))
    }

    /// Encodes it in the compressed form of HdrHistogram, as text.
    pub(crate) fn encoded(&self) -> String {
        let mut bytes = Vec::new();
        let written = V2DeflateSerializer::new().serialize(&self.0, &mut bytes);
        debug_assert!(written.is_ok(), "memory takes every byte");
        STANDARD.encode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(us: &[u64]) -> MemtierHistogram {
        let mut latency = Latency::new(4);
        us.iter().for_each(|us| latency.record_n(us * 1000, 1));
        MemtierHistogram::from_latency(&latency)
    }

    #[test]
    fn values_are_the_edges_of_the_steps_of_the_original() {
        for (us, edge) in [
            (9, 0.015),
            (50, 0.055),
            (100, 0.103),
            (1000, 1.007),
            (10_000, 10.047),
            (1_000_000, 1003.519),
        ] {
            let cells = cells(&[us]);
            assert_eq!(
                format!("{:.3}", cells.percentile_ms(50.0)),
                format!("{edge:.3}"),
                "{us} us"
            );
            assert_eq!(cells.max_ms(), cells.percentile_ms(100.0));
        }
        let low = cells(&[10, 20]);
        assert_eq!((low.percentile_ms(0.0), low.min_ms()), (0.008, 0.008));
        assert_eq!(MemtierHistogram::default().percentile_ms(99.0), 0.0);
    }

    #[test]
    fn it_is_encoded_as_others_read_it() {
        assert!(cells(&[50]).encoded().starts_with("HISTF"), "{}", cells(&[50]).encoded());
    }
}
