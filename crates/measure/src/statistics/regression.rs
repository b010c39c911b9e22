//! The amounts that several causes add to an outcome, from observations in which the causes differed: least
//! squares, with a separate level for each group of observations, and intervals.

use super::{ERROR_RATE, Interval, student};

/// An observation: the causes and the outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Number of its group. Observations of a group have a common level, which is no evidence about the
    /// causes.
    pub group: usize,
    /// Amount of each cause.
    pub causes: Vec<f64>,
    /// Observed outcome.
    pub outcome: f64,
}

/// A fit of the amount that each cause adds.
#[derive(Debug, Clone)]
pub struct Regression {
    /// Index of each cause among those that varied.
    places: Vec<Option<usize>>,
    slopes: Vec<f64>,
    /// The inverse of the sums of products. Multiplied by the variance, it is the covariance of the slopes.
    inverse: Vec<Vec<f64>>,
    variance: f64,
    freedom: f64,
}

/// An estimated figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The likeliest value.
    pub value: f64,
    error: f64,
    freedom: f64,
}

impl Estimate {
    /// Returns the range that holds the true value 95 times in 100. For `comparisons` made together, all
    /// their intervals hold that often.
    pub fn interval(&self, comparisons: usize) -> Option<Interval> {
        let rate = ERROR_RATE / comparisons.max(1) as f64;
        let half = student::two_sided(rate, self.freedom)? * self.error;
        half.is_finite().then_some(Interval { low: self.value - half, high: self.value + half })
    }
}

/// A cause that varies by less than this share of its size does not vary.
const VARIES: f64 = 1e-6;

impl Regression {
    /// Fits observations, all of which have the same number of causes. `None` if there are too few, or if
    /// causes varied only together. A cause that did not vary within any group has no slope.
    pub fn from_observations(observations: &[Observation]) -> Option<Self> {
        let count = observations.first()?.causes.len();
        let groups = observations.iter().map(|seen| seen.group).max()? + 1;
        let centred = centred(observations, groups, count);
        let varies = |cause: usize| {
            let size = observations.iter().map(|seen| seen.causes[cause].abs()).fold(0.0, f64::max);
            centred.iter().any(|row| row.0[cause].abs() > size * VARIES)
        };
        let varied: Vec<usize> = (0..count).filter(|cause| varies(*cause)).collect();
        let used = (0..groups).filter(|group| observations.iter().any(|o| o.group == *group));
        let freedom = observations.len() as f64 - used.count() as f64 - varied.len() as f64;
        if varied.is_empty() || freedom < 1.0 {
            return None;
        }
        let product = |a: usize, b: usize| -> f64 {
            centred.iter().map(|(causes, _)| causes[varied[a]] * causes[varied[b]]).sum()
        };
        let size = varied.len();
        let products = (0..size).map(|a| (0..size).map(|b| product(a, b)).collect()).collect();
        let inverse = inverse(products)?;
        let with_outcome: Vec<f64> = varied
            .iter()
            .map(|cause| centred.iter().map(|(causes, outcome)| causes[*cause] * outcome).sum())
            .collect();
        let slopes: Vec<f64> = inverse
            .iter()
            .map(|row| row.iter().zip(&with_outcome).map(|(a, b)| a * b).sum())
            .collect();
        let residuals = centred.iter().map(|(causes, outcome)| {
            let fitted: f64 =
                varied.iter().zip(&slopes).map(|(at, slope)| causes[*at] * slope).sum();
            (outcome - fitted).powi(2)
        });
        let variance = residuals.sum::<f64>() / freedom;
        let mut places = vec![None; count];
        varied.iter().enumerate().for_each(|(place, cause)| places[*cause] = Some(place));
        Some(Self { places, slopes, inverse, variance, freedom })
    }

    /// Returns the amount that one more of a cause adds; `None` for a cause that did not vary.
    pub fn slope(&self, cause: usize) -> Option<Estimate> {
        let mut weights = vec![0.0; self.places.len()];
        *weights.get_mut(cause)? = 1.0;
        self.places[cause]?;
        Some(self.combined(&weights))
    }

    /// Estimates the difference between the amount that one more of a cause adds and the weighted mean for
    /// the other causes. `None` if the cause, or all others, did not vary.
    pub fn beside_others(&self, cause: usize, weights: &[f64]) -> Option<Estimate> {
        (*self.places.get(cause)?)?;
        let of_others = |at: usize| at != cause && self.places[at].is_some();
        let sum: f64 = (0..weights.len()).filter(|at| of_others(*at)).map(|at| weights[at]).sum();
        if sum <= 0.0 {
            return None;
        }
        let mut contrast: Vec<f64> = (0..weights.len())
            .map(|at: usize| if of_others(at) { -weights[at] / sum } else { 0.0 })
            .collect();
        contrast[cause] = 1.0;
        Some(self.combined(&contrast))
    }

    /// The sum of slopes with these weights.
    fn combined(&self, weights: &[f64]) -> Estimate {
        let mut of_varied = vec![0.0; self.slopes.len()];
        for (place, weight) in self.places.iter().zip(weights) {
            if let Some(place) = place {
                of_varied[*place] = *weight;
            }
        }
        let value = of_varied.iter().zip(&self.slopes).map(|(weight, slope)| weight * slope).sum();
        let rows = of_varied.iter().zip(&self.inverse);
        let quadratic: f64 = rows
            .map(|(a, row)| a * row.iter().zip(&of_varied).map(|(c, b)| c * b).sum::<f64>())
            .sum();
        let error = (quadratic.max(0.0) * self.variance).sqrt();
        Estimate { value, error, freedom: self.freedom }
    }
}

