//! A few sizes, each with a weight.

use super::{SizeDraw, size};
use crate::{parameters, random};

/// Sizes in ascending order, each with its cumulative share of draws.
#[derive(Debug, Clone)]
struct Table(Vec<(u32, f64)>);

/// `SIZE=WEIGHT`, between commas.
pub(super) fn read(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String> {
    let mut sizes = Vec::new();
    for item in parameters.unwrap_or_default().split(',') {
        let (bytes, weight) =
            item.split_once('=').ok_or_else(|| format!("{item:?} is not SIZE=WEIGHT"))?;
        sizes.push((size(bytes)?, parameters::number(weight, "weight", 1e-9..=1e12)?));
    }
    sizes.sort_by_key(|(size, _)| *size);
    let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let mut so_far = 0.0;
    for (_, weight) in &mut sizes {
        so_far += *weight;
        *weight = so_far / total;
    }
    Ok(Box::new(Table(sizes)))
}

impl SizeDraw for Table {
    fn draw(&self, bits: u64) -> u32 {
        let part = random::unit(bits);
        let at = self.0.partition_point(|(_, up_to)| *up_to < part);
        // Sums may end a bit below 1.
        self.0[at.min(self.0.len() - 1)].0
    }

    fn mean(&self) -> f64 {
        let before = std::iter::once(0.0).chain(self.0.iter().map(|(_, up_to)| *up_to));
        self.0.iter().zip(before).map(|((size, to), from)| f64::from(*size) * (to - from)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::follows;

    #[test]
    fn weights_need_not_sum_to_a_hundred_nor_sizes_rise() {
        let cdf = |size| match size {
            ..1000.0 => 0.5,
            ..16_000.0 => 0.8,
            _ => 1.0,
        };
        follows("sizes:32=50,1k=30,16k=20", cdf);
        follows("sizes:16k=0.4,32=1,1k=0.6", cdf);
    }
}
