//! Normal distribution of keys around a middle.

use statrs::distribution::{ContinuousCDF, Normal};

use super::KeyDraw;
use crate::random::Stream;
use crate::{parameters, random};

/// Default mean and standard deviation, as in `memtier_benchmark`: the middle of the range, and a sixth of
/// it.
const DEFAULT: (f64, f64) = (0.5, 1.0 / 6.0);

/// A normal distribution restricted to the range, by the inverse of its distribution function, so that
/// nothing piles up at the ends.
#[derive(Debug, Clone, Copy)]
struct Gaussian {
    /// Distribution of the place as a fraction of the range.
    normal: Normal,
    /// Probability before the range, and within it.
    before: f64,
    within: f64,
    range: u64,
}

/// `MEAN,SD`, in percent of the range.
pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    let (mean, sd) = match parameters {
        None => DEFAULT,
        Some(text) => {
            let fault = "MEAN and SD must be separated by a comma";
            let (mean, sd) = text.split_once(',').ok_or(fault)?;
            let mean = parameters::number(mean, "mean in percent of the keys", 0.0..=100.0)?;
            let what = "standard deviation in percent of the keys";
            (mean / 100.0, parameters::number(sd, what, 1e-7..=1000.0)? / 100.0)
        }
    };
    let normal = Normal::new(mean, sd).map_err(|e| e.to_string())?;
    let before = normal.cdf(0.0);
    Ok(Box::new(Gaussian { normal, before, within: normal.cdf(1.0) - before, range }))
}

impl KeyDraw for Gaussian {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        let bits = stream.draw(index);
        let fraction = self.normal.inverse_cdf(self.before + random::unit(bits) * self.within);
        // Rounding may lead out of the range by a bit.
        let fraction = fraction.clamp(0.0, 1.0 - f64::EPSILON / 2.0);
        random::place(fraction, random::mix(bits), self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeyDist, shape};
    use super::*;

    #[test]
    fn keys_follow_the_curve_and_do_not_pile_up() {
        let cases = [
            ("gaussian", 0.5, 1.0 / 6.0),
            ("gaussian:50,10", 0.5, 0.1),
            ("gaussian:0,30", 0.0, 0.3),
            ("gaussian:100,500", 1.0, 5.0),
        ];
        for (text, mean, sd) in cases {
            let normal = Normal::new(mean, sd).unwrap();
            let within = normal.cdf(1.0) - normal.cdf(0.0);
            shape::at_every_range(text, |_, x| (normal.cdf(x) - normal.cdf(0.0)) / within);
        }
    }

    #[test]
    fn parameters_have_bounds() {
        for bad in ["gaussian:", "gaussian:50", "gaussian:101,1", "gaussian:50,0", "gaussian:x,1"] {
            let error = bad.parse::<KeyDist>().unwrap_err();
            assert!(error.contains("gaussian:50,10"), "{bad}: {error}");
        }
    }
}
