//! A continuous distribution, cut off at bounds and rounded to whole bytes.

use super::{SizeDraw, bounds};
use crate::random;

/// Default bounds: the default limits of a server or a cache.
const BOUNDS: (u32, u32) = (1, 1_000_000);
/// Minimum probability within the bounds.
const WITHIN_MIN: f64 = 1e-3;
/// Distance of bounds up to which the mean accounts for rounding to whole bytes.
const ROUNDED_MAX: u32 = 1000;

/// A continuous distribution.
pub(super) trait Curve: Send + Sync {
    /// The probability of less than `x`.
    fn cdf(&self, x: f64) -> f64;
    /// The `x` with this cumulative probability.
    fn quantile(&self, probability: f64) -> f64;
    /// Mean between two `x`, times their probability.
    fn mass(&self, from: f64, to: f64) -> f64;
}

/// Part of a curve within bounds.
struct BoundedCurve<C> {
    curve: C,
    least: u32,
    most: u32,
    before: f64,
    within: f64,
}

/// Parses two numbers, the parameters of a `curve`, and optional bounds.
pub(super) fn read<C: Curve + 'static>(
    parameters: Option<&str>,
    curve: impl FnOnce(&str, &str) -> Result<C, String>,
) -> Result<Box<dyn SizeDraw>, String> {
    let parts: Vec<&str> = parameters.unwrap_or_default().split(',').collect();
    let (first, second, (least, most)) = match parts[..] {
        [first, second] => (first, second, BOUNDS),
        [first, second, range] => (first, second, bounds(range)?),
        _ => return Err("two numbers are required, bounds are optional".to_owned()),
    };
    let curve = curve(first, second)?;
    let before = curve.cdf(lower(least));
    let within = curve.cdf(upper(most)) - before;
    if within < WITHIN_MIN {
        return Err(format!("almost none of it lies within {least}..{most}; use other bounds"));
    }
    Ok(Box::new(BoundedCurve { curve, least, most, before, within }))
}

/// Lower end of the interval that rounds to a size.
fn lower(size: u32) -> f64 {
    f64::from(size) - 0.5
}

fn upper(size: u32) -> f64 {
    f64::from(size) + 0.5
}

impl<C: Curve> SizeDraw for BoundedCurve<C> {
    fn draw(&self, bits: u64) -> u32 {
        let x = self.curve.quantile(self.before + random::unit(bits) * self.within);
        (x.round() as u32).clamp(self.least, self.most)
    }

    fn mean(&self) -> f64 {
        let part = |size| self.curve.cdf(upper(size)) - self.curve.cdf(lower(size));
        if self.most - self.least <= ROUNDED_MAX {
            let sizes = self.least..=self.most;
            return sizes.map(|size| f64::from(size) * part(size)).sum::<f64>() / self.within;
        }
        self.curve.mass(lower(self.least), upper(self.most)) / self.within
    }
}
