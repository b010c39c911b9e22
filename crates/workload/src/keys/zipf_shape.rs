//! Shape of Zipf's law: its exponent, and draws over a finite range.
//!
//! Exact, with no sum over the keys: rejection from the integral of the density, which is inverted in closed form
//! (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996).
//! The auxiliary functions keep their precision near `S = 1`, like those of Apache Commons RNG.

use crate::random::{self, Stream};

/// Rank beyond which one draw in 10^12 would be rejected; farther out the exact test would compare rounding
/// errors.
pub(super) const FAR: u64 = 1 << 20;
/// Minimum distance of `S` from 1 for a power of `1 / (1 - S)` to be right to twelve digits.
const DISTANCE_MIN: f64 = 1e-4;
/// Value below which the first terms of a quotient's series are exact to the last bit.
const SMALL: f64 = 1e-8;

/// Constants that do not depend on the number of ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) exponent: f64,
    /// `1 / (1 - S)`, unless `S` is so near 1 that rounding errors would grow.
    power: Option<f64>,
    /// Start of the integral to draw from: the weight of the first rank before 1.5.
    first: f64,
    /// Largest distance of a draw from its rank at which it is accepted without the exact test.
    pub(super) squeeze: f64,
}

impl Shape {
    pub(super) fn new(exponent: f64) -> Self {
        let distance = 1.0 - exponent;
        let power = (distance.abs() >= DISTANCE_MIN).then(|| 1.0 / distance);
        let mut shape = Self { exponent, power, first: 0.0, squeeze: 0.0 };
        shape.first = shape.integral(1.5) - 1.0;
        shape.squeeze = shape.squeeze_from(2.0);
        shape
    }

    /// Largest distance of a draw from this rank, of 2 or more, or from any after it, at which it is accepted
    /// without the exact test. It grows with the rank towards a half.
    pub(super) fn squeeze_from(&self, rank: f64) -> f64 {
        rank - self.inverse(self.start_of(rank))
    }

    /// Start of the integral to draw from.
    pub(super) fn first(&self) -> f64 {
        self.first
    }

    pub(super) fn exponent(&self) -> f64 {
        self.exponent
    }

    pub(super) fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Integral of the density from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_ratio((1.0 - self.exponent) * log) * log
    }

    /// The `x` with this integral.
    pub(super) fn inverse(&self, integral: f64) -> f64 {
        // Rounding must not lead out of the logarithm's domain.
        let t = (integral * (1.0 - self.exponent)).max(-1.0);
        match self.power {
            // The quickest way: this is on the path of every request.
            Some(power) => ((1.0 + t).ln() * power).exp(),
            None => (ln1p_ratio(t) * integral).exp(),
        }
    }

    /// Returns the rank from 0 of a draw from the continuous density, unless it is rejected.
    pub(super) fn rank_at(&self, x: f64, ranks: u64, bits: u64) -> Option<u64> {
        // A float beyond the largest rank becomes the largest.
        let rank = ((x + 0.5) as u64).clamp(1, ranks);
        // Of both together the processor guesses better.
        let near = (rank > FAR) | (rank as f64 - x <= self.squeeze);
        if !near && self.integral(x) < self.start_of(rank as f64) {
            return None;
        }
        // A float of 53 bits skips ranks far out. Neighbours there are as good as equally likely, so any
        // of them will do.
        let neighbours = rank >> 40;
        let back =
            if neighbours == 0 { 0 } else { random::within(random::mix(bits), neighbours + 1) };
        Some(rank - 1 - back)
    }

    /// Start of a rank's part of the integral, which ends half a rank after the rank.
    fn start_of(&self, rank: f64) -> f64 {
        self.integral(rank + 0.5) - self.density(rank)
    }

    /// Returns whether each draw of the integral between `from` and `to` gives this rank.
    pub(super) fn is_all_of(&self, rank: f64, from: f64, to: f64) -> bool {
        from >= self.start_of(rank) && to <= self.integral(rank + 0.5)
    }

    pub(super) fn total(&self, ranks: u64) -> f64 {
        self.integral(ranks as f64 + 0.5)
    }

    /// A rank among the given number of ranks.
    pub(super) fn rank_of(&self, stream: Stream, index: u64, ranks: u64) -> u64 {
        let total = self.total(ranks);
        let mut bits = stream.draw(index);
        let mut attempt = 0;
        loop {
            let x = self.inverse(total + random::unit(bits) * (self.first - total));
            if let Some(rank) = self.rank_at(x, ranks, bits) {
                return rank;
            }
            attempt += 1;
            bits = random::draw(bits, attempt);
        }
    }
}

/// `ln(1 + x) / x`.
pub(super) fn ln1p_ratio(x: f64) -> f64 {
    if x.abs() > SMALL { x.ln_1p() / x } else { 1.0 - x * 0.5 }
}

/// `(e^x - 1) / x`.
pub(super) fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > SMALL { x.exp_m1() / x } else { 1.0 + x * 0.5 }
}
