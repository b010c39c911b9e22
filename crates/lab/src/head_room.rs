//! Head room: the multiple of recorded traffic at which a server keeps a target, found by a search over
//! speeds.

use report::Run;
use report::compare::{SpeedRange, Unjudged, UnjudgedReason};
use report::slo::{Observation, Slo};

use crate::rate_search::answer;
use crate::search::{RateOutcome, Search, Settings};

/// Range of tried speeds: from a tenth to ten thousand times the recorded traffic.
const LEAST: f64 = 0.1;
const MOST: f64 = 10_000.0;
/// Trials of one server, by speed.
#[derive(Debug)]
pub struct SpeedTrials<'s> {
    slo: &'s Slo,
    observed: Vec<(f64, Observation)>,
}

impl<'s> SpeedTrials<'s> {
    /// Creates empty trials.
    pub fn new(slo: &'s Slo) -> Self {
        Self { slo, observed: Vec::new() }
    }

    /// Returns the settings of a search over the speed.
    pub fn settings(budget_s: f64) -> Settings {
        Settings {
            start_per_s: 1.0,
            within: 0.05,
            repeats: 3,
            least_per_s: LEAST,
            most_per_s: MOST,
            budget_s,
        }
    }

    /// Adds a run at a speed, and returns the answer for that speed.
    pub fn add(&mut self, speed: f64, run: &Run) -> RateOutcome {
        let observation = Observation::new(self.slo, run);
        let alone = self.slo.judge(&[&observation]);
        self.observed.push((speed, observation));
        let same = self.observed.iter().filter(|(known, _)| (known / speed - 1.0).abs() < 1e-9);
        let all: Vec<&Observation> = same.map(|(_, observation)| observation).collect();
        answer(&alone, &self.slo.judge(&all))
    }
}

/// Range of speeds that a search found. `untried` is the next speed, if its time ended before.
pub fn speed_range(search: &Search, untried: Option<f64>) -> SpeedRange {
    let (kept, missed) = (search.bracket.passes_per_s, search.bracket.fails_per_s);
    let is_open = untried.is_some() || missed.is_none() && kept.is_none_or(|kept| kept < MOST);
    let next = untried.map(|speed| Unjudged { speed, reason: UnjudgedReason::Budget });
    let unjudged = search.unjudged().map(|(speed, answer)| {
        let reason = match answer {
            RateOutcome::ClientLimit => UnjudgedReason::Client,
            RateOutcome::Disturbed => UnjudgedReason::Machine,
            RateOutcome::Undecided | RateOutcome::Kept | RateOutcome::Missed => {
                UnjudgedReason::Trials
            }
        };
        Unjudged { speed, reason }
    });
    let unjudged = unjudged.or(next);
    SpeedRange { kept, missed, is_open, unjudged }
}

#[cfg(test)]
mod tests {
    use report::compare::HeadRoom;

    use super::*;

    fn range(kept: Option<f64>, missed: Option<f64>) -> SpeedRange {
        let is_open = missed.is_none() && kept.is_none_or(|kept| kept < MOST);
        SpeedRange { kept, missed, is_open, unjudged: None }
    }

    /// Returns the result of a search with these trials, whose time ends after `trials` of them.
    fn found(trial: impl Fn(f64) -> RateOutcome, trials: u32) -> String {
        let mut search = Search::new(SpeedTrials::settings(60.0));
        let mut left = trials;
        let cut = search.run(|speed| {
            left = left.checked_sub(1).ok_or(speed)?;
            Ok::<RateOutcome, f64>(trial(speed))
        });
        speed_range(&search, cut.err()).describe()
    }

    #[test]
    fn an_open_end_says_why_it_is_open() {
        let up_to_20 = |beyond| move |speed| if speed < 20.0 { RateOutcome::Kept } else { beyond };
        assert_eq!(found(up_to_20(RateOutcome::Missed), 1_000), "up to 20 times this traffic");
        let client = found(up_to_20(RateOutcome::ClientLimit), 1_000);
        assert!(client.starts_with("at least up to "), "{client}");
        assert!(client.ends_with(" (the client is the limit at 21 times)"), "{client}");
        let machine = found(up_to_20(RateOutcome::Disturbed), 1_000);
        assert!(machine.contains("this machine's own delays decide at "), "{machine}");
        let undecided = found(up_to_20(RateOutcome::Undecided), 1_000);
        assert!(undecided.contains("the trials are inconclusive at "), "{undecided}");
        let cut = found(|_| RateOutcome::Kept, 3);
        let text =
            "at least up to 4.00 times this traffic (--budget ended before 8.00 times was tried)";
        assert_eq!(cut, text);
    }

    #[test]
    fn what_was_found_is_a_sentence() {
        for (range, text) in [
            (range(Some(2.34), Some(2.4)), "up to 2.34 times this traffic"),
            (
                range(Some(2.0), Some(9.0)),
                "at least up to 2.00 times this traffic, but not at 9.00 times",
            ),
            (range(Some(MOST), None), "at least up to 10000 times this traffic"),
            (range(Some(24.0), None), "at least up to 24 times this traffic"),
            (range(None, Some(0.1)), "at none of the speeds tried, down to 0.10 times"),
            (range(None, None), "at a speed that could not be found on this machine"),
        ] {
            assert_eq!(range.describe(), text);
        }
    }

    #[test]
    fn less_room_counts_where_it_is_surely_less() {
        let room = |a, b| HeadRoom { target: "p99<5ms".to_owned(), sides: [a, b] };
        let a = range(Some(2.8), Some(2.9));
        assert!(room(a, range(Some(2.3), Some(2.4))).is_less_on_b(0.1));
        assert!(!room(a, range(Some(2.3), Some(2.4))).is_less_on_b(0.2));
        assert!(!room(a, range(Some(2.7), Some(2.8))).is_less_on_b(0.1));
        assert!(!room(a, range(Some(1.0), None)).is_less_on_b(0.1), "nobody knows where B ends");
        assert!(!room(range(None, None), a).is_less_on_b(0.1));
    }
}
