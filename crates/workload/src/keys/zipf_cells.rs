//! Zipf's law over a fixed range, by a table of a fixed size, without a logarithm for nearly every draw.
//!
//! Draws the distribution of [`super::zipf`], and converts to ranks as it does. Only the draw from the
//! continuous density differs: the span of its integral is divided into equally likely cells, one of which is
//! picked by the first bits of a draw. The density hardly changes in a narrow cell, so an even draw is right
//! in nearly every case, and the exact density rejects it in the others. Most cells of the hottest ranks
//! contain one rank only. What an even draw decides is computed in whole numbers, all else in floats.

use super::zipf_shape::Shape;
use crate::random::{self, Stream};

/// Number of leading bits of a draw that pick a cell.
const CELL_BITS: u32 = 8;
const CELLS: usize = 1 << CELL_BITS;

/// Minimum share of right even draws for a cell to use them. The few other cells use the inverse of the
/// integral.
const EVEN_MIN: f64 = 0.5;

/// Number of ranks from which on whole numbers would be too coarse.
const RANKS_MAX: u64 = 1 << 32;

/// More than rounding moves a draw, as far out as the exact test is made.
const ROUNDING: f64 = 1e-4;

/// The cells of one range.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    shape: Shape,
    ranks: u64,
    /// Binary digits after the point of the even cells.
    fraction: u32,
    even: Box<[EvenCell; CELLS]>,
    cells: Box<[Cell; CELLS]>,
    /// Each cell's share of the integral.
    share: f64,
}

/// Cell of the integral. A point drawn evenly between its ends is accepted with the density there relative to
/// that at the start, which is `1` at the start and above the tangent after it.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    start: f64,
    /// Width; 0 if the whole cell is one rank, which is then its start.
    width: f64,
    /// Fall of the tangent over the cell; draws below it are accepted. [`f64::INFINITY`] if the inverse is
    /// used.
    tangent: f64,
}

/// Cell of an even draw, in fixed point. Refuses all draws if it is all 0.
#[derive(Debug, Clone, Copy, Default)]
struct EvenCell {
    start: u64,
    width: u64,
    /// Acceptance at the start, of 2^64.
    whole: u64,
    /// Fall of the tangent over the cell, of 2^64.
    tangent: u64,
    /// Largest distance of a draw from its rank, like [`Shape::squeeze`].
    squeeze: i64,
}

impl Cells {
    pub(super) fn new(shape: Shape, ranks: u64) -> Self {
        let share = (shape.total(ranks) - shape.first()) / CELLS as f64;
        let mut cells = Box::new([Cell::default(); CELLS]);
        for (number, cell) in cells.iter_mut().enumerate() {
            *cell = Cell::new(&shape, shape.first() + number as f64 * share, share);
        }
        let fraction = ranks.min(RANKS_MAX).leading_zeros() - 2;
        let fixed = |x: f64| (x * (1u64 << fraction) as f64).ceil();
        let mut even = Box::new([EvenCell::default(); CELLS]);
        if ranks < RANKS_MAX {
            for (even, cell) in even.iter_mut().zip(&*cells).filter(|(_, c)| c.tangent < 1.0) {
                let [start, width] = [cell.start, cell.width].map(|x| fixed(x) as u64);
                let tangent = (cell.tangent * random::ALL).ceil() as u64;
                // What was rounded must not look nearer.
                let squeeze = shape.squeeze_from((cell.start + 0.5).floor().max(2.0)) - ROUNDING;
                let squeeze = fixed(squeeze.max(0.0)) as i64;
                *even = EvenCell { start, width, whole: u64::MAX, tangent, squeeze };
            }
        }
        Self { shape, ranks, fraction, even, cells, share }
    }

