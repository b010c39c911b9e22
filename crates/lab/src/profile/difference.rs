//! Work that a second server does more or less than the first for each request, by function, and the gate on that.

use measure::statistics::{RatioEstimate, holm};
use report::compare::GateState;
use serde::{Deserialize, Serialize};

use super::{Counts, Figure, INSTRUCTIONS_MIN, Profile};

/// The second server beside the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Instructions that each request takes more.
    pub instructions: Figure,
    /// Increase in per cent of the first server's instructions.
    pub percent: f64,
    /// Range that holds the true per cent 95 times in 100; `None` of a single start.
    pub percent_interval: Option<(f64, f64)>,
    /// Changes of functions, by own instructions: the greatest first.
    pub functions: Vec<Change>,
    /// Probability of such an increase if the true one were what is allowed.
    pub(crate) p_worse: Option<f64>,
}

/// A function that takes more or fewer instructions of its own for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Name of the function.
    pub name: String,
    /// Instructions that it takes more.
    pub added: f64,
}

impl Difference {
    /// The difference by the starts that both servers have had, of which each is compared with its own; `None` without
    /// any. An increase beyond `threshold` per cent is too much, if that is given.
    pub fn between(old: &[Counts], new: &[Counts], threshold: Option<f64>) -> Option<Self> {
        let starts = old.len().min(new.len());
        let (old, new) = (&old[..starts], &new[..starts]);
        let [a, b] = [old, new]
            .map(|starts| starts.iter().map(|counts| counts.instructions).collect::<Vec<_>>());
        let ratio = RatioEstimate::paired(&a, &b, 0.0)?;
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let bound = 1.0 + threshold.unwrap_or(0.0) / 100.0;
        Some(Self {
            instructions: Figure::from_values(a.iter().zip(&b).map(|(a, b)| b - a).collect())?,
            percent: percent(ratio.ratio),
            percent_interval: ratio.interval.map(|of| (percent(of.low), percent(of.high))),
            functions: changes(old, new),
            p_worse: ratio.p_above(bound),
        })
    }
}

fn changes(old: &[Counts], new: &[Counts]) -> Vec<Change> {
    let mut added = Counts::default();
    new.iter().for_each(|of| added.add(of, new.len() as f64));
    old.iter().for_each(|of| added.add(of, -(old.len() as f64)));
    added.functions.retain(|_, cost| cost.own.abs() >= INSTRUCTIONS_MIN);
    let changes = added.functions.into_iter();
    let changes = changes.map(|(name, cost)| Change { name, added: cost.own });
    let mut changes: Vec<Change> = changes.collect();
    changes.sort_by(|a, b| b.added.abs().total_cmp(&a.added.abs()));
    changes
}

impl Profile {
    /// Returns the result of `--fail-on-regression`, with the tests that are surely worse than allowed or, if there are
    /// none, of which it is not known; `None` without the option.
    pub fn gate(&self) -> Option<(GateState, Vec<&str>)> {
        let threshold = self.threshold?;
        let judged: Vec<_> = self.tests.iter().map(|test| test.difference.as_ref()).collect();
        let p = judged.iter().map(|of| of.and_then(|of| of.p_worse).unwrap_or(1.0));
        // Several tests are as many chances to be wrong.
        let is_worse = holm(&p.collect::<Vec<_>>(), 1);
        let may_be_worse = judged.iter().map(|of| {
            of.and_then(|of| of.percent_interval).is_none_or(|(_, high)| high > threshold)
        });
        let names = |of: Vec<bool>| -> Vec<&str> {
            let those = self.tests.iter().zip(of).filter(|(_, is_one)| *is_one);
            those.map(|(test, _)| &*test.name).collect()
        };
        let (found, open) = (names(is_worse), names(may_be_worse.collect()));
        if !found.is_empty() {
            return Some((GateState::Failed, found));
        }
        let is_open = !open.is_empty() || self.tests.is_empty() || !self.complete;
        Some((if is_open { GateState::Undecided } else { GateState::Passed }, open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tests::counts;
    use crate::profile::{ProfiledTest, Work};
    use crate::view::profile::tests::profile;

    /// A test of starts with these instructions on each server.
    fn difference(old: &[f64], new: &[f64]) -> Option<Difference> {
        let side = |values: &[f64]| -> Vec<Counts> {
            values.iter().map(|own| counts(&[("get", *own), ("same", 10.0)])).collect()
        };
        Difference::between(&side(old), &side(new), Some(0.5))
    }

    fn judged(differences: &[Option<Difference>]) -> (GateState, usize) {
        let mut profile = profile();
        let test = profile.tests[0].clone();
        let work = Work::from_starts(&[counts(&[("get", 1.0)])]).unwrap();
        let of = |difference: &Option<Difference>| ProfiledTest {
            servers: vec![work.clone(), work.clone()],
            difference: difference.clone(),
            ..test.clone()
        };
        profile.tests = differences.iter().map(of).collect();
        profile.threshold = Some(0.5);
        profile.complete = true;
        let (state, names) = profile.gate().unwrap();
        (state, names.len())
    }

    #[test]
    fn what_a_start_changes_on_both_sides_is_no_difference() {
        let found = difference(&[1000.0, 1100.0, 1200.0], &[1050.0, 1150.0, 1251.0]).unwrap();
        assert!((found.instructions.mean - 50.333).abs() < 0.001, "{found:?}");
        assert!(
            found.percent_interval.unwrap().0 > 0.0 && (4.0..5.0).contains(&found.percent),
            "{found:?}"
        );
        assert_eq!((found.functions.len(), &*found.functions[0].name), (1, "get"));
        let same = difference(&[1000.0, 1100.0, 1200.0], &[1001.0, 1099.0, 1200.0]).unwrap();
        assert!(same.percent_interval.unwrap().0 < 0.0 && same.percent.abs() < 0.1, "{same:?}");
        // Of starts that only one server had, nothing is known.
        assert!(difference(&[1000.0, 1.0], &[1000.0]).unwrap().percent_interval.is_none());
        assert_eq!(difference(&[], &[1.0]), None);
    }

    #[test]
    fn a_gate_fails_by_what_is_sure_and_is_open_where_nothing_is_known() {
        let old = [1000.0, 1001.0, 999.0];
        let equal = difference(&old, &[1000.0, 1001.0, 999.0]);
        let worse = difference(&old, &[1011.0, 1012.0, 1010.0]);
        let unsure = difference(&old, &[1000.0, 1030.0, 980.0]);
        assert_eq!(judged(&[equal.clone(), equal.clone()]), (GateState::Passed, 0));
        assert_eq!(judged(&[equal.clone(), worse, unsure.clone()]), (GateState::Failed, 1));
        assert_eq!(judged(&[equal.clone(), unsure]), (GateState::Undecided, 1));
        assert_eq!(judged(&[equal, None]), (GateState::Undecided, 1));
        assert_eq!(judged(&[]), (GateState::Undecided, 0));
    }
}
