//! The search for the member of a sequence that changed a figure, if every measurement is noisy.
//!
//! Each member has a probability of being the cause, and each measurement shifts probability to the members
//! that explain the value better. The next member to measure is the one that halves the remaining probability
//! (Horstein, "Sequential transmission using noiseless feedback", IEEE Transactions on Information Theory
//! 1963). Values are logarithms of ratios. Their spread is estimated from a few measurements only, so their
//! distribution is Student's t, in which a single outlier decides nothing.

use super::mean::Moments;

/// The search among members 1 to `count` of a sequence. Member 0 is known to be before the change, and the
/// last member to be after it.
#[derive(Debug, Clone)]
pub struct Bisection {
    /// The change in logarithms, and the standard deviation of a value.
    shift: f64,
    deviation: f64,
    freedom: f64,
    /// The logarithm of the weight of a change with member 1, 2, …
    weights: Vec<f64>,
    /// Set for members that cannot be measured.
    skipped: Vec<bool>,
}

/// The likely places of the change.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspects {
    /// Members that may have caused the change, the most probable first. One of them did with `probability`.
    pub members: Vec<usize>,
    /// Probability that the change came with one of the members.
    pub probability: f64,
}

impl Bisection {
    /// Starts the search from measurements of the last member, as logarithms of its ratio to member 0, which
    /// vary by `resolution` at least. `None` for fewer than three values, for values that do not vary, and for
    /// `count` 0.
    pub fn new(count: usize, last: &[f64], resolution: f64) -> Option<Self> {
        let Moments { count: values, mean, variance } = Moments::from_values(last)?;
        let deviation = Some(variance?.sqrt().max(resolution)).filter(|of| *of > 0.0)?;
        (count > 0 && values > 2).then(|| Self {
            shift: mean,
            deviation,
            freedom: values as f64 - 1.0,
            weights: vec![0.0; count],
            skipped: vec![false; count],
        })
    }

    /// Adds a measurement of a member, counted from 0: the logarithm of its ratio to member 0.
    pub fn observe(&mut self, member: usize, value: f64) {
        let likelihood = |level: f64| {
            let off = (value - level) / self.deviation;
            -(self.freedom + 1.0) / 2.0 * (off * off / self.freedom).ln_1p()
        };
        let (before, after) = (likelihood(0.0), likelihood(self.shift));
        for (at, weight) in (1..).zip(&mut self.weights) {
            *weight += if member >= at { after } else { before };
        }
    }

    /// Records that a member cannot be measured.
    pub fn skip(&mut self, member: usize) {
        if let Some(skipped) = member.checked_sub(1).and_then(|at| self.skipped.get_mut(at)) {
            *skipped = true;
        }
    }

    /// The probability that the change came with member 1, 2, …
    pub fn probabilities(&self) -> Vec<f64> {
        let most = self.weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = self.weights.iter().map(|weight| (weight - most).exp()).collect();
        let all: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / all).collect()
    }

    /// The member whose measurement is most informative; `None` if only skipped ones could tell more.
    pub fn next(&self) -> Option<usize> {
        let mut so_far = 0.0;
        let mut best = None;
        for (at, probability) in (1..).zip(self.probabilities()) {
            so_far += probability;
            let uncertain = so_far.min(1.0 - so_far);
            // The last is known to be after the change; what is nearly sure is not worth a run.
            if at < self.weights.len() && !self.skipped[at - 1] && uncertain > NEARLY_SURE {
                match best {
                    Some((_, most)) if most >= uncertain => {}
                    _ => best = Some((at, uncertain)),
                }
            }
        }
        best.map(|(at, _)| at)
    }

    /// The fewest members that include the cause with the probability `wanted`.
    pub fn suspects(&self, wanted: f64) -> Suspects {
        let mut order: Vec<(usize, f64)> = (1..).zip(self.probabilities()).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let (mut members, mut probability) = (Vec::new(), 0.0);
        for (member, of) in order {
            members.push(member);
            probability += of;
            if probability >= wanted {
                break;
            }
        }
        Suspects { members, probability }
    }
}

/// Doubt about a member below which another measurement is not worthwhile.
const NEARLY_SURE: f64 = 0.002;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Noise;

    /// Searches `count` members for a change of size `shift` at `truth`; returns the suspects and the number
    /// of measurements.
    fn searched(number: u64, count: usize, truth: usize, shift: f64) -> (Suspects, usize) {
        let mut noise = Noise::new(number);
        let mut value = |member: usize| {
            let level = if member >= truth { shift } else { 0.0 };
            level + 0.01 * noise.normal()
        };
        let last: Vec<f64> = (0..5).map(|_| value(count)).collect();
        let mut bisection = Bisection::new(count, &last, 0.0).unwrap();
        let mut taken = 0;
        while taken < 200 && bisection.suspects(0.95).members.len() > 1 {
            let Some(member) = bisection.next() else { break };
            bisection.observe(member, value(member));
            taken += 1;
        }
        (bisection.suspects(0.95), taken)
    }

    #[test]
    fn the_member_that_changed_it_is_named_19_times_in_20() {
        for (count, shift, most) in [(30, -0.05, 25), (200, -0.03, 80), (5, 0.04, 20)] {
            let mut right = 0;
            for number in 0..200 {
                let truth = 1 + (number as usize * 7) % count;
                let (found, taken) = searched(number, count, truth, shift);
                right += usize::from(found.members == [truth]);
                assert!(taken <= most * 3, "{taken} measurements of {count}");
            }
            assert!(right >= 186, "{right} of 200 among {count}");
        }
    }

    #[test]
    fn members_that_cannot_be_measured_are_suspects_together() {
        let mut bisection = Bisection::new(10, &[-0.1, -0.101, -0.099], 0.0).unwrap();
        for member in [4, 5, 6] {
            bisection.skip(member);
        }
        while let Some(member) = bisection.next() {
            // The change came with member 5.
            bisection.observe(member, if member >= 5 { -0.1 } else { 0.0 });
        }
        let mut found = bisection.suspects(0.95);
        found.members.sort_unstable();
        assert_eq!(found.members, [4, 5, 6, 7]);
    }

    #[test]
    fn a_single_candidate_is_right_and_too_little_is_known_of_too_few_values() {
        let bisection = Bisection::new(1, &[0.1, 0.11, 0.09], 0.0).unwrap();
        assert_eq!((bisection.next(), bisection.suspects(0.95).members), (None, vec![1]));
        assert!(Bisection::new(5, &[0.1, 0.2], 0.0).is_none());
        assert!(Bisection::new(5, &[0.1; 4], 0.0).is_none());
        assert!(Bisection::new(0, &[0.1, 0.2, 0.3], 0.0).is_none());
        assert!(
            Bisection::new(5, &[0.1; 4], 0.001).is_some(),
            "an instrument may count the same each time"
        );
    }
}
