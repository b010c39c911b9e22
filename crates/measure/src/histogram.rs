//! A latency histogram.
//!
//! A thin wrapper of [`hdrhistogram::Histogram`] with keystorm's fixed choices: the unit is the nanosecond,
//! the range grows as needed, nothing is clamped, and the exact least, greatest and mean values are kept
//! beside the buckets, whose width is the chosen precision.
//!
//! A histogram for recording has all its buckets, a quarter of a megabyte. A loaded one has only the few that
//! are not empty, since files hold thousands of histograms.

use std::borrow::Cow;

use hdrhistogram::Histogram;

use crate::sparse::{Sparse, Widths};

/// Latencies in nanoseconds, from 1 ns upwards without an upper limit.
#[derive(Debug, Clone)]
pub struct Latency {
    pub(crate) buckets: Buckets,
    pub(crate) sum_ns: u128,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
}

/// Buckets of a histogram, in one of two forms.
#[derive(Debug, Clone)]
pub(crate) enum Buckets {
    /// All buckets, for recording.
    Dense(Histogram<u64>),
    /// Non-empty buckets, for reading.
    Sparse(Sparse),
}

/// Initial range, so that recording allocates only beyond it: one minute.
const PREPARED_NS: u64 = 60_000_000_000;

impl Latency {
    /// An empty histogram with this many significant digits, 1 to 5.
    pub fn new(precision: u8) -> Self {
        let buckets = Histogram::new_with_bounds(1, PREPARED_NS, precision.clamp(1, 5));
        let mut buckets = buckets.expect("bounds from 1 and 1 to 5 digits are valid");
        buckets.auto(true);
        Self::of_buckets(Buckets::Dense(buckets))
    }

    /// An empty histogram that takes next to no memory until something is recorded or added.
    pub fn empty(precision: u8) -> Self {
        Self::of_buckets(Buckets::Sparse(Sparse::empty(precision.clamp(1, 5))))
    }

    fn of_buckets(buckets: Buckets) -> Self {
        Self { buckets, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Bytes that the buckets of a histogram with this many digits take.
    pub fn bytes(precision: u8) -> u64 {
        let buckets = Widths::from_digits(precision.clamp(1, 5)).buckets_to(PREPARED_NS);
        buckets * size_of::<u64>() as u64
    }

    /// The greatest value in the bucket of `ns`, with this many digits.
    pub fn bucket_end(precision: u8, ns: u64) -> u64 {
        Widths::from_digits(precision.clamp(1, 5)).highest(ns)
    }

    /// Adds `count` replies that took `ns` each.
    #[inline]
    pub fn record_n(&mut self, ns: u64, count: u64) {
        // Half of the range is 292 years; only a broken clock goes beyond it.
        let ns = ns.min(u64::MAX / 2);
        let recorded = self.dense().record_n(ns.max(1), count);
        debug_assert!(recorded.is_ok(), "a growing histogram takes every value");
        self.sum_ns += u128::from(ns) * u128::from(count);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Returns all buckets, for recording.
    #[inline]
    fn dense(&mut self) -> &mut Histogram<u64> {
        if let Buckets::Sparse(sparse) = &self.buckets {
            self.buckets = Buckets::Dense(whole(sparse));
        }
        match &mut self.buckets {
            Buckets::Dense(buckets) => buckets,
            Buckets::Sparse(_) => unreachable!("they were made dense"),
        }
    }

    /// Returns the number of recorded replies.
    pub fn count(&self) -> u64 {
        match &self.buckets {
            Buckets::Dense(buckets) => buckets.len(),
            Buckets::Sparse(sparse) => sparse.count(),
        }
    }

    /// The exact mean; `None` if empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The exact least value; `None` if empty.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min_ns)
    }

    /// The exact greatest value; `None` if empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// The least value that a share `quantile` (0 to 1) of all replies did not exceed, within the precision
    /// and never above the greatest value; `None` if empty.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let value = match &self.buckets {
            Buckets::Dense(buckets) => buckets.value_at_quantile(quantile),
            Buckets::Sparse(sparse) => sparse.value_at_quantile(quantile),
        };
        (self.count() > 0).then(|| value.clamp(self.min_ns, self.max_ns))
    }

    /// Non-empty buckets in rising order: the greatest value of each (never above the greatest recorded) and
    /// its count.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (dense, sparse) = match &self.buckets {
            Buckets::Dense(buckets) => (Some(buckets), None),
            Buckets::Sparse(sparse) => (None, Some(sparse)),
        };
        let dense = dense.into_iter().flat_map(crate::sparse::held);
        let sparse = sparse.into_iter().flat_map(Sparse::held);
        dense.chain(sparse).map(|(ns, count)| (ns.min(self.max_ns), count))
    }

    /// The buckets in nanoseconds, for writers of other tools' formats.
    pub fn histogram(&self) -> Cow<'_, Histogram<u64>> {
        match &self.buckets {
            Buckets::Dense(buckets) => Cow::Borrowed(buckets),
            Buckets::Sparse(sparse) => Cow::Owned(whole(sparse)),
        }
    }

    /// Adds another histogram. Lossless for equal precisions.
    pub fn merge(&mut self, other: &Self) {
        let Self { buckets, sum_ns, min_ns, max_ns } = other;
        match (&mut self.buckets, buckets) {
            (Buckets::Sparse(into), Buckets::Sparse(from)) if into.alike(from) => into.merge(from),
            (_, Buckets::Sparse(from)) => {
                let into = self.dense();
                for (ns, count) in from.held() {
                    let added = into.record_n(ns, count);
                    debug_assert!(added.is_ok(), "a growing histogram takes every value");
                }
            }
            (_, Buckets::Dense(from)) => {
                let added = self.dense().add(from);
                debug_assert!(added.is_ok(), "a growing histogram takes every other");
            }
        }
        self.sum_ns += sum_ns;
        self.min_ns = self.min_ns.min(*min_ns);
        self.max_ns = self.max_ns.max(*max_ns);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        match &mut self.buckets {
            Buckets::Dense(buckets) => buckets.reset(),
            Buckets::Sparse(sparse) => sparse.clear(),
        }
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
    }
}

