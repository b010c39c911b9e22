//! Non-empty buckets of a histogram.
//!
//! Owns the short form for histograms that are only read; it gives the same answers as the whole histogram.

use hdrhistogram::Histogram;

/// A histogram reduced to its non-empty buckets.
#[derive(Debug, Clone)]
pub(crate) struct Sparse {
    pub(crate) digits: u8,
    count: u64,
    /// Greatest value and count of each bucket, in rising order.
    held: Box<[(u64, u64)]>,
}

/// Bucket widths of a histogram with a number of significant digits, as in HdrHistogram. The first buckets
/// are 1 ns wide. Each further half reaches twice as far, with buckets twice as wide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widths {
    /// Base-two logarithm of the buckets in a half.
    half: u32,
}

impl Widths {
    pub(crate) fn from_digits(digits: u8) -> Self {
        Self { half: (2 * 10u64.pow(u32::from(digits))).ilog2() }
    }

    /// Greatest value of bucket number `bucket`; `None` beyond the last.
    pub(crate) fn highest_of(self, bucket: u64) -> Option<u64> {
        let doubled = (bucket >> self.half).saturating_sub(1);
        if doubled >= u64::from(u64::BITS) {
            return None;
        }
        let within = bucket - (doubled << self.half);
        u64::try_from((u128::from(within + 1) << doubled) - 1).ok()
    }

    /// Number of buckets of a histogram up to `ns`, which has whole halves.
    pub(crate) fn buckets_to(self, ns: u64) -> u64 {
        u64::from(ns.ilog2().saturating_sub(self.half) + 2) << self.half
    }

    /// Returns the greatest value in the same bucket as `ns`.
    pub(crate) fn highest(self, ns: u64) -> u64 {
        let doubled = ns.checked_ilog2().unwrap_or(0).saturating_sub(self.half);
        ns | ((1 << doubled) - 1)
    }
}

/// Non-empty buckets of a whole histogram, as in [`Sparse::held`].
pub(crate) fn held(buckets: &Histogram<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
    buckets
        .iter_recorded()
        .map(|step| (buckets.highest_equivalent(step.value_iterated_to()), step.count_at_value()))
}

impl Sparse {
    pub(crate) fn empty(digits: u8) -> Self {
        Self { digits, count: 0, held: Box::default() }
    }

    /// Builds it from buckets in rising order; `count` is their sum.
    pub(crate) fn of_held(digits: u8, count: u64, held: Vec<(u64, u64)>) -> Self {
        Self { digits, count, held: held.into() }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.held.iter().copied()
    }

    /// Value at a quantile, like [`Histogram::value_at_quantile`] to a bucket.
    pub(crate) fn value_at_quantile(&self, quantile: f64) -> u64 {
        if quantile == 0.0 {
            // The least of the first bucket; the exact least is not below it.
            return 0;
        }
        let rank = ((quantile.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0u64;
        let found = self.held().find(|(_, count)| {
            seen = seen.saturating_add(*count);
            seen >= rank
        });
        found.map_or(0, |(ns, _)| ns)
    }

    /// Returns whether both have buckets of the same widths.
    pub(crate) fn alike(&self, other: &Self) -> bool {
        self.digits == other.digits
    }

    /// Adds a histogram with the same widths of buckets.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.held.is_empty() {
            return;
        }
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(self.held.len() + other.held.len());
        let (mut ours, mut theirs) = (self.held.iter().peekable(), other.held.iter().peekable());
        while let Some(&(ns, count)) = match (ours.peek(), theirs.peek()) {
            (Some(a), Some(b)) if b.0 < a.0 => theirs.next(),
            (Some(_), _) => ours.next(),
            (None, _) => theirs.next(),
        } {
            match merged.last_mut().filter(|last| last.0 == ns) {
                Some(last) => last.1 = last.1.saturating_add(count),
                None => merged.push((ns, count)),
            }
        }
        self.count = self.count.saturating_add(other.count);
        self.held = merged.into();
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::empty(self.digits);
    }
}
