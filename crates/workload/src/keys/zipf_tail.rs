//! Zipf's law without its first ranks: key `k` is as likely as `1 / (k + FIRST)^S`.
//!
//! Drawn as in [`super::zipf`]. Positions and densities are relative to the first rank: far out the law is
//! nearly flat, and the difference of two integrals from 1 on would be lost to rounding.

use super::KeyDraw;
use super::zipf_shape::{FAR, expm1_ratio, ln1p_ratio};
use crate::random::{self, Stream};

/// Zipf's law from rank `first` on, which is key 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct ZipfTail {
    exponent: f64,
    first: f64,
    ranks: u64,
    /// Start of the integral to draw from: the weight of the first rank before its end.
    start: f64,
    /// End of the integral.
    end: f64,
    /// Largest distance of a draw from its key at which it is accepted without the exact test.
    squeeze: f64,
}

impl ZipfTail {
    /// Creates the law of `ranks` ranks from `first` on, which is at least 1.
    pub(super) fn new(exponent: f64, first: u64, ranks: u64) -> Self {
        let first = first as f64;
        let mut law = Self { exponent, first, ranks, start: 0.0, end: 0.0, squeeze: 0.0 };
        law.start = law.start_of(0.0);
        law.end = law.integral(ranks as f64 - 0.5);
        law.squeeze = 1.0 - law.inverse(law.start_of(1.0));
        law
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * (x / self.first).ln_1p()).exp()
    }

    /// Integral of the density from the first rank's place to `x`.
    fn integral(&self, x: f64) -> f64 {
        let log = (x / self.first).ln_1p();
        self.first * expm1_ratio((1.0 - self.exponent) * log) * log
    }

    /// The `x` with this integral.
    fn inverse(&self, integral: f64) -> f64 {
        let of_first = integral / self.first;
        // Rounding must not lead out of the logarithm's domain.
        let t = (of_first * (1.0 - self.exponent)).max(-1.0);
        self.first * (ln1p_ratio(t) * of_first).exp_m1()
    }

    /// Start of a key's part of the integral, which ends half a key after the key.
    fn start_of(&self, key: f64) -> f64 {
        self.integral(key + 0.5) - self.density(key)
    }
}

impl KeyDraw for ZipfTail {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        let mut bits = stream.draw(index);
        let mut attempt = 0;
        loop {
            let at = self.end + random::unit(bits) * (self.start - self.end);
            let x = self.inverse(at);
            // A float beyond the largest number becomes the largest.
            let key = ((x + 0.5) as u64).min(self.ranks - 1);
            let near = key == 0 || key > FAR || key as f64 - x <= self.squeeze;
            if near || at >= self.start_of(key as f64) {
                // A float of 53 bits skips keys far out, where neighbours are as good as equally likely.
                return match key >> 40 {
                    0 => key,
                    neighbours => key - random::within(random::mix(bits), neighbours + 1),
                };
            }
            attempt += 1;
            bits = random::draw(bits, attempt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape;
    use super::super::zipf::tests::zeta;

    #[test]
    fn ranks_from_any_on_follow_the_law() {
        for s in ["0.01", "0.5", "0.99", "1", "1.00001", "2", "4.99"] {
            for first in [2, 17, 950_000] {
                let exponent: f64 = s.parse().unwrap();
                for range in [2, 50_001] {
                    // Term by term: a difference of two sums from 1 on would be rounding and little else.
                    let terms = (first..first + range).map(|rank| (rank as f64).powf(-exponent));
                    let sums: Vec<f64> = terms
                        .scan(0.0, |sum, term| {
                            *sum += term;
                            Some(*sum)
                        })
                        .collect();
                    let all = sums[sums.len() - 1];
                    shape::ranks_hold(&format!("zipf:{s},{first}"), range, |key: u64| {
                        key.checked_sub(1).map_or(0.0, |k| sums[k as usize] / all)
                    });
                }
            }
        }
    }

    #[test]
    fn from_rank_1_it_is_the_whole_law() {
        for range in shape::RANGES {
            let below = |key| zeta(key, 1.2) / zeta(range, 1.2);
            shape::ranks_hold("zipf:1.2,1", range, below);
            let law = super::ZipfTail::new(1.2, 1, range);
            shape::keys_hold("the tail from rank 1", range, below, |index| {
                super::KeyDraw::draw(&law, 7.into(), index)
            });
        }
    }

    /// If ranks are nearly equally likely, no key is skipped, however large the ranks are.
    #[test]
    fn far_out_every_key_is_drawn() {
        for first in [950_000, 1_u64 << 40, 1 << 60] {
            let text = format!("zipf:1,{first}");
            shape::ranks_hold(&text, 16, |key| key as f64 / 16.0);
        }
    }

    #[test]
    fn a_first_rank_has_bounds() {
        for bad in ["zipf:1,0", "zipf:1,x", "zipf:1,", "zipf:1,-3", "zipf:1,2,3"] {
            let error = bad.parse::<super::super::KeyDist>().unwrap_err();
            assert!(error.contains("first rank"), "{bad}: {error}");
        }
    }
}
