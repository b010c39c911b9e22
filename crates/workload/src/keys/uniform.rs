//! Every key equally likely.

use super::KeyDraw;
use crate::random;

/// Draws by a counter-based generator, and Lemire's multiply-shift to bring it into range ("Fast
/// random integer generation in an interval", 2019). The bias of the latter is below
/// `range / 2^64`.
#[derive(Debug, Clone, Copy)]
pub struct Uniform;

impl KeyDraw for Uniform {
    fn draw(&self, seed: u64, index: u64, range: u64) -> u64 {
        ((u128::from(random::draw(seed, index)) * u128::from(range)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_evenly_spread() {
        const CELLS: u64 = 100;
        const DRAWS: u64 = 100_000;
        for seed in 0..5 {
            let mut counts = [0u64; CELLS as usize];
            for index in 0..DRAWS {
                counts[Uniform.draw(seed, index, CELLS) as usize] += 1;
            }
            let expected = (DRAWS / CELLS) as f64;
            let chi2: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
            // 99 degrees of freedom: 99.9 % of samples lie below 148.2 and above 61.
            assert!((55.0..160.0).contains(&chi2), "seed {seed}: chi-square {chi2}");
        }
    }

    #[test]
    fn seeds_give_different_streams() {
        let stream =
            |seed| -> Vec<u64> { (0..20).map(|i| Uniform.draw(seed, i, 1 << 40)).collect() };
        assert_ne!(stream(1), stream(2));
        assert_ne!(stream(1)[1..], stream(2)[..19], "neighbouring seeds are not shifted copies");
    }
}
