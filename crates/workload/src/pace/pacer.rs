//! One worker's walk along a schedule.
//!
//! The worker asks for due requests when a connection has room, so a backlog is simply the schedule's delay
//! behind the clock: there is no queue to bound and no tick to skip. It also counts the due requests of a run
//! ([`Pacer::due_before`]), with the same draws that send them.

use std::ops::Range;

use super::{Arrivals, Curve};
use crate::random;

/// A worker's part of a schedule: of every `of` consecutive requests, number `index`, so that the sends of
/// all workers, and of all processes that share one plan, interleave evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Index from 0 to `of` - 1.
    pub index: u64,
    /// Lanes in all.
    pub of: u64,
}

/// Position of one worker in the schedule.
#[derive(Debug, Clone)]
pub struct Pacer {
    start_ns: u64,
    curve: Curve,
    piece: usize,
    arrivals: Arrivals,
    lane: Lane,
    seed: u64,
    /// Units taken.
    taken: u64,
    /// Start of counting, and number of units taken before it.
    counts_from_ns: u64,
    taken_uncounted: u64,
    /// Place of the next unit on the curve.
    position: f64,
    due_ns: u64,
    /// The current or next span without a limit; an empty one far away if there is none.
    unlimited: Range<u64>,
    /// Counted units taken in such spans.
    taken_unlimited: u64,
}

/// A span that never begins.
const NEVER: Range<u64> = u64::MAX..u64::MAX;

/// Maximum number of random arrivals that are drawn to count the remaining units; the curve estimates the rest,
/// from which four million draws differ by less than a tenth of a per cent.
const DRAWN_MAX: u64 = 1 << 22;

impl Pacer {
    /// Creates the walk over `lane`'s units of `curve` from `start_ns` on. `seed` is for random arrivals.
    pub fn new(start_ns: u64, curve: Curve, arrivals: Arrivals, lane: Lane, seed: u64) -> Self {
        assert!(lane.index < lane.of, "lane {lane:?} is one of those there are");
        // Another stream than that of the keys, and another one for each lane.
        let seed = random::draw(seed, u64::MAX - lane.index);
        let mut pacer = Self {
            start_ns,
            curve,
            piece: 0,
            arrivals,
            lane,
            seed,
            taken: 0,
            counts_from_ns: 0,
            taken_uncounted: 0,
            position: 0.0,
            due_ns: 0,
            unlimited: NEVER,
            taken_unlimited: 0,
        };
        pacer.find();
        pacer.find_unlimited(start_ns);
        pacer
    }

    /// Excludes units due before this time, those of a warm-up, from every count.
    pub fn counting_from(self, ns: u64) -> Self {
        Self { counts_from_ns: ns, ..self }
    }

    /// Changes the curve from now on. Units that were due stay due, and the next ones follow at the new
    /// rates. The new curve must include the old part.
    pub fn follow(&mut self, curve: Curve) {
        (self.curve, self.piece) = (curve, 0);
        self.locate();
        // From the beginning: one that is over is passed over when it is looked at.
        self.find_unlimited(self.start_ns);
    }

    fn find_unlimited(&mut self, now_ns: u64) {
        let at = |ns: u64| self.start_ns.saturating_add(ns);
        let next = self.curve.unlimited_after(now_ns.saturating_sub(self.start_ns));
        self.unlimited = next.map_or(NEVER, |span| at(span.start)..at(span.end));
    }

