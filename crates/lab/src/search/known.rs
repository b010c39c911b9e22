//! Answers of the rates that a search has tried.

use super::{Answer, Bracket};

/// Rates with their answers, in the order of their first trials.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownRates(Vec<(f64, Answer)>);

impl KnownRates {
    /// Notes the answer of a rate.
    pub(crate) fn learn(&mut self, rate: f64, answer: Answer) {
        match self.0.iter_mut().find(|(known, _)| *known == rate) {
            Some((_, known)) => *known = answer,
            None => self.0.push((rate, answer)),
        }
    }

    /// Returns the answer of a rate, if it was tried.
    pub(super) fn of(&self, rate: f64) -> Option<Answer> {
        self.0.iter().find(|(known, _)| *known == rate).map(|(_, answer)| *answer)
    }

    /// The lowest rate from `from` on with one of these answers.
    pub(super) fn lowest(&self, from: f64, answers: &[Answer]) -> Option<f64> {
        let above = self.0.iter().filter(|(rate, a)| *rate >= from && answers.contains(a));
        above.map(|(rate, _)| *rate).min_by(f64::total_cmp)
    }

    /// The highest rate below `below`.
    pub(super) fn highest(&self, below: f64) -> Option<f64> {
        self.0.iter().map(|(rate, _)| *rate).filter(|rate| *rate < below).max_by(f64::total_cmp)
    }

    /// The highest kept rate.
    pub(super) fn highest_kept(&self) -> Option<f64> {
        let kept = self.0.iter().filter(|(_, answer)| *answer == Answer::Kept);
        kept.map(|(rate, _)| *rate).max_by(f64::total_cmp)
    }

    /// Returns the joint bracket of the rates: nothing below a kept rate is missed.
    pub(crate) fn bracket(&self) -> Bracket {
        let passes_per_s = self.highest_kept();
        let from = passes_per_s.unwrap_or(0.0);
        let fails_per_s = self.lowest(from, &[Answer::Missed]);
        let below = |rate: &f64| fails_per_s.is_none_or(|fails| *rate < fails);
        let open = |answers: &[Answer]| self.lowest(from, answers).filter(below);
        Bracket {
            passes_per_s,
            fails_per_s,
            undecided_per_s: open(&[Answer::Undecided]),
            unjudged_per_s: open(&[Answer::Disturbed, Answer::ClientLimit]),
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
            (1.0, Answer::Kept),
            (2.0, Answer::Kept),
            (4.0, Answer::Missed),
            (3.0, Answer::Undecided),
            (2.0, Answer::Disturbed),
        ] {
            known.learn(rate, answer);
        }
        assert_eq!((known.of(2.0), known.of(5.0)), (Some(Answer::Disturbed), None));
        assert_eq!(known.lowest(0.0, &[Answer::Missed]), Some(4.0));
        assert_eq!(known.lowest(2.5, &[Answer::Undecided, Answer::Missed]), Some(3.0));
        assert_eq!(known.lowest(4.5, &[Answer::Missed]), None);
        assert_eq!((known.highest(4.0), known.highest(1.0)), (Some(3.0), None));
        assert_eq!(known.highest_kept(), Some(1.0));
    }
}
