//! The buckets of rpc-perf's histograms: values up to 255 each have one, and every power of two above
//! has 128.

use measure::Latency;

/// Bits of a value that its bucket keeps.
pub(super) const GROUPING_POWER: u32 = 7;
/// Bits of the largest value.
pub(super) const MAX_VALUE_POWER: u32 = 64;
/// All of them.
const COUNT: usize = ((MAX_VALUE_POWER - GROUPING_POWER + 1) << GROUPING_POWER) as usize;

/// The bucket of a value.
fn index(value: u64) -> usize {
    let linear = 1 << (GROUPING_POWER + 1);
    if value < linear {
        return value as usize;
    }
    let power = value.ilog2();
    let within = (value - (1 << power)) >> (power - GROUPING_POWER);
    (linear as usize)
        + (((power - GROUPING_POWER - 1) << GROUPING_POWER) as usize)
        + within as usize
}

/// Returns the buckets that hold something, in rising order, with their counts.
pub(super) fn held(latency: Option<&Latency>) -> Vec<(usize, u64)> {
    let mut held: Vec<(usize, u64)> = Vec::new();
    for (ns, count) in latency.into_iter().flat_map(Latency::recorded) {
        let index = index(ns);
        match held.last_mut() {
            Some((last, sum)) if *last == index => *sum += count,
            _ => held.push((index, count)),
        }
    }
    held
}

/// All of them.
pub(super) fn all(latency: Option<&Latency>) -> Vec<u64> {
    let mut all = vec![0; COUNT];
    held(latency).into_iter().for_each(|(index, count)| all[index] += count);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_next_to_each_other_and_end_with_the_largest_value() {
        assert_eq!([0, 255, 256, 257, 258].map(index), [0, 255, 256, 256, 257]);
        assert_eq!([511, 512, 515, 516].map(index), [383, 384, 384, 385]);
        assert_eq!(index(u64::MAX), COUNT - 1);
        assert_eq!(COUNT, 7424);
        let mut latency = Latency::new(3);
        for ns in [1, 61_900, 61_901, 5_000_000] {
            latency.record_n(ns, 2);
        }
        let held = held(Some(&latency));
        assert_eq!(held.iter().map(|(_, count)| count).sum::<u64>(), 8);
        assert!(held.windows(2).all(|pair| pair[0].0 < pair[1].0), "{held:?}");
        assert_eq!(all(Some(&latency)).iter().sum::<u64>(), 8);
    }
}
