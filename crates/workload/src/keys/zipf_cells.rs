//! Zipf's law over a fixed range, by a table of a fixed size, without a logarithm for nearly every draw.
//!
//! Draws the distribution of [`super::zipf`], and converts to ranks as it does. Only the draw from the
//! continuous density differs: the span of its integral is divided into equally likely cells, one of which is
//! picked by the first bits of a draw. The density hardly changes in a narrow cell, so an even draw is right
//! in nearly every case, and the exact density rejects it in the others. Most cells of the hottest ranks
//! contain one rank only.

use super::zipf_shape::Shape;
use crate::random::{self, Stream};

/// Number of leading bits of a draw that pick a cell.
const CELL_BITS: u32 = 8;
const CELLS: usize = 1 << CELL_BITS;

/// Minimum share of right even draws for a cell to use them. The few other cells use the inverse of the
/// integral.
const EVEN_MIN: f64 = 0.5;

/// The cells of one range.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    shape: Shape,
    ranks: u64,
    cells: Box<[Cell; CELLS]>,
    /// Each cell's share of the integral.
    share: f64,
}

/// Cell of the integral. A point drawn evenly between its ends is accepted with the density there relative to
/// that at the start, which is `1` at the start and lies between two lines after it.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    start: f64,
    /// Width; 0 if the whole cell is one rank, which is then its start.
    width: f64,
    /// Fall of the tangent over the cell; draws below it are accepted. [`f64::INFINITY`] if the inverse is
    /// used.
    tangent: f64,
    /// Fall of the chord to the end; draws above it are rejected.
    chord: f64,
}

impl Cells {
    pub(super) fn new(shape: Shape, ranks: u64) -> Self {
        let share = (shape.total(ranks) - shape.first()) / CELLS as f64;
        let mut cells = Box::new([Cell::default(); CELLS]);
        for (number, cell) in cells.iter_mut().enumerate() {
            *cell = Cell::new(&shape, shape.first() + number as f64 * share, share);
        }
        Self { shape, ranks, cells, share }
    }

    /// A rank from 0.
    #[inline]
    pub(super) fn rank(&self, stream: Stream, index: u64) -> u64 {
        let mut bits = stream.draw(index);
        let mut attempt = 0;
        loop {
            let cell = &self.cells[(bits >> (u64::BITS - CELL_BITS)) as usize];
            let along = random::unit(bits << CELL_BITS);
            // The last bits, which say next to nothing of where, say how high.
            let height = random::unit(bits.wrapping_mul(random::GOLDEN_GAMMA));
            let x = if height <= 1.0 - along * cell.tangent {
                cell.start + cell.width * along
            } else {
                self.closer(bits, height)
            };
            if let Some(rank) = self.shape.rank_at(x, self.ranks, bits) {
                return rank;
            }
            attempt += 1;
            bits = random::draw(bits, attempt);
        }
    }

    /// Finds the draw's position in its cell when the tangent alone does not decide it.
    #[cold]
    fn closer(&self, bits: u64, mut height: f64) -> f64 {
        let number = bits >> (u64::BITS - CELL_BITS);
        let (cell, mut along) = (&self.cells[number as usize], random::unit(bits << CELL_BITS));
        if cell.tangent.is_infinite() {
            let of_all = (number as f64 + along) * self.share;
            return self.shape.inverse(self.shape.first() + of_all);
        }
        let mut tries = 0;
        loop {
            let x = cell.start + cell.width * along;
            let is_below = |fall: f64| height <= 1.0 - along * fall;
            if is_below(cell.tangent)
                || is_below(cell.chord) && height <= self.shape.density(x / cell.start)
            {
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
        let (width, end) = (end - start, shape.density(end / start));
        let slope = shape.exponent() * width / start;
        let tangent = if end >= EVEN_MIN { slope } else { f64::INFINITY };
        Self { start, width, tangent, chord: 1.0 - end }
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

    fn shape() -> Shape {
        super::super::zipf::shape(None).unwrap()
    }
}
