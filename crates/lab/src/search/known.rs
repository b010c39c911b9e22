//! Answers of the rates that a search has tried.

use super::{Bracket, RateOutcome};

/// Rates with their answers, in the order of their first trials.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownRates(Vec<(f64, RateOutcome)>);

impl KnownRates {
    /// Notes the answer of a rate.
    pub(crate) fn learn(&mut self, rate: f64, answer: RateOutcome) {
        match self.0.iter_mut().find(|(known, _)| *known == rate) {
            Some((_, known)) => *known = answer,
            None => self.0.push((rate, answer)),
        }
    }

    /// Returns the answer of a rate, if it was tried.
    pub(super) fn outcome(&self, rate: f64) -> Option<RateOutcome> {
        self.0.iter().find(|(known, _)| *known == rate).map(|(_, answer)| *answer)
    }

    /// The lowest tried rate, at or above `from`, with one of these outcomes.
    pub(super) fn lowest(&self, from: f64, answers: &[RateOutcome]) -> Option<f64> {
        let above = self.0.iter().filter(|(rate, a)| *rate >= from && answers.contains(a));
        above.map(|(rate, _)| *rate).min_by(f64::total_cmp)
    }

    /// The highest tried rate below `below`.
    pub(super) fn highest(&self, below: f64) -> Option<f64> {
        self.0.iter().map(|(rate, _)| *rate).filter(|rate| *rate < below).max_by(f64::total_cmp)
    }

    /// The highest kept rate.
    pub(super) fn highest_kept(&self) -> Option<f64> {
        let kept = self.0.iter().filter(|(_, answer)| *answer == RateOutcome::Kept);
        kept.map(|(rate, _)| *rate).max_by(f64::total_cmp)
    }

    /// Returns the joint bracket of the rates: nothing below a kept rate is missed.
    pub(crate) fn bracket(&self) -> Bracket {
        let passes_per_s = self.highest_kept();
        let from = passes_per_s.unwrap_or(0.0);
        let fails_per_s = self.lowest(from, &[RateOutcome::Missed]);
        let open = |answers: &[RateOutcome]| {
            self.lowest(from, answers).filter(|rate| fails_per_s.is_none_or(|fails| *rate < fails))
        };
        Bracket {
            passes_per_s,
            fails_per_s,
            undecided_per_s: open(&[RateOutcome::Undecided]),
            unjudged_per_s: open(&[RateOutcome::Disturbed, RateOutcome::ClientLimit]),
            given_up: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_found_by_what_they_were_last() {
        let mut known = KnownRates::default();
        for (rate, answer) in [
            (1.0, RateOutcome::Kept),
            (2.0, RateOutcome::Kept),
            (4.0, RateOutcome::Missed),
            (3.0, RateOutcome::Undecided),
            (2.0, RateOutcome::Disturbed),
        ] {
            known.learn(rate, answer);
        }
        assert_eq!((known.outcome(2.0), known.outcome(5.0)), (Some(RateOutcome::Disturbed), None));
        assert_eq!(known.lowest(0.0, &[RateOutcome::Missed]), Some(4.0));
        assert_eq!(known.lowest(2.5, &[RateOutcome::Undecided, RateOutcome::Missed]), Some(3.0));
        assert_eq!(known.lowest(4.5, &[RateOutcome::Missed]), None);
        assert_eq!((known.highest(4.0), known.highest(1.0)), (Some(3.0), None));
        assert_eq!(known.highest_kept(), Some(1.0));
    }
}
