//! `--fail-on-regression`: by which figures B is worse than allowed, and how sure that is.

use statistics::holm;

use super::{Comparison, Row, TestComparison};
use crate::Metric;

/// What `--fail-on-regression` watches: what a service promises.
pub const WATCHED: [Metric; 2] = [Metric::Throughput, Metric::P99];

/// A figure by which B is worse than allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The test.
    pub test: String,
    /// The figure.
    pub metric: Metric,
    /// B over A.
    pub ratio: f64,
}

/// What came of `--fail-on-regression`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Regressions {
    /// Surely worse than allowed: the chance that any of these is wrong is 5 % in all.
    pub found: Vec<Regression>,
    /// Not found to be, but their intervals leave room for it.
    pub possible: Vec<Regression>,
    /// Without an interval, so that nothing can be said.
    pub unknown: Vec<Regression>,
}

impl Comparison {
    /// Where B is worse than A by more than `percent`, of the figures in [`WATCHED`].
    #[must_use]
    pub fn regressions(&self, percent: f64) -> Regressions {
        let told = self.tests.iter().filter(|test| test.refused.is_none());
        let rows = told.flat_map(|test| {
            // A get of several keys may be several requests to one side.
            let instead = |metric| match (metric, test.row(Metric::Keys)) {
                (Metric::Throughput, Some(keys)) => Some(keys),
                (metric, _) => test.row(metric),
            };
            WATCHED.into_iter().filter_map(move |metric| Some((test, instead(metric)?)))
        });
        let regression = |test: &TestComparison, row: &Row| Regression {
            test: test.name.clone(),
            metric: row.metric,
            ratio: row.ratio.ratio,
        };
        let mut regressions = Regressions::default();
        let mut judged = Vec::new();
        for (test, row) in rows {
            match row.p_worse(percent) {
                Some(p) => judged.push((test, row, p)),
                None => regressions.unknown.push(regression(test, row)),
            }
        }
        // Many figures are many chances to be wrong.
        let small = holm(&judged.iter().map(|(.., p)| *p).collect::<Vec<_>>());
        for ((test, row, _), small) in judged.into_iter().zip(small) {
            if small {
                regressions.found.push(regression(test, row));
            } else if row.may_be_worse(percent) {
                regressions.possible.push(regression(test, row));
            }
        }
        regressions
    }
}