    /// Due time of the next unit, or its earliest; `u64::MAX` if there is none.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns.min(self.unlimited.start)
    }

    /// Returns whether a unit is due at `now_ns`.
    #[inline]
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        self.due_ns <= now_ns || self.is_unlimited(now_ns)
    }

    /// Returns whether there is no limit at `now_ns`.
    #[inline]
    fn is_unlimited(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.unlimited.end {
            self.find_unlimited(now_ns);
        }
        now_ns >= self.unlimited.start
    }

    /// Takes the next unit if it is due at `now_ns`, and returns its due time.
    #[inline]
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.due_ns;
        if due_ns > now_ns {
            if !self.is_unlimited(now_ns) {
                return None;
            }
            self.taken_unlimited += u64::from(now_ns >= self.counts_from_ns);
            return Some(now_ns);
        }
        self.taken += 1;
        self.taken_uncounted += u64::from(now_ns < self.counts_from_ns);
        self.find();
        Some(due_ns)
    }

    /// Number of units due before `end_ns`: those taken since counting began, and those not taken.
    pub fn due_before(&self, end_ns: u64) -> u64 {
        let taken = self.taken - self.taken_uncounted + self.taken_unlimited;
        taken.saturating_add(self.left_before(end_ns))
    }

    /// Units due before `end_ns` that were not taken.
    fn left_before(&self, end_ns: u64) -> u64 {
        let mut ahead = self.clone();
        let mut left = 0;
        if self.arrivals == Arrivals::Constant {
            // The curve says how many; a step back, because it rounds where the draws do.
            left = self.backlog(end_ns).saturating_sub(2);
            ahead.taken += left;
            ahead.find();
        }
        while ahead.due_ns < end_ns {
            if left >= DRAWN_MAX && self.arrivals != Arrivals::Constant {
                return left.saturating_add(ahead.backlog(end_ns));
            }
            ahead.taken += 1;
            ahead.find();
            left += 1;
        }
        left
    }

    /// Number of units that are due at `now_ns` and not taken; an expectation if arrivals are random.
    pub fn backlog(&self, now_ns: u64) -> u64 {
        if self.due_ns > now_ns {
            return 0;
        }
        let due = self.curve.count_by(now_ns.saturating_sub(self.start_ns));
        let (due, next) = match self.arrivals {
            // Of a burst that has begun all are due.
            Arrivals::Bursts(size) => {
                let size = f64::from(size.max(1));
                (((due / size).floor() + 1.0) * size - 1.0, self.next_number() as f64)
            }
            Arrivals::Constant | Arrivals::Poisson => (due, self.position),
        };
        1 + ((due - next) / self.lane.of as f64).max(0.0) as u64
    }

    /// Finds the next unit and its due time.
    fn find(&mut self) {
        self.position = match self.arrivals {
            // From the number itself: a sum would gather rounding errors.
            Arrivals::Constant => self.next_number() as f64,
            Arrivals::Bursts(size) => {
                let number = self.next_number();
                (number - number % u64::from(size.max(1))) as f64
            }
            // Exponential distances on the curve are a Poisson process of its rate in time; the
            // lanes of several workers make one such process together.
            Arrivals::Poisson => {
                let gap = -random::draw_unit(self.seed, self.taken).ln();
                self.position + gap * self.lane.of as f64
            }
        };
        self.locate();
    }

    /// The number of the next unit, counted over all lanes.
    fn next_number(&self) -> u64 {
        self.lane.index + self.taken * self.lane.of
    }

    /// Finds the due time for its position on the curve.
    #[inline]
    fn locate(&mut self) {
        let after_ns = self.curve.due_ns(self.position, &mut self.piece);
        self.due_ns = self.start_ns.saturating_add(after_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Schedule, Stage};

    const WHOLE: Lane = Lane { index: 0, of: 1 };

    fn pacer(start_ns: u64, rate: f64, lane: Lane) -> Pacer {
        let curve = Curve::new(&Schedule::constant(rate), 1.0, 0);
        Pacer::new(start_ns, curve, Arrivals::Constant, lane, 1)
    }

    fn poisson(schedule: &Schedule, lane: Lane, seed: u64, n: usize) -> Vec<u64> {
        let curve = Curve::new(schedule, 1.0, 0);
        let mut pacer = Pacer::new(0, curve, Arrivals::Poisson, lane, seed);
        (0..n).map(|_| pacer.take(u64::MAX - 1).unwrap()).collect()
    }

    #[test]
    fn units_are_due_at_their_nanosecond() {
        let mut pacer = pacer(1_000, 3.0, WHOLE);
        let due: Vec<u64> = (0..4).map(|_| pacer.take(u64::MAX).unwrap()).collect();
        assert_eq!(due, [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
    }

    #[test]
    fn a_burst_is_due_at_once_and_so_is_its_backlog() {
        for lane in [WHOLE, Lane { index: 1, of: 2 }] {
            let curve = Curve::new(&Schedule::constant(100.0), 1.0, 0);
            let mut pacer = Pacer::new(7, curve, Arrivals::Bursts(50), lane, 1);
            let own = 50 / lane.of;
            for burst in 0..3u64 {
                let now_ns = 7 + burst * 500_000_000;
                assert_eq!(pacer.backlog(now_ns), own, "{lane:?} burst {burst}");
                assert_eq!(pacer.due_before(now_ns + 1), own * (burst + 1));
                for left in (0..own).rev() {
                    assert_eq!(pacer.take(now_ns), Some(now_ns));
                    assert_eq!(pacer.backlog(now_ns + 499_999_999), left);
                }
                assert_eq!(pacer.take(now_ns + 499_999_999), None);
            }
        }
    }

    #[test]
    fn nothing_is_due_before_its_time_and_nothing_is_skipped_after_a_stall() {
        let mut pacer = pacer(0, 1_000.0, WHOLE);
        assert_eq!(pacer.take(0), Some(0));
        assert_eq!(pacer.take(999_999), None);
        let caught_up = std::iter::from_fn(|| pacer.take(10_000_000)).count();
        assert_eq!(caught_up, 10);
    }

    #[test]
    fn the_backlog_is_what_is_due_and_not_taken() {
        let lane = Lane { index: 1, of: 4 };
        let mut pacer = pacer(500, 1_000.0, lane);
        for now_ns in [0, 500, 1_000_499, 1_000_500, 5_000_500, 77_123_456] {
            let mut all = pacer.clone();
            let due = std::iter::from_fn(|| all.take(now_ns)).count() as u64;
            assert_eq!(pacer.backlog(now_ns), due, "at {now_ns}");
        }
        pacer.take(u64::MAX - 1);
        assert_eq!(pacer.backlog(1_000_500), 0);
        let lagging = poisson_backlog(1_000_000_000);
        assert!((800..1_200).contains(&lagging), "{lagging} of 1000 on average");
    }

    #[test]
    fn what_was_due_is_what_was_drawn_whether_or_not_it_was_taken() {
        const S: u64 = 1_000_000_000;
        let ramp = |from_per_s, to_per_s| Schedule {
            stages: vec![Stage::ramp(from_per_s, to_per_s, Some(2 * S))],
            arrivals: Arrivals::Constant,
        };
        let schedules = [Schedule::constant(500.0), ramp(0.0, 1_000.0), ramp(900.0, 0.0)];
        for (schedule, arrivals) in schedules
            .iter()
            .flat_map(|s| [Arrivals::Constant, Arrivals::Poisson].map(|arrivals| (s, arrivals)))
        {
            let curve = Curve::new(schedule, 1.0, 0);
            for (index, of, end_ns) in
                [(0, 1, 2 * S), (2, 3, 2 * S), (1, 7, 123_456_789), (0, 1, 0)]
            {
                let lane = Lane { index, of };
                let mut pacer = Pacer::new(100, curve.clone(), arrivals, lane, 3);
                let mut all = pacer.clone();
                let due = std::iter::from_fn(|| all.take((100 + end_ns).checked_sub(1)?)).count();
                for _ in 0..4 {
                    assert_eq!(pacer.due_before(100 + end_ns), due as u64, "{lane:?} {end_ns}");
                    (0..due / 4).for_each(|_| assert!(pacer.take(u64::MAX - 1).is_some()));
                }
            }
        }
        assert_eq!(pacer(0, 500.0, WHOLE).due_before(2 * S), 1000);
    }

    #[test]
    fn a_backlog_without_end_is_counted_in_no_time() {
        const HOUR: u64 = 3_600_000_000_000;
        assert_eq!(pacer(0, 1e9, WHOLE).due_before(HOUR), HOUR);
        let curve = Curve::new(&Schedule::constant(1e9), 1.0, 0);
        let due = Pacer::new(0, curve, Arrivals::Poisson, WHOLE, 3).due_before(HOUR);
        assert!((due as f64 / HOUR as f64 - 1.0).abs() < 0.001, "{due}");
    }

    #[test]
    fn what_the_warm_up_took_is_in_no_count() {
        let mut pacer = pacer(0, 1_000.0, WHOLE).counting_from(5_000_000);
        (0..3).for_each(|_| assert!(pacer.take(3_000_000).is_some()));
        // What was due in the warm-up and left after it is measured.
        (0..3).for_each(|_| assert!(pacer.take(8_000_000).is_some()));
        assert_eq!(pacer.due_before(10_000_000), 7);
    }

    #[test]
    fn the_lanes_make_the_whole_of_a_rate_that_changes() {
        const S: u64 = 1_000_000_000;
        let before = Schedule::constant(1_000.0);
        let after = before.changed(2 * S, Some(250.0)).changed(3 * S, Some(4_000.0));
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            // Each hears of it at another time, ahead of it, and one was late with its own.
            let lane = |index: u64, of| {
                let lane = Lane { index, of };
                let curve = |schedule| Curve::new(schedule, 1.0, 0);
                let mut pacer = Pacer::new(0, curve(&before), arrivals, lane, 5);
                let mut due = Vec::new();
                let hears_ns = S + index * S / 5;
                due.extend(std::iter::from_fn(|| pacer.take(hears_ns)));
                pacer.follow(curve(&after));
                due.extend(std::iter::from_fn(|| pacer.take(4 * S - 1)));
                assert_eq!(pacer.due_before(4 * S), due.len() as u64, "{lane:?}");
                due
            };
            let mut all: Vec<u64> = (0..4).flat_map(|index| lane(index, 4)).collect();
            all.sort_unstable();
            let within = |from: u64, to| all.iter().filter(|at| (from..to).contains(*at)).count();
            let counts = [within(0, 2 * S), within(2 * S, 3 * S), within(3 * S, 4 * S)];
            match arrivals {
                Arrivals::Constant | Arrivals::Bursts(_) => {
                    assert_eq!(counts, [2000, 250, 4000]);
                    assert_eq!(all, lane(0, 1));
                }
                Arrivals::Poisson => {
                    for (count, mean) in counts.iter().zip([2000.0, 250.0, 4000.0f64]) {
                        let off = (*count as f64 - mean).abs();
                        assert!(off < 5.0 * mean.sqrt(), "{counts:?}");
                    }
                }
            }
        }
    }

    fn poisson_backlog(now_ns: u64) -> u64 {
        let curve = Curve::new(&Schedule::constant(1_000.0), 1.0, 0);
        Pacer::new(0, curve, Arrivals::Poisson, WHOLE, 3).backlog(now_ns)
    }

    #[test]
    fn the_lanes_make_the_whole() {
        let take = |index, of, n: usize| -> Vec<u64> {
            let mut pacer = pacer(5, 70_000.0, Lane { index, of });
            (0..n).map(|_| pacer.take(u64::MAX).unwrap()).collect()
        };
        let mut parts: Vec<u64> = (0..3).flat_map(|lane| take(lane, 3, 100)).collect();
        parts.sort_unstable();
        assert_eq!(parts, take(0, 1, 300));
    }

    /// Gaps of a Poisson process are exponential, by the Kolmogorov-Smirnov test and with equal mean and
    /// deviation. The union of several lanes is one, too.
    #[test]
    fn random_arrivals_are_a_poisson_process() {
        const N: usize = 20_000;
        let schedule = Schedule::constant(1_000.0);
        for seed in 0..5 {
            for lanes in [1u64, 4] {
                let mut due: Vec<u64> = (0..lanes)
                    .flat_map(|index| poisson(&schedule, Lane { index, of: lanes }, seed, N))
                    .collect();
                due.sort_unstable();
                due.truncate(N); // Beyond, a slower lane may have been cut off.
                let mut gaps: Vec<f64> =
                    due.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
                let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
                assert!((0.97..1.03).contains(&mean), "seed {seed}, {lanes} lanes: mean {mean}");
                gaps.sort_unstable_by(f64::total_cmp);
                let n = gaps.len() as f64;
                let distance = gaps
                    .iter()
                    .enumerate()
                    .map(|(i, gap)| ((1.0 - (-gap).exp()) - (i as f64 + 0.5) / n).abs())
                    .fold(0.0, f64::max);
                // 99.9 % of samples lie below 1.95 / sqrt(n).
                assert!(distance < 1.95 / n.sqrt(), "seed {seed}, {lanes} lanes: {distance}");
            }
        }
    }

    #[test]
    fn random_arrivals_follow_a_ramp() {
        let stage = Stage::ramp(0.0, 2_000.0, Some(10_000_000_000));
        let ramp = Schedule { stages: vec![stage], arrivals: Arrivals::Poisson };
        let due = poisson(&ramp, WHOLE, 3, 20_000);
        let by = |ns: u64| due.iter().filter(|at| **at <= ns).count() as f64;
        // A quarter of the area lies below the first half; five deviations around it.
        assert!((by(5_000_000_000) - 2_500.0).abs() < 5.0 * 2_500f64.sqrt());
        assert!((by(10_000_000_000) - 10_000.0).abs() < 5.0 * 10_000f64.sqrt());
    }

    #[test]
    fn a_seed_repeats_and_lanes_differ() {
        let schedule = Schedule::constant(100.0);
        let of = |lane, seed| poisson(&schedule, lane, seed, 50);
        assert_eq!(of(WHOLE, 7), of(WHOLE, 7));
        assert_ne!(of(WHOLE, 7), of(WHOLE, 8));
        let lane = |index| Lane { index, of: 2 };
        assert_ne!(of(lane(0), 7), of(lane(1), 7));
    }
}
