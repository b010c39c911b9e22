//! Distributions of sizes and times in constant memory, with buckets 3 % wide.

use std::collections::BTreeMap;

/// Significant bits of a number that a bucket keeps.
const BITS: u32 = 5;

/// Distribution of numbers.
#[derive(Debug, Clone, Default)]
pub struct Sizes {
    buckets: BTreeMap<u32, u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Sizes {
    /// Adds a number that occurred `times` times.
    pub fn add(&mut self, number: u64, times: u64) {
        *self.buckets.entry(bucket(number)).or_default() += times;
        self.min = if self.count == 0 { number } else { self.min.min(number) };
        self.max = self.max.max(number);
        self.count += times;
        self.sum += u128::from(number) * u128::from(times);
    }

    /// Returns the number of added numbers.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Mean; 0 if empty.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The largest.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The number that `percent` of them do not exceed, within 2 %.
    pub fn percentile(&self, percent: f64) -> u64 {
        let rank = (self.count as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut below = 0;
        for (bucket, times) in &self.buckets {
            below += times;
            if below >= rank {
                return middle(*bucket).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Middle and count of each bucket, merged into at most `most` steps of about equal weight.
    pub fn steps(&self, most: usize) -> Vec<(u64, u64)> {
        if self.buckets.len() <= most {
            let each = self.buckets.iter();
            return each.map(|(b, times)| (middle(*b).clamp(self.min, self.max), *times)).collect();
        }
        let per_step = self.count.div_ceil(most as u64).max(1);
        let (mut steps, mut sum, mut times) = (Vec::new(), 0_u128, 0);
        for (bucket, count) in &self.buckets {
            sum += u128::from(middle(*bucket)) * u128::from(*count);
            times += count;
            if times >= per_step {
                steps.push(((sum / u128::from(times)) as u64, times));
                (sum, times) = (0, 0);
            }
        }
        if times > 0 {
            steps.push(((sum / u128::from(times)) as u64, times));
        }
        steps
    }
}

fn bucket(number: u64) -> u32 {
    let octave = 63 - (number | 1).leading_zeros();
    match octave.checked_sub(BITS) {
        None => number as u32,
        Some(shift) => ((shift + 1) << BITS) + (number >> shift) as u32 - (1 << BITS),
    }
}

fn middle(bucket: u32) -> u64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    if bucket >> BITS == 0 {
        return u64::from(bucket);
    }
    let low = u64::from((bucket & ((1 << BITS) - 1)) + (1 << BITS)) << shift;
    low + ((1 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        let mut last = 0;
        for number in (0..100_000_u64).chain([1 << 40, u64::MAX / 2, u64::MAX]) {
            let found = bucket(number);
            assert!(found >= last, "{number}");
            last = found;
            assert!(middle(found).abs_diff(number) as f64 <= number as f64 * 0.017, "{number}");
        }
    }

    #[test]
    fn percentiles_and_steps_are_those_of_the_numbers() {
        let mut sizes = Sizes::default();
        (1..=10_000).for_each(|number| sizes.add(number, 1));
        assert!(sizes.percentile(50.0).abs_diff(5000) < 100 && sizes.percentile(100.0) > 9800);
        let steps = sizes.steps(20);
        let mean: f64 =
            steps.iter().map(|(size, times)| *size as f64 * *times as f64).sum::<f64>() / 1e4;
        assert!(steps.len() <= 20 && (mean - sizes.mean()).abs() < 50.0, "{steps:?}");
    }
}
