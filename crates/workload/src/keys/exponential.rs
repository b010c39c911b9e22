//! Exponential distribution: smaller keys are likelier.

use super::KeyDraw;
use crate::random::Stream;
use crate::{parameters, random};

/// Default parameters, as in YCSB: 95 % of the draws on the first six sevenths of the keys.
const DEFAULT: [f64; 2] = [0.95, 6.0 / 7.0];

/// Exponential distribution cut off at the end of the range, by the inverse of its distribution function,
/// which is equivalent to repeating draws beyond it.
#[derive(Debug, Clone, Copy)]
struct Exponential {
    /// Per range.
    rate: f64,
    /// Probability of the range.
    within: f64,
    range: u64,
}

/// `PERCENTILE/SHARE`, in percent.
pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    let what = ["percentage of draws", "percentage of keys"];
    let [percentile, share] = match parameters {
        None => DEFAULT,
        Some(text) => parameters::shares(text, '/', what)?,
    };
    if percentile >= 1.0 {
        return Err("the percentage of draws must be below 100".to_owned());
    }
    let rate = -(-percentile).ln_1p() / share;
    Ok(Box::new(Exponential { rate, within: -(-rate).exp_m1(), range }))
}

impl KeyDraw for Exponential {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        let bits = stream.draw(index);
        // From 0 and below 1.
        let u = 1.0 - random::unit(bits);
        let fraction = (-(-u * self.within).ln_1p() / self.rate).min(1.0 - f64::EPSILON / 2.0);
        random::place(fraction, random::mix(bits), self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeyDist, shape};

    #[test]
    fn keys_fall_off_as_in_ycsb() {
        for (text, percentile, share) in [
            ("exponential", 0.95, 6.0 / 7.0),
            ("exponential:50/1", 0.5, 0.01),
            ("exponential:1/100", 0.01, 1.0),
        ] {
            let rate = -f64::ln(1.0 - percentile) / share;
            shape::at_every_range(text, |_, x| (1.0 - (-rate * x).exp()) / (1.0 - (-rate).exp()));
        }
    }

    #[test]
    fn parameters_have_bounds() {
        for bad in ["exponential:", "exponential:95", "exponential:100/50", "exponential:5/0"] {
            let error = bad.parse::<KeyDist>().unwrap_err();
            assert!(error.contains("exponential:95/85.7"), "{bad}: {error}");
        }
    }
}