/// Causes and outcome of each observation, minus the mean of its group.
fn centred(observations: &[Observation], groups: usize, count: usize) -> Vec<(Vec<f64>, f64)> {
    let mut sums = vec![(vec![0.0; count], 0.0, 0.0); groups];
    for Observation { group, causes, outcome } in observations {
        let (of_causes, of_outcome, seen) = &mut sums[*group];
        of_causes.iter_mut().zip(causes).for_each(|(sum, cause)| *sum += cause);
        *of_outcome += outcome;
        *seen += 1.0;
    }
    let centred = observations.iter().map(|Observation { group, causes, outcome }| {
        let (of_causes, of_outcome, seen) = &sums[*group];
        let causes = causes.iter().zip(of_causes).map(|(cause, sum)| cause - sum / seen).collect();
        (causes, outcome - of_outcome / seen)
    });
    centred.collect()
}

/// The inverse of a symmetric matrix, by Gauss-Jordan elimination; `None` for a singular matrix.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let largest = matrix.iter().flatten().fold(0.0, |most: f64, cell| most.max(cell.abs()));
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|other| f64::from(u8::from(other == at))));
    }
    for column in 0..size {
        let pivot = (column..size).max_by(|a: &usize, b: &usize| {
            matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs())
        })?;
        if matrix[pivot][column].abs() <= largest * 1e-12 {
            return None;
        }
        matrix.swap(column, pivot);
        let by = matrix[column][column];
        matrix[column].iter_mut().for_each(|cell| *cell /= by);
        let own = matrix[column].clone();
        for (at, row) in matrix.iter_mut().enumerate() {
            let times = row[column];
            if at != column {
                row.iter_mut().zip(&own).for_each(|(cell, of_pivot)| *cell -= times * of_pivot);
            }
        }
    }
    Some(matrix.into_iter().map(|mut row| row.split_off(size)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Noise;

    fn seen(group: usize, causes: &[f64], outcome: f64) -> Observation {
        Observation { group, causes: causes.to_vec(), outcome }
    }

    #[test]
    fn a_line_is_found_whatever_the_level_of_its_group() {
        let of = |group: usize, a: f64, b: f64| {
            seen(group, &[a, b, 7.0], 100.0 * group as f64 + 3.0 * a - 2.0 * b)
        };
        let all =
            [of(0, 1.0, 1.0), of(0, 0.0, 1.0), of(0, 1.0, 0.0), of(2, 1.0, 1.0), of(2, 0.5, 1.0)];
        let fit = Regression::from_observations(&all).unwrap();
        let slope = |cause| fit.slope(cause).unwrap();
        assert!((slope(0).value - 3.0).abs() < 1e-9 && (slope(1).value + 2.0).abs() < 1e-9);
        assert!(slope(0).interval(9).unwrap().holds(slope(0).value));
        assert!(fit.slope(2).is_none(), "it did not vary");
        let contrast = fit.beside_others(0, &[1.0, 5.0, 9.0]).unwrap();
        assert!((contrast.value - 5.0).abs() < 1e-9, "{contrast:?}");
        assert!(fit.beside_others(2, &[1.0; 3]).is_none());
    }

    #[test]
    fn simple_regression_has_the_interval_of_the_textbooks() {
        // Slope and standard error by the usual formulas: 1.99, sqrt(0.107 / 3 / 10) = 0.0597; t of 3 is 3.182.
        let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 10.1)];
        let all = points.map(|(x, y)| seen(0, &[x], y));
        let slope = Regression::from_observations(&all).unwrap().slope(0).unwrap();
        assert!((slope.value - 1.99).abs() < 1e-9, "{slope:?}");
        let interval = slope.interval(1).unwrap();
        assert!((interval.high - slope.value - 3.1824 * 0.0597).abs() < 1e-3, "{interval:?}");
        assert!(slope.interval(10).unwrap().low < interval.low);
    }

    #[test]
    fn too_little_says_nothing() {
        assert!(Regression::from_observations(&[]).is_none());
        let one = [seen(0, &[1.0], 1.0), seen(0, &[2.0], 2.0)];
        assert!(Regression::from_observations(&one).is_none(), "no freedom");
        let together = [1.0, 2.0, 3.0, 4.0, 5.0].map(|x| seen(0, &[x, 2.0 * x], x));
        assert!(Regression::from_observations(&together).is_none(), "nobody knows whose it is");
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let held = (0..2_000).filter(|seed| {
            let mut noise = Noise::new(*seed);
            let mut all = Vec::new();
            for group in 0..4 {
                for causes in
                    [[1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.5]]
                {
                    let outcome = 3.0 * causes[0] + group as f64 + noise.normal();
                    all.push(seen(group, &causes, outcome));
                }
            }
            let fit = Regression::from_observations(&all).unwrap();
            fit.slope(0).unwrap().interval(1).unwrap().holds(3.0)
        });
        let held = held.count();
        assert!((1_860..=1_940).contains(&held), "{held} of 2000");
    }
}
