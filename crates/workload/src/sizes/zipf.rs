//! Zipf's law over sizes: size number `k` in a range is as likely as `k^-0.99`.
//!
//! Its distribution function is a sum of powers: term by term for the first sizes, then by the
//! Euler-Maclaurin formula, to ten digits.

use super::{SizeDraw, bounds};
use crate::random;

/// Exponent, the default for keys.
const EXPONENT: f64 = 0.99;
/// Number of terms that are added one by one.
const TERMS: usize = 64;

struct Zipf {
    least: u32,
    /// Number of sizes.
    ranks: u64,
    law: Powers,
    /// The sum of the weights of all.
    total: f64,
}

/// `MIN..MAX`.
pub(super) fn read(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String> {
    let (least, most) = bounds(parameters.unwrap_or_default())?;
    let ranks = u64::from(most - least) + 1;
    let law = Powers::new(EXPONENT);
    let total = law.sum(ranks);
    Ok(Box::new(Zipf { least, ranks, law, total }))
}

impl SizeDraw for Zipf {
    fn draw(&self, bits: u64) -> u32 {
        let weight = random::unit(bits) * self.total;
        self.least + (self.law.rank(weight, self.ranks) - 1) as u32
    }

    fn mean(&self) -> f64 {
        // The sum of k * k^-s over that of k^-s.
        let ranks = Powers::new(EXPONENT - 1.0).sum(self.ranks) / self.total;
        f64::from(self.least) + ranks - 1.0
    }
}

/// Sums of `k^-s` from 1 on, for an `s` other than 1.
struct Powers {
    exponent: f64,
    /// Sums of the first terms, by their number.
    head: [f64; TERMS],
}

impl Powers {
    fn new(exponent: f64) -> Self {
        let mut sum = 0.0;
        let head = std::array::from_fn(|at| {
            sum += (at as f64 + 1.0).powf(-exponent);
            sum
        });
        Self { exponent, head }
    }

    fn whole_head(&self) -> f64 {
        self.head[TERMS - 1]
    }

    /// Sums the terms from 1 to `ranks`, which is at least 1.
    fn sum(&self, ranks: u64) -> f64 {
        if let Some(sum) = self.head.get(ranks as usize - 1) {
            return *sum;
        }
        let (a, b, s) = (TERMS as f64, ranks as f64, self.exponent);
        let term = |k: f64| k.powf(-s);
        let integral = (b.powf(1.0 - s) - a.powf(1.0 - s)) / (1.0 - s);
        let slope = |k: f64| -s * term(k) / k;
        self.whole_head() + integral + (term(b) - term(a)) / 2.0 + (slope(b) - slope(a)) / 12.0
    }

    /// Returns the first of `ranks` ranks at which the sum reaches this weight.
    fn rank(&self, weight: f64, ranks: u64) -> u64 {
        if weight <= self.whole_head() || ranks <= TERMS as u64 {
            return (self.head.partition_point(|sum| *sum < weight) as u64 + 1).min(ranks);
        }
        // Near it is where the integral comes to this; where it is exactly, the sum says.
        let power = 1.0 - self.exponent;
        let place = (TERMS as f64 + 0.5).powf(power) + (weight - self.whole_head()) * power;
        let mut rank = ((place.powf(1.0 / power) - 0.5).ceil() as u64).clamp(2, ranks);
        while rank > 2 && self.sum(rank - 1) >= weight {
            rank -= 1;
        }
        while rank < ranks && self.sum(rank) < weight {
            rank += 1;
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::follows;
    use super::super::{Sizes, size_of};
    use super::Powers;
    use crate::random;

    fn chi_square(text: &str, ranks: u64) -> f64 {
        let draws = text.parse::<Sizes>().unwrap().draws();
        let drawn = (0..300_000).map(|n| u64::from(size_of(&*draws, 3, n)) - 1);
        random::chi_square(drawn, ranks, |rank| (rank as f64 + 1.0).powf(-0.99))
    }

    #[test]
    fn sizes_follow_zipfs_law_and_those_of_ycsb_do_not() {
        // 99.9 % of samples of 99 and of 299 degrees of freedom are below.
        let (few, more) = (chi_square("zipf:1..100", 100), chi_square("zipf:1..300", 300));
        assert!(few < 148.2 && more < 377.0, "{few}, {more}");
        assert!(chi_square("ycsb:1..100", 100) > 300.0);
        let sums = Powers::new(0.99);
        for (text, ranks) in
            [("zipf:1..64", 64), ("zipf:1..65", 65), ("zipf:1..100k", 100_000), ("zipf:7..7", 1)]
        {
            let first = if ranks == 1 { 7.0 } else { 1.0 };
            follows(text, |size| sums.sum((size - first) as u64 + 1) / sums.sum(ranks));
        }
    }

    #[test]
    fn sums_are_those_of_their_terms() {
        for exponent in [0.99, -0.01] {
            let sums = Powers::new(exponent);
            let mut sum = 0.0;
            for rank in 1..=100_000u64 {
                sum += (rank as f64).powf(-exponent);
                assert!((sums.sum(rank) / sum - 1.0).abs() < 1e-9, "{exponent}: {rank}");
            }
        }
    }

    #[test]
    fn the_largest_of_a_gibibyte_is_reached() {
        let sizes = "zipf:0..1073741824".parse::<Sizes>().unwrap();
        assert_eq!(sizes.largest(), 1 << 30);
        assert_eq!(sizes.draws().draw(0), 0);
    }
}
