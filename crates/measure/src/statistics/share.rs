//! A share of many requests, counted in groups with similar members, and its comparison with a bound.
//!
//! Requests that meet one hiccup are not independent. So the spread between groups (spans of time) determines
//! the number of independent members that they are worth, which is the effective sample size of cluster
//! samples: Kish, "Survey Sampling" (1965), 5.4 and 8.2. The interval is that of the score test: Wilson,
//! "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.

use std::cmp::Ordering;

use super::{ERROR_RATE, Interval, student};

/// Quantile of the normal distribution for the crate's error rate, two-sided.
const NORMAL: f64 = 1.959_964;
/// Minimum number of groups whose own t is used. Fewer use the t of four groups: a smaller number would make
/// almost everything unclear.
const GROUPS_MIN: usize = 4;

/// A share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The observed share, 0 to 1.
    pub share: f64,
    /// Number of independent members that the counted ones are worth.
    pub effective: f64,
}

impl Share {
    /// Computes the share from groups, each given as hits and members; `None` without any members.
    pub fn from_groups(groups: &[(u64, u64)]) -> Option<Self> {
        let groups: Vec<(f64, f64)> = groups
            .iter()
            .filter(|(_, of)| *of > 0)
            .map(|(hits, of)| (*hits as f64, *of as f64))
            .collect();
        let (hits, of) = groups.iter().fold((0.0, 0.0), |(h, n), (hits, of)| (h + hits, n + of));
        if of == 0.0 {
            return None;
        }
        let share = hits / of;
        let count = groups.len() as f64;
        let independent = share * (1.0 - share) / of;
        let mut effect = 1.0;
        if groups.len() > 1 && independent > 0.0 {
            let squares: f64 = groups.iter().map(|(hits, n)| (hits - share * n).powi(2)).sum();
            let seen = count * squares / (count - 1.0) / (of * of);
            let freedom = groups.len().max(GROUPS_MIN) as f64 - 1.0;
            let wider = student::two_sided(ERROR_RATE, freedom).unwrap_or(NORMAL) / NORMAL;
            effect = (seen / independent * wider * wider).max(1.0);
        }
        Some(Self { share, effective: of / effect })
    }

    /// Computes the share from the groups of several trials, one list per trial. A disturbance in a trial
    /// hits neighbouring groups alike, so trials count as groups, too, and the more cautious of the two
    /// counts is used.
    pub fn of_trials(trials: &[&[(u64, u64)]]) -> Option<Self> {
        let groups: Vec<(u64, u64)> = trials.iter().copied().flatten().copied().collect();
        let sums = trials.iter().map(|groups| {
            groups.iter().fold((0, 0), |(hits, all), (hit, of)| (hits + hit, all + of))
        });
        let whole: Vec<(u64, u64)> = sums.collect();
        let by_group = Self::from_groups(&groups)?;
        let by_trial = Self::from_groups(&whole)?;
        Some(Self { effective: by_group.effective.min(by_trial.effective), ..by_group })
    }

    /// Computes the margin of a measured share around a true share of `bound`, 19 times in 20.
    pub fn margin(&self, bound: f64) -> f64 {
        NORMAL * (bound * (1.0 - bound) / self.effective).sqrt()
    }

    /// Returns the interval that contains the true share 19 times in 20.
    pub fn interval(&self) -> Interval {
        let (per_member, share) = (NORMAL * NORMAL / self.effective, self.share);
        let middle = share + per_member / 2.0;
        let half = (per_member * (share * (1.0 - share) + per_member / 4.0)).sqrt();
        let whole = 1.0 + per_member;
        Interval { low: ((middle - half) / whole).max(0.0), high: (middle + half) / whole }
    }

    /// Compares the true share with a bound; `None` if it may be on either side.
    pub fn against(&self, bound: f64) -> Option<Ordering> {
        let margin = self.margin(bound);
        match self.share {
            share if share < bound - margin => Some(Ordering::Less),
            share if share > bound + margin => Some(Ordering::Greater),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Noise;

    fn against(groups: &[(u64, u64)], bound: f64) -> Option<Ordering> {
        Share::from_groups(groups).unwrap().against(bound)
    }

    #[test]
    fn a_share_of_few_is_neither_below_nor_above() {
        assert_eq!(against(&[(0, 100)], 0.01), None, "a hundred do not show a hundredth");
        assert_eq!(against(&[(0, 1000)], 0.01), Some(Ordering::Less));
        assert_eq!(against(&[(9, 1000)], 0.01), None);
        assert_eq!(against(&[(30, 1000)], 0.01), Some(Ordering::Greater));
        assert_eq!(Share::from_groups(&[(0, 0)]), None);
    }

    #[test]
    fn an_interval_is_that_of_the_score_test() {
        // Of 20 tries: none, 5 and all. Newcombe, Statistics in Medicine 1998, method 3.
        for (hits, low, high) in [(0.0, 0.0, 0.1611), (5.0, 0.1119, 0.4687), (20.0, 0.8389, 1.0)] {
            let Interval { low: a, high: b } =
                Share { share: hits / 20.0, effective: 20.0 }.interval();
            assert!((a - low).abs() < 1e-4 && (b - high).abs() < 1e-4, "{hits}: {a} to {b}");
        }
    }

    #[test]
    fn one_hiccup_counts_once_however_many_meet_it() {
        let spread: Vec<_> = (0..8).map(|_| (50, 10_000)).collect();
        assert_eq!(against(&spread, 0.01), Some(Ordering::Less));
        let one: Vec<_> = (0..8).map(|n| (if n == 3 { 400 } else { 0 }, 10_000)).collect();
        assert_eq!(against(&one, 0.01), None, "of one hiccup nobody knows how often it comes");
        let much: Vec<_> = (0..8).map(|n| (400 + n, 10_000)).collect();
        assert_eq!(against(&much, 0.01), Some(Ordering::Greater));
    }

    #[test]
    fn trials_that_differ_are_worth_less_than_their_spans() {
        let (bad, good) = ([(300, 1000); 8], [(0, 1000); 8]);
        let of = |trials: &[&[(u64, u64)]]| Share::of_trials(trials).unwrap();
        let alike = of(&[&bad, &bad, &bad]);
        assert_eq!(alike, Share::from_groups(&[(300, 1000); 24]).unwrap());
        let apart = of(&[&bad, &good, &good, &good]);
        let spans = Share::from_groups(&[bad, good, good, good].concat()).unwrap();
        assert!(apart.effective < spans.effective / 4.0, "{apart:?} {spans:?}");
        assert_eq!((apart.share, apart.against(0.01)), (0.075, None));
        assert_eq!(
            spans.against(0.01),
            Some(Ordering::Greater),
            "which one bad trial does not show"
        );
        assert_eq!(of(&[&bad]), Share::from_groups(&bad).unwrap(), "one trial has its spans alone");
    }

    #[test]
    fn a_share_at_its_bound_is_misjudged_one_time_in_twenty() {
        let mut noise = Noise::new(7);
        let wrong = (0..2000).filter(|_| {
            let groups: Vec<(u64, u64)> = (0..12)
                .map(|_| ((0..500).filter(|_| noise.uniform() < 0.05).count() as u64, 500))
                .collect();
            against(&groups, 0.05).is_some()
        });
        let wrong = wrong.count();
        assert!(wrong < 120, "{wrong} of 2000");
    }
}
