//! Student's t distribution, from a library.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The t that is exceeded with this probability, both sides together.
pub(crate) fn two_sided(probability: f64, freedom: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(t.inverse_cdf(1.0 - probability / 2.0))
}

/// The probability of a t above this one.
pub(crate) fn above(t: f64, freedom: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.sf(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from the table in NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, t) in
            [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262), (100.0, 1.984)]
        {
            assert!((two_sided(0.05, freedom).unwrap() - t).abs() < 0.001, "{freedom}");
            assert!((above(t, freedom).unwrap() - 0.025).abs() < 0.0001, "{freedom}");
        }
        assert!((two_sided(0.01, 9.0).unwrap() - 3.250).abs() < 0.001);
        assert_eq!(two_sided(0.05, 0.0), None);
    }
}
