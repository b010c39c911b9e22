//! Offset of another clock, from questions and answers with their times.
//!
//! No wall clock is trusted. The answer was given between the sending of its question and its arrival, so
//! each answer bounds the offset from both sides; together they bound it more closely than the quickest
//! alone.

/// Largest tolerated contradiction between answers of one clock, as slewed clocks contradict themselves a
/// little.
pub(crate) const CLOCK_NS: i128 = 10_000_000;

/// A question for the time and its answer, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// Time on our clock when the question left.
    pub sent_ns: u64,
    /// Time on the other clock.
    pub theirs_ns: u64,
    /// Time on the coordinator's clock when the answer arrived.
    pub received_ns: u64,
}

/// Time by which another clock is ahead of the coordinator's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    /// Nanoseconds by which it is ahead.
    pub ahead_ns: f64,
    /// Largest error of the offset.
    pub bound_ns: f64,
}

impl Offset {
    /// Computes the offset that all these pings allow; `None` without pings. If they contradict each other, a
    /// clock was set meanwhile, and the quickest counts.
    pub fn from_pings(pings: &[Ping]) -> Option<Self> {
        let least = |ping: &Ping| ping.theirs_ns as f64 - ping.received_ns as f64;
        let most = |ping: &Ping| ping.theirs_ns as f64 - ping.sent_ns as f64;
        let quickest = pings.iter().min_by_key(|p| p.received_ns.saturating_sub(p.sent_ns))?;
        let from = pings.iter().map(least).fold(f64::NEG_INFINITY, f64::max);
        let to = pings.iter().map(most).fold(f64::INFINITY, f64::min);
        let (from, to) = if from <= to { (from, to) } else { (least(quickest), most(quickest)) };
        Some(Self { ahead_ns: f64::midpoint(from, to), bound_ns: (to - from) / 2.0 })
    }

    /// Returns whether all these may come from one clock that ran on: otherwise it was set, or several clocks
    /// answered.
    pub fn agrees(pings: &[Ping]) -> bool {
        Self::contradiction_ns(pings) <= 0
    }

    /// Computes by how many nanoseconds the least offset that one of these pings allows exceeds the largest
    /// that another allows; at most 0 if all may come from one clock that ran on.
    pub fn contradiction_ns(pings: &[Ping]) -> i128 {
        let least = pings.iter().map(|p| i128::from(p.theirs_ns) - i128::from(p.received_ns)).max();
        let most = pings.iter().map(|p| i128::from(p.theirs_ns) - i128::from(p.sent_ns)).min();
        least.zip(most).map_or(0, |(least, most)| least - most)
    }

    /// Computes the least number of nanoseconds that a clock gained between two measurements, negative if it
    /// lost time; 0 if the bounds of both allow that.
    pub fn drift_ns(before: Self, after: Self) -> f64 {
        let drift_ns = after.ahead_ns - before.ahead_ns;
        let unsure_ns = before.bound_ns + after.bound_ns;
        drift_ns.signum() * (drift_ns.abs() - unsure_ns).max(0.0)
    }

    /// Converts the coordinator's time to the other clock; 0 for times before it began.
    pub fn theirs_ns(&self, ours_ns: u64) -> u64 {
        (ours_ns as f64 + self.ahead_ns).max(0.0) as u64
    }

    /// Converts the other clock's time to the coordinator's; negative for times before that began.
    pub fn ours_ns(&self, theirs_ns: u64) -> f64 {
        theirs_ns as f64 - self.ahead_ns
    }
}

/// Computes the spread of several times, each known within its bound, and its largest error, from the two
/// greatest bounds.
pub fn spread(times_and_bounds: &[(f64, f64)]) -> (f64, f64) {
    let times = || times_and_bounds.iter().map(|(time, _)| *time);
    let spread = times().fold(f64::NEG_INFINITY, f64::max) - times().fold(f64::INFINITY, f64::min);
    let mut bounds: Vec<f64> = times_and_bounds.iter().map(|(_, bound)| *bound).collect();
    bounds.sort_by(|a, b| b.total_cmp(a));
    (spread.max(0.0), bounds.iter().take(2).sum())
}

/// Describes why the times that a client reported contradict each other; `None` if they do not.
pub(crate) fn contradicts_itself(pings: &[Ping]) -> Option<String> {
    let apart_ns = Offset::contradiction_ns(pings);
    (apart_ns > CLOCK_NS).then(|| {
        let seconds = apart_ns as f64 / 1e9;
        format!(
            "its clock is wrong: the times that it reported contradict each other by {seconds:.2} s"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(sent_ns: u64, theirs_ns: u64, received_ns: u64) -> Ping {
        Ping { sent_ns, theirs_ns, received_ns }
    }

    #[test]
    fn all_answers_together_bound_closer_than_the_quickest() {
        // The other clock is 1000 ahead; each way takes what it takes.
        let slow_back = ping(100, 1110, 150);
        let slow_there = ping(200, 1245, 255);
        let one = Offset::from_pings(&[slow_back]).unwrap();
        assert_eq!((one.ahead_ns, one.bound_ns), (985.0, 25.0));
        let both = Offset::from_pings(&[slow_back, slow_there]).unwrap();
        assert_eq!((both.ahead_ns, both.bound_ns), (1000.0, 10.0));
        assert!(Offset::agrees(&[slow_back, slow_there]));
        assert_eq!((both.theirs_ns(500), both.ours_ns(1500)), (1500, 500.0));
        assert_eq!(Offset::from_pings(&[]), None);
    }

    #[test]
    fn an_hour_apart_is_no_matter_and_neither_is_which_began_first() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let ahead = Offset::from_pings(&[ping(10, HOUR_NS + 20, 30)]).unwrap();
        assert_eq!((ahead.ahead_ns, ahead.bound_ns), (HOUR_NS as f64, 10.0));
        let behind = Offset::from_pings(&[ping(HOUR_NS + 10, 20, HOUR_NS + 30)]).unwrap();
        assert_eq!(behind.theirs_ns(HOUR_NS + 50), 50);
        assert_eq!(behind.theirs_ns(5), 0);
    }

    #[test]
    fn of_a_clock_that_was_set_the_quickest_answer_counts() {
        let pings = [ping(0, 1050, 100), ping(200, 9210, 220)];
        assert!(!Offset::agrees(&pings));
        assert_eq!(Offset::contradiction_ns(&pings), 8990 - 1050);
        assert_eq!(Offset::contradiction_ns(&[]), 0);
        let offset = Offset::from_pings(&pings).unwrap();
        assert_eq!((offset.ahead_ns, offset.bound_ns), (9000.0, 10.0));
    }

    #[test]
    fn a_drift_is_what_two_looks_do_not_account_for() {
        let offset = |ahead_ns, bound_ns| Offset { ahead_ns, bound_ns };
        assert_eq!(Offset::drift_ns(offset(100.0, 10.0), offset(150.0, 20.0)), 20.0);
        assert_eq!(Offset::drift_ns(offset(150.0, 20.0), offset(100.0, 10.0)), -20.0);
        assert_eq!(Offset::drift_ns(offset(100.0, 30.0), offset(150.0, 20.0)), 0.0);
    }

    #[test]
    fn a_spread_is_as_sure_as_its_two_worst_clocks() {
        assert_eq!(spread(&[(5.0, 1.0), (9.0, 3.0), (7.0, 2.0)]), (4.0, 5.0));
        assert_eq!(spread(&[(5.0, 1.0)]), (0.0, 1.0));
        assert_eq!(spread(&[]), (0.0, 0.0));
    }
}