    /// A rank from 0.
    #[inline]
    pub(super) fn rank(&self, stream: Stream, index: u64) -> u64 {
        let bits = stream.draw(index);
        let cell = &self.even[(bits >> (u64::BITS - CELL_BITS)) as usize];
        let along = bits << CELL_BITS;
        let height = bits.wrapping_mul(random::GOLDEN_GAMMA);
        if height <= cell.whole - random::within(along, cell.tangent) {
            let x = cell.start + random::within(along, cell.width);
            let rank = (x + (1 << (self.fraction - 1))) >> self.fraction;
            let is_near = (rank << self.fraction) as i64 - x as i64 <= cell.squeeze;
            if is_near && rank.wrapping_sub(1) < self.ranks {
                return rank - 1;
            }
        }
        self.exact_rank(bits)
    }

    /// The rank of a draw that the even cells do not decide.
    #[cold]
    fn exact_rank(&self, mut bits: u64) -> u64 {
        let mut attempt = 0;
        loop {
            if let Some(rank) = self.shape.rank_at(self.position(bits), self.ranks, bits) {
                return rank;
            }
            attempt += 1;
            bits = random::draw(bits, attempt);
        }
    }

    /// A draw from the continuous density.
    fn position(&self, bits: u64) -> f64 {
        let number = bits >> (u64::BITS - CELL_BITS);
        let (cell, mut along) = (&self.cells[number as usize], random::unit(bits << CELL_BITS));
        if cell.tangent.is_infinite() {
            let of_all = (number as f64 + along) * self.share;
            return self.shape.inverse(self.shape.first() + of_all);
        }
        // The last bits, which say next to nothing of where, say how high.
        let mut height = random::unit(bits.wrapping_mul(random::GOLDEN_GAMMA));
        let mut tries = 0;
        loop {
            let x = cell.start + cell.width * along;
            if height <= self.shape.density(x / cell.start) {
                return x;
            }
            [along, height] = [tries, tries + 1].map(|index| random::draw_unit(bits, index));
            tries += 2;
        }
    }
}

impl Cell {
    /// Creates the cell from here in the integral.
    fn new(shape: &Shape, from: f64, share: f64) -> Self {
        let [start, end] = [from, from + share].map(|at| shape.inverse(at));
        let rank = f64::midpoint(start, end).round().max(1.0);
        if shape.is_all_of(rank, from, from + share) {
            return Self { start: rank, ..Self::default() };
        }
        let (width, is_even) = (end - start, shape.density(end / start) >= EVEN_MIN);
        let slope = shape.exponent() * width / start;
        Self { start, width, tangent: if is_even { slope } else { f64::INFINITY } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_ranks_have_cells_of_their_own_and_only_a_few_are_too_wide() {
        let cells = Cells::new(shape(), 10_000_000);
        let whole = cells.cells.iter().filter(|cell| cell.width == 0.0).count();
        assert!(whole > CELLS / 10, "{whole}");
        assert!(cells.cells.iter().all(|cell| cell.tangent < 0.1));
        let one = Cells::new(shape(), 1);
        let whole = one.cells.iter().filter(|cell| cell.start == 1.0 && cell.width == 0.0).count();
        // Rounding may make the last one look as if it went on.
        assert!(whole >= CELLS - 1, "{whole}");
    }

    #[test]
    fn whole_numbers_decide_as_floats_do() {
        for ranks in [1, 2, 1000, 10_000_000, RANKS_MAX - 1, RANKS_MAX, u64::MAX] {
            for exponent in ["0.01", "0.99", "1", "2", "5"] {
                let cells = Cells::new(super::super::zipf::shape(Some(exponent)).unwrap(), ranks);
                let stream = Stream::from_seed(ranks);
                for index in 0..20_000 {
                    let [rank, exact] =
                        [cells.rank(stream, index), cells.exact_rank(stream.draw(index))];
                    assert_eq!(rank, exact, "{index} of {ranks} by {exponent}");
                }
            }
        }
    }

    fn shape() -> Shape {
        super::super::zipf::shape(None).unwrap()
    }
}
