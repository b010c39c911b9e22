//! Every size between two equally likely, both included.

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
    /// The same size always.
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::follows;

    #[test]
    fn all_sizes_are_equally_likely() {
        follows("uniform:100..4k", |size| (size - 99.0) / 3901.0);
        follows("uniform:0..1", |size| (size + 1.0) / 2.0);
        follows("uniform:7..7", |_| 1.0);
    }
}
