//! Randomness as a function of a counter.
//!
//! `SplitMix64` (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014) applied
//! to the number of the draw, so that a stream has no state: any draw of it can be had again, by
//! any thread, in any order.

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of `SplitMix64`: a bijection that looks random.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Draw number `index` of the stream that belongs to `seed`: 64 bits, evenly spread.
#[must_use]
pub fn draw(seed: u64, index: u64) -> u64 {
    // The seed is mixed first: neighbouring seeds must not give shifted copies of one stream.
    mix(mix(seed).wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
}

/// Draw number `index` as a number above 0 and up to 1, of 53 bits, so that its logarithm is finite.
#[must_use]
pub fn draw_unit(seed: u64, index: u64) -> f64 {
    ((draw(seed, index) >> 11) + 1) as f64 / (1u64 << 53) as f64
}
