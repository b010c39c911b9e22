//! Randomness as a function of a counter.
//!
//! `SplitMix64` (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014) applied to the
//! number of the draw, so that a stream has no state: any thread can repeat any draw, in any order.

/// Step of the state of `SplitMix64` for each number: odd, and without a pattern.
pub(crate) const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of `SplitMix64`: a bijection that looks random.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// State of `SplitMix64` itself, for a sequence of numbers.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Returns the generator that continues from this state.
    pub fn new(state: u64) -> Self {
        Self(state)
    }

    /// The next 64 bits, evenly spread.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix(self.0)
    }
}

/// Draws of a seed, prepared for frequent use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    seed: u64,
    start: u64,
}

impl Stream {
    /// Returns the stream of a seed.
    #[inline]
    pub fn from_seed(seed: u64) -> Self {
        // Mixed: neighbouring seeds must not give shifted copies of one stream.
        Self { seed, start: mix(seed) }
    }

    /// Returns the stream of another seed, greater by `by`.
    #[inline]
    pub fn substream(self, by: u64) -> Self {
        Self::from_seed(self.seed.wrapping_add(by))
    }

    /// Draw number `index`: 64 uniform bits.
    #[inline]
    pub fn draw(self, index: u64) -> u64 {
        mix(self.start.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
    }
}

impl From<u64> for Stream {
    fn from(seed: u64) -> Self {
        Self::from_seed(seed)
    }
}

/// Draw number `index` of the stream of `seed`: 64 uniform bits.
#[inline]
pub fn draw(seed: u64, index: u64) -> u64 {
    Stream::from_seed(seed).draw(index)
}

/// Draw number `index` as a number above 0 and up to 1, with 53 bits, so that its logarithm is finite.
pub fn draw_unit(seed: u64, index: u64) -> f64 {
    unit(draw(seed, index))
}

/// Random bits as a number above 0 and up to 1.
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / BELOW_ONE
}

/// Maps random bits to `0..range`, by Lemire's multiply-shift ("Fast random integer generation in an
/// interval", 2019), whose bias is below `range / 2^64`.
#[inline]
pub(crate) fn within(bits: u64, range: u64) -> u64 {
    ((u128::from(bits) * u128::from(range)) >> 64) as u64
}

/// The index in `0..range` at this fraction, from 0 to below 1. A fraction has 53 bits and a range may need
/// 64: the random bits `fine` choose between two fractions.
#[inline]
pub(crate) fn place(fraction: f64, fine: u64, range: u64) -> u64 {
    within(((fraction * BELOW_ONE) as u64) << 11 | fine >> 53, range)
}

/// 2^64: all values of random bits.
pub(crate) const ALL: f64 = 2.0 * (1u64 << 63) as f64;

/// 2^53, up to which a float represents every integer.
const BELOW_ONE: f64 = (1u64 << 53) as f64;

/// Measures the distance of draws of `0..ranks` from these weights: Pearson's statistic, with one degree of
/// freedom less than there are ranks.
#[cfg(test)]
pub(crate) fn chi_square(
    draws: impl Iterator<Item = u64>,
    ranks: u64,
    weight: impl Fn(u64) -> f64,
) -> f64 {
    let mut counts = vec![0u64; ranks as usize];
    draws.for_each(|rank| counts[rank as usize] += 1);
    let (drawn, all) = (counts.iter().sum::<u64>() as f64, (0..ranks).map(&weight).sum::<f64>());
    let apart = counts.iter().zip(0..).map(|(count, rank)| {
        let expected = drawn * weight(rank) / all;
        (*count as f64 - expected).powi(2) / expected
    });
    apart.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_fraction_to_the_last_bit_of_the_range() {
        assert_eq!(place(0.5, 0, 10), 5);
        assert_eq!(place(0.0, u64::MAX, 1 << 53), 0);
        assert_eq!(place(1.0 - f64::EPSILON / 2.0, u64::MAX, u64::MAX), u64::MAX - 1);
        assert_eq!(place(0.25, 7 << 53, 1 << 63), (1 << 61) + 3);
    }
}
