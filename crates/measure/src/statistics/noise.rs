//! Seeded noise for tests of statistics: the same on every machine.

use workload::random::{SplitMix, draw};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Noise(SplitMix);

impl Noise {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        // Drawn: multiples of what `SplitMix` adds would give neighbouring seeds shifted copies of one stream.
        Self(SplitMix::new(draw(seed, 0)))
    }

    /// Draws a number between 0 and 1, neither reached.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.draw() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Draws from the normal distribution of mean 0 and standard deviation 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_seeds_have_nothing_in_common() {
        let numbers = (0..10).flat_map(|seed| {
            (0..1_000).map(move |_| seed).scan(Noise::new(seed), |noise, _| Some(noise.uniform()))
        });
        let drawn: Vec<f64> = numbers.collect();
        let mut different: Vec<u64> = drawn.iter().map(|number| number.to_bits()).collect();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), drawn.len());
    }
}
