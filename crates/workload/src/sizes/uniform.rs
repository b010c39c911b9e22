//! Uniformly distributed sizes between two, inclusive.

use super::{SizeDraw, bounds};
use crate::random;

#[derive(Debug, Clone, Copy)]
pub(super) struct Uniform {
    least: u32,
    most: u32,
}

/// `MIN..MAX`.
pub(super) fn read(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String> {
    let (least, most) = bounds(parameters.unwrap_or_default())?;
    Ok(Box::new(Uniform { least, most }))
}

impl Uniform {
    /// Returns the distribution of a single size.
    pub(super) fn fixed(size: u32) -> Self {
        Self { least: size, most: size }
    }
}

impl SizeDraw for Uniform {
    fn draw(&self, bits: u64) -> u32 {
        self.least + random::within(bits, u64::from(self.most - self.least) + 1) as u32
    }

    fn mean(&self) -> f64 {
        (f64::from(self.least) + f64::from(self.most)) / 2.0
    }

    /// Returns the size on a straight line between both, rounded down as memtier_benchmark rounds.
    fn by_rank(&self, place: u64, last: u64) -> u32 {
        let part = place as f64 / last as f64;
        (f64::from(self.most - self.least) * part + f64::from(self.least)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::size_by_rank;
    use super::super::tests::follows;
    use super::*;

    #[test]
    fn sizes_by_rank_lie_on_a_line() {
        let sizes = read(Some("10..14")).unwrap();
        let all: Vec<u32> = (0..10).map(|place| size_by_rank(&*sizes, place, 10)).collect();
        assert_eq!(all, [10, 10, 10, 11, 11, 12, 12, 13, 13, 14]);
        assert_eq!((size_by_rank(&*sizes, 9, 1), size_by_rank(&*sizes, 0, 0)), (14, 10));
    }

    #[test]
    fn all_sizes_are_equally_likely() {
        follows("uniform:100..4k", |size| (size - 99.0) / 3901.0);
        follows("uniform:0..1", |size| (size + 1.0) / 2.0);
        follows("uniform:7..7", |_| 1.0);
    }
}
