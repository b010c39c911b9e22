//! Zipf's law: key number `k` is as likely as `1 / (k + 1)^S`.
//!
//! Exact over a finite range, with no sum over the keys: rejection from the integral of the density, which is
//! inverted in closed form (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", 1996). The auxiliary functions keep their precision near `S = 1`, like those of
//! Apache Commons RNG. For a fixed range, [`super::zipf_cells`] draws the same at less cost;
//! [`super::zipf_tail`] draws from a later rank than 1 on.

use std::sync::LazyLock;

use super::KeyDraw;
use super::zipf_cells::Cells;
use super::zipf_tail::ZipfTail;
use crate::random::Stream;
use crate::{parameters, random};

/// Default exponent, as in YCSB.
const EXPONENT: f64 = 0.99;

/// Keys are ranks: 0 is the hottest.
#[derive(Debug, Clone)]
pub(super) struct Zipf(Cells);

/// Constants that do not depend on the number of ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    exponent: f64,
    /// `1 / (1 - S)`, unless `S` is so near 1 that rounding errors would grow.
    power: Option<f64>,
    /// Start of the integral to draw from: the weight of the first rank before 1.5.
    first: f64,
    /// Largest distance of a draw from its rank at which it is accepted without the exact test.
    squeeze: f64,
}

/// `S` and the rank of key 0, from 1 on.
pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    let Some((exponent, first)) = parameters.and_then(|both| both.split_once(',')) else {
        return Ok(Box::new(Zipf::new(shape(parameters)?, range)));
    };
    let shape = shape(Some(exponent))?;
    let wrong = || format!("{first:?} is no first rank: expected a whole number from 1 on");
    match first.parse().map_err(|_| wrong())? {
        0 => Err(wrong()),
        1 => Ok(Box::new(Zipf::new(shape, range))),
        first => Ok(Box::new(ZipfTail::new(shape.exponent, first, range))),
    }
}

/// `S`, from 0.01 to 5.
pub(super) fn shape(parameters: Option<&str>) -> Result<Shape, String> {
    let exponent = parameters.map(|s| parameters::number(s, "exponent", 0.01..=5.0));
    Ok(Shape::new(exponent.transpose()?.unwrap_or(EXPONENT)))
}

impl Shape {
    fn new(exponent: f64) -> Self {
        let distance = 1.0 - exponent;
        let power = (distance.abs() >= DISTANCE_MIN).then(|| 1.0 / distance);
        let mut shape = Self { exponent, power, first: 0.0, squeeze: 0.0 };
        shape.first = shape.integral(1.5) - 1.0;
        shape.squeeze = 2.0 - shape.inverse(shape.integral(2.5) - shape.density(2.0));
        shape
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
    #[inline(always)]
    pub(super) fn rank_at(&self, x: f64, ranks: u64, bits: u64) -> Option<u64> {
        // A float beyond the largest rank becomes the largest. Of 63 bits the processor makes a number at
        // once.
        let quick = (x + 0.5) as i64;
        let rank = if quick < i64::MAX { quick as u64 } else { (x + 0.5) as u64 };
        let rank = rank.clamp(1, ranks);
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

/// A rank from 0 among `ranks`, by Zipf's law with the default exponent.
pub(crate) fn rank(stream: Stream, index: u64, ranks: u64) -> u64 {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::new(EXPONENT));
    SHAPE.rank_of(stream, index, ranks)
}

impl Zipf {
    pub(super) fn new(shape: Shape, ranks: u64) -> Self {
        Self(Cells::new(shape, ranks))
    }
}

impl KeyDraw for Zipf {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        self.0.rank(stream, index)
    }
}

/// Rank beyond which one draw in 10^12 would be rejected; farther out the exact test would compare rounding
/// errors.
const FAR: u64 = 1 << 20;

/// Minimum distance of `S` from 1 for a power of `1 / (1 - S)` to be right to twelve digits.
const DISTANCE_MIN: f64 = 1e-4;

/// Value below which the first terms of a quotient's series are exact to the last bit.
const SMALL: f64 = 1e-8;

/// `ln(1 + x) / x`.
pub(super) fn ln1p_ratio(x: f64) -> f64 {
    if x.abs() > SMALL { x.ln_1p() / x } else { 1.0 - x * 0.5 }
}

/// `(e^x - 1) / x`.
pub(super) fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > SMALL { x.exp_m1() / x } else { 1.0 + x * 0.5 }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::shape;

    /// The sum of `k^-s` over `1..=ranks`: term by term, then by the Euler-Maclaurin formula.
    pub(in super::super) fn zeta(ranks: u64, s: f64) -> f64 {
        const TERMS: u64 = 1000;
        let term = |k: f64| k.powf(-s);
        let sum: f64 = (1..=ranks.min(TERMS)).map(|k| term(k as f64)).sum();
        if ranks <= TERMS {
            return sum;
        }
        let (a, b) = (TERMS as f64, ranks as f64);
        let integral = match s {
            1.0 => (b / a).ln(),
            s => (b.powf(1.0 - s) - a.powf(1.0 - s)) / (1.0 - s),
        };
        let slope = |k: f64| -s * k.powf(-s - 1.0);
        sum + integral + (term(b) - term(a)) / 2.0 + (slope(b) - slope(a)) / 12.0
    }

    #[test]
    fn ranks_follow_the_law() {
        for s in ["0.01", "0.5", "0.99", "1", "1.00001", "1.2", "2", "5"] {
            let exponent: f64 = s.parse().unwrap();
            for range in shape::RANGES {
                let below = |key| zeta(key, exponent) / zeta(range, exponent);
                shape::ranks_hold(&format!("zipf:{s}"), range, below);
            }
        }
        let below = |key| zeta(key, 0.99) / zeta(1000, 0.99);
        shape::ranks_hold("zipf", 1000, below);
    }

    #[test]
    fn far_out_no_key_is_skipped() {
        let keys = "zipf:0.01".parse::<super::super::KeyDist>().unwrap().over(1 << 63);
        let mut low = [0u64; 16];
        (0..16_000).for_each(|index| low[(keys.draw(3.into(), index) % 16) as usize] += 1);
        assert!(low.iter().all(|&count| (850..1150).contains(&count)), "{low:?}");
    }

    #[test]
    fn exponents_have_bounds() {
        for bad in ["zipf:0", "zipf:5.1", "zipf:x", "zipf:", "zipf:-1", "zipf-scattered:9"] {
            let error = bad.parse::<super::super::KeyDist>().unwrap_err();
            assert!(error.contains("from 0.01 to 5"), "{bad}: {error}");
        }
    }
}
