//! Generalised Pareto distribution: most sizes are small and a few very large.
//!
//! From the published cache workloads (Atikoglu et al., "Workload analysis of a large-scale key-value store",
//! 2012), from 0 on: `P(size > x) = (1 + SHAPE x / SCALE)^(-1 / SHAPE)`.

use super::SizeDraw;
use super::bounded::{self, Curve};
use crate::parameters;

struct Pareto {
    scale: f64,
    shape: f64,
}

/// `SCALE,SHAPE`.
pub(super) fn read(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String> {
    bounded::read(parameters, |scale, shape| {
        let scale = parameters::number(scale, "scale", 0.001..=1e9)?;
        Ok(Pareto { scale, shape: parameters::number(shape, "shape", 0.001..=10.0)? })
    })
}

impl Pareto {
    /// The probability of more than `x`.
    fn above(&self, x: f64) -> f64 {
        (1.0 + self.shape * x.max(0.0) / self.scale).powf(-1.0 / self.shape)
    }
}

impl Curve for Pareto {
    fn cdf(&self, x: f64) -> f64 {
        1.0 - self.above(x)
    }

    fn quantile(&self, probability: f64) -> f64 {
        self.scale / self.shape * ((1.0 - probability).powf(-self.shape) - 1.0)
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        let (p, q) = (self.above(from), self.above(to));
        // The integral of `x^-SHAPE` from q to p, which is a logarithm where SHAPE is 1.
        let exponent = 1.0 - self.shape;
        let integral = if exponent.abs() < 1e-9 {
            (p / q).ln()
        } else {
            (p.powf(exponent) - q.powf(exponent)) / exponent
        };
        self.scale / self.shape * (integral - (p - q))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::follows;

    #[test]
    fn the_tail_is_that_of_a_generalised_pareto() {
        for (text, scale, shape, least, most) in [
            ("pareto:214.476,0.348238", 214.476, 0.348238, 0.5, 1_000_000.5),
            ("pareto:100,1,10..50k", 100.0, 1.0, 9.5, 50_000.5),
            ("pareto:100,2,0..10k", 100.0, 2.0, 0.0, 10_000.5f64),
        ] {
            let cdf = |x: f64| 1.0 - (1.0 + shape * x / scale).powf(-1.0 / shape);
            let within = cdf(most) - cdf(least);
            follows(text, |size| (cdf(size + 0.5) - cdf(least)) / within);
        }
    }
}
