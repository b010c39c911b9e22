//! The sign test: whether the median of a sample is above a bound, for any kind of noise.
//!
//! The number of values beyond the true median follows a binomial distribution with p = ½ (Arbuthnot, 1710;
//! intervals by order statistics: Thompson, "On Confidence Ranges for the Median", Annals of Mathematical
//! Statistics 1936).

/// A side of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    Above,
    Below,
}

impl Tail {
    /// The probability of this many values beyond a bound, or more, if it were the median.
    pub(crate) fn probability(self, values: &[f64], bound: f64) -> f64 {
        let beyond = values.iter().filter(|value| match self {
            Self::Above => **value > bound,
            Self::Below => **value < bound,
        });
        let beyond = beyond.count();
        at_most(values.len() - beyond, values.len())
    }
}

/// The rank, counted from 1 for the least value, of the value that exceeds the median with no more than this
/// probability; `None` if even the least value does so more often.
pub(crate) fn order_statistic(count: usize, probability: f64) -> Option<usize> {
    (1..=count.div_ceil(2)).take_while(|rank| at_most(rank - 1, count) <= probability).last()
}

/// The probability of at most `heads` heads in `throws` throws.
fn at_most(heads: usize, throws: usize) -> f64 {
    // As logarithms: a half to the power of a few thousand is below what a number can hold.
    let mut term = -(throws as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for taken in 0..=heads.min(throws) {
        sum += term.exp();
        term += ((throws - taken) as f64 / (taken + 1) as f64).ln();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Conover, "Practical Nonparametric Statistics", table A3: n 10 and 20 at 2.5 % to either side.
        assert_eq!([10, 20, 50].map(|n| order_statistic(n, 0.025)), [Some(2), Some(6), Some(18)]);
        assert_eq!((order_statistic(5, 0.025), order_statistic(6, 0.025)), (None, Some(1)));
        assert_eq!(order_statistic(0, 0.5), None);
        assert!((at_most(1, 10) - 11.0 / 1024.0).abs() < 1e-12);
        assert!((at_most(600, 1000) - 1.0).abs() < 1e-9 && at_most(300, 1000) < 1e-30);
        assert!((at_most(2_500, 5_000) - 0.5).abs() < 0.01);
    }

    #[test]
    fn an_end_of_an_interval_is_where_the_test_turns() {
        let values: Vec<f64> = (1..=12).map(f64::from).collect();
        let rank = order_statistic(12, 0.0125).unwrap();
        let low = values[rank - 1];
        assert!(Tail::Above.probability(&values, low - 0.1) <= 0.0125);
        assert!(Tail::Above.probability(&values, low + 0.1) > 0.0125);
        let high = values[values.len() - rank];
        assert!(Tail::Below.probability(&values, high + 0.1) <= 0.0125);
        assert!(Tail::Below.probability(&values, high - 0.1) > 0.0125);
    }
}
