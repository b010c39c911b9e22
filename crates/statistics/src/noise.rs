//! Seeded noise for tests of statistics: the same on every machine.

use workload::random::{GOLDEN_GAMMA, SplitMix};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Noise(SplitMix);

impl Noise {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed.wrapping_mul(GOLDEN_GAMMA)))
    }

    /// Between 0 and 1, neither reached.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.draw() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Of mean 0 and standard deviation 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}
