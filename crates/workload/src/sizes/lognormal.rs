//! Log-normal sizes, as in most stores.

use statrs::distribution::{ContinuousCDF, Normal};

use super::SizeDraw;
use super::bounded::{self, Curve};
use crate::parameters;

struct Lognormal {
    /// Distribution of the logarithm.
    normal: Normal,
    mu: f64,
    sigma: f64,
}

/// `MEDIAN,SIGMA`, the latter of the natural logarithm.
pub(super) fn read(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String> {
    bounded::read(parameters, |median, sigma| {
        let median = parameters::number(median, "median", 1.0..=1e9)?;
        let sigma = parameters::number(sigma, "sigma of the logarithm", 0.001..=10.0)?;
        let mu = median.ln();
        Ok(Lognormal { normal: Normal::new(mu, sigma).map_err(|e| e.to_string())?, mu, sigma })
    })
}

impl Curve for Lognormal {
    fn cdf(&self, x: f64) -> f64 {
        if x > 0.0 { self.normal.cdf(x.ln()) } else { 0.0 }
    }

    fn quantile(&self, probability: f64) -> f64 {
        self.normal.inverse_cdf(probability).exp()
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        let variance = self.sigma.powi(2);
        // Weighed by size, it is the same distribution further out.
        let below = |x: f64| if x > 0.0 { self.normal.cdf(x.ln() - variance) } else { 0.0 };
        (self.mu + variance / 2.0).exp() * (below(to) - below(from))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::follows;
    use super::*;

    #[test]
    fn logarithms_are_normal_within_the_bounds() {
        for (text, median, sigma, least, most) in [
            ("lognormal:1k,1.2", 1000.0, 1.2, 0.5, 1e6),
            ("lognormal:1k,1.2,500..2k", 1000.0, 1.2, 499.5, 2000.5),
            ("lognormal:300,0.5,0..100k", 300.0, 0.5, 0.0, 1e5),
        ] {
            let normal = Normal::new(f64::ln(median), sigma).unwrap();
            let cdf = |x: f64| normal.cdf(x.ln());
            let within = cdf(most) - cdf(least);
            follows(text, |size| (cdf(size + 0.5) - cdf(least)) / within);
        }
    }
}
