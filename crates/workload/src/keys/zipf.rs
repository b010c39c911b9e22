//! Zipf's law: key number `k` is as likely as `1 / (k + 1)^S`.
//!
//! The [shape](super::zipf_shape) of the law draws exactly over a finite range. For a fixed range,
//! [`super::zipf_cells`] draws the same at less cost; [`super::zipf_tail`] draws from a later rank than 1 on.

use std::sync::LazyLock;

use super::KeyDraw;
use super::zipf_cells::Cells;
use super::zipf_shape::Shape;
use super::zipf_tail::ZipfTail;
use crate::parameters;
use crate::random::Stream;

/// Default exponent, as in YCSB.
const EXPONENT: f64 = 0.99;

/// Keys are ranks: 0 is the hottest.
#[derive(Debug, Clone)]
pub(super) struct Zipf(Cells);

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
    #[inline]
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        self.0.rank(stream, index)
    }
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
                shape::ranks_hold(&format!("zipf:{s}"), range, |key| {
                    zeta(key, exponent) / zeta(range, exponent)
                });
            }
        }
        shape::ranks_hold("zipf", 1000, |key| zeta(key, 0.99) / zeta(1000, 0.99));
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