/// All buckets of a histogram that has only those that are not empty.
fn whole(sparse: &Sparse) -> Histogram<u64> {
    let mut latency = Latency::new(sparse.digits);
    for (ns, count) in sparse.held() {
        latency.record_n(ns, count);
    }
    latency.histogram().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn latency(values: &[u64]) -> Latency {
        let mut latency = Latency::new(3);
        values.iter().for_each(|&v| latency.record_n(v, 1));
        latency
    }

    fn figures(l: &Latency) -> ([Option<u64>; 3], Vec<(u64, u64)>) {
        ([Some(l.count()), l.min_ns(), l.max_ns()], l.recorded().collect())
    }

    proptest! {
        #[test]
        fn the_merge_of_parts_is_the_whole(
            a in prop::collection::vec(0u64..u64::MAX / 4, 0..60),
            b in prop::collection::vec(0u64..10_000_000, 0..60),
        ) {
            let mut merged = latency(&a);
            merged.merge(&latency(&b));
            let whole = latency(&[a, b].concat());
            prop_assert_eq!(figures(&merged), figures(&whole));
            prop_assert_eq!(merged.mean_ns(), whole.mean_ns());
        }

        #[test]
        fn few_buckets_say_what_all_of_them_do(
            a in prop::collection::vec(0u64..u64::MAX / 4, 0..60),
            b in prop::collection::vec(0u64..10_000_000, 0..60),
            quantile in 0.0f64..=1.0,
        ) {
            let sparse = |values: &[u64]| {
                let mut latency = latency(values);
                let held = crate::sparse::held(&latency.histogram()).collect();
                latency.buckets = Buckets::Sparse(Sparse::of_held(3, latency.count(), held));
                latency
            };
            let whole = latency(&[&a[..], &b].concat());
            let mut all = [sparse(&a), sparse(&a), latency(&a), Latency::empty(3)];
            all[0].merge(&sparse(&b));
            all[1].merge(&latency(&b));
            all[2].merge(&sparse(&b));
            all[3].merge(&sparse(&[a, b].concat()));
            for merged in &all {
                prop_assert_eq!(figures(merged), figures(&whole));
                prop_assert_eq!(merged.mean_ns(), whole.mean_ns());
                prop_assert_eq!(merged.histogram(), whole.histogram());
                for q in [0.0, quantile, 1.0] {
                    prop_assert_eq!(merged.quantile_ns(q), whole.quantile_ns(q));
                }
            }
            all[0].clear();
            prop_assert_eq!(figures(&all[0]), figures(&latency(&[])));
        }

        #[test]
        fn quantiles_are_within_the_precision(values in prop::collection::vec(1u64..1 << 45, 1..200)) {
            let latency = latency(&values);
            let mut sorted = values;
            sorted.sort_unstable();
            for q in [0.0, 0.5, 0.9, 0.99, 1.0] {
                let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
                let exact = sorted[rank - 1] as f64;
                let got = latency.quantile_ns(q).unwrap() as f64;
                prop_assert!((got - exact).abs() <= exact * 0.001 + 1.0, "{q}: {got} for {exact}");
            }
        }
    }

    #[test]
    fn buckets_are_known_without_a_histogram() {
        for digits in 1..=5 {
            let latency = Latency::new(digits);
            let buckets = latency.histogram();
            assert_eq!(Latency::bytes(digits), buckets.distinct_values() as u64 * 8, "{digits}");
            for ns in (0..50).flat_map(|power| [0, 1, 77].map(|more| (1u64 << power) + more)) {
                assert_eq!(Latency::bucket_end(digits, ns), buckets.highest_equivalent(ns));
            }
        }
    }

    #[test]
    fn four_seconds_are_four_seconds() {
        let latency = latency(&[4_000_000_000; 5]);
        assert_eq!(latency.mean_ns(), Some(4e9));
        assert_eq!(latency.quantile_ns(0.5), Some(4_000_000_000));
        assert_eq!(latency.max_ns(), Some(4_000_000_000));
    }

    #[test]
    fn nothing_has_no_figures() {
        let mut latency = latency(&[1]);
        latency.clear();
        assert_eq!(figures(&latency), ([Some(0), None, None], vec![]));
        assert_eq!(latency.quantile_ns(0.5), None);
        assert_eq!(latency.mean_ns(), None);
    }
}
