//! Normally distributed sizes.

use statrs::distribution::{Continuous, ContinuousCDF};

use super::SizeDraw;
use super::bounded::{self, Curve};
use crate::parameters;

struct Normal {
    normal: statrs::distribution::Normal,
    mean: f64,
    sd: f64,
}

/// `MEAN,SD`.
pub(super) fn read(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String> {
    bounded::read(parameters, |mean, sd| {
        let mean = parameters::number(mean, "mean", 0.0..=1e9)?;
        let sd = parameters::number(sd, "standard deviation", 0.001..=1e9)?;
        let normal = statrs::distribution::Normal::new(mean, sd).map_err(|e| e.to_string())?;
        Ok(Normal { normal, mean, sd })
    })
}

impl Curve for Normal {
    fn cdf(&self, x: f64) -> f64 {
        self.normal.cdf(x)
    }

    fn quantile(&self, probability: f64) -> f64 {
        self.normal.inverse_cdf(probability)
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        let within = self.cdf(to) - self.cdf(from);
        self.mean * within + self.sd.powi(2) * (self.normal.pdf(from) - self.normal.pdf(to))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::follows;
    use super::*;

    #[test]
    fn sizes_are_normal_within_the_bounds() {
        for (text, mean, sd, least, most) in [
            ("normal:4k,500", 4000.0, 500.0, 0.5, 1e6),
            ("normal:100,200", 100.0, 200.0, 0.5, 1e6),
            ("normal:10,3,8..9", 10.0, 3.0, 7.5, 9.5),
        ] {
            let normal = statrs::distribution::Normal::new(mean, sd).unwrap();
            let within = normal.cdf(most) - normal.cdf(least);
            follows(text, |size| (normal.cdf(size + 0.5) - normal.cdf(least)) / within);
        }
    }
}
