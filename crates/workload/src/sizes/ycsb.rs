//! YCSB's lengths of fields: small sizes are likely, by its approximation of Zipf's law with exponent 0.99.

use super::{SizeDraw, bounds};
use crate::keys::Zipfian;
use crate::random;

#[derive(Debug, Clone, Copy)]
struct Ycsb {
    least: u32,
    most: u32,
    ranks: Zipfian,
}

/// `MIN..MAX`.
pub(super) fn read(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String> {
    let (least, most) = bounds(parameters.unwrap_or_default())?;
    let ranks = Zipfian::of_ycsb(u64::from(most - least) + 1);
    Ok(Box::new(Ycsb { least, most, ranks }))
}

impl SizeDraw for Ycsb {
    fn draw(&self, bits: u64) -> u32 {
        let rank = self.ranks.rank(random::unit(bits)).min(u64::from(self.most - self.least));
        self.least + rank as u32
    }

    fn mean(&self) -> f64 {
        // Of a thousand sizes at even steps of the distribution function.
        let steps = (0..1000).map(|n| self.ranks.rank((f64::from(n) + 0.5) / 1000.0) as f64);
        f64::from(self.least) + steps.sum::<f64>() / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sizes, size_of};

    #[test]
    fn the_smallest_is_the_likeliest() {
        let sizes = "ycsb:1..100".parse::<Sizes>().unwrap();
        let draws = sizes.draws();
        let mut counts = [0u32; 101];
        (0..100_000).for_each(|n| counts[size_of(&*draws, 3, n) as usize] += 1);
        // 1 / zeta(100, 0.99) is 0.191.
        assert!((18_600..19_600).contains(&counts[1]), "{}", counts[1]);
        assert!(counts[1] > counts[2] && counts[2] > counts[10] && counts[0] == 0);
        assert_eq!(sizes.largest(), 100);
    }
}
