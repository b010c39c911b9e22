//! The arithmetic of changing rates: the number of requests due by a time, and the due time of a request.
//!
//! A rate that changes steadily from `a` to `b` in `T` seconds has made `a t + (b - a) t^2 / 2T` requests due
//! after `t` seconds. A schedule is a sequence of such pieces.

use std::ops::Range;

use super::{Schedule, Stage};

/// A schedule as a rising curve of requests over time.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Pieces in order, at least one; the last one has no end.
    pieces: Vec<Piece>,
    /// Spans without a limit: requests are due as soon as they can be sent, and the pieces have rate 0 there.
    unlimited: Vec<Range<u64>>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    start_ns: u64,
    /// Units due before it begins.
    before: f64,
    /// Units per second at its start, and their change per second.
    rate: f64,
    slope: f64,
}

impl Piece {
    fn count_after(&self, ns: u64) -> f64 {
        let t = ns as f64 / 1e9;
        self.before + self.rate * t + self.slope * t * t / 2.0
    }

    /// Nanoseconds from its start until `units` more are due.
    fn ns_until(&self, units: f64) -> f64 {
        if self.slope == 0.0 {
            // In this order a constant rate is exact to the nanosecond for 104 days.
            return units * 1e9 / self.rate;
        }
        // The root of the quadratic in the form that does not cancel.
        let under = (self.rate * self.rate + 2.0 * self.slope * units).max(0.0);
        2e9 * units / (self.rate + under.sqrt())
    }
}

impl Curve {
    /// Creates the curve of a schedule, in units of `1 / scale` requests, after `hold_ns` nanoseconds at its
    /// first rate.
    pub fn new(schedule: &Schedule, scale: f64, hold_ns: u64) -> Self {
        let mut pieces = Vec::with_capacity(schedule.stages.len() + 2);
        let held_by = |ns: u64| ns.saturating_add(hold_ns);
        let unlimited = schedule.unlimited().map(|span| held_by(span.start)..held_by(span.end));
        let unlimited = unlimited.collect();
        let (mut start_ns, mut before) = (0, 0.0);
        let first = schedule.stages.first().map_or(0.0, |s| s.from_per_s);
        let hold = Stage::steady(first, Some(hold_ns).filter(|ns| *ns > 0));
        let held = hold.lasts_ns.is_some().then_some(&hold);
        for stage in held.into_iter().chain(&schedule.stages) {
            let rate = stage.from_per_s * scale;
            let slope = match stage.lasts_ns {
                Some(ns) if ns > 0 => (stage.to_per_s * scale - rate) * 1e9 / ns as f64,
                _ => 0.0,
            };
            let piece = Piece { start_ns, before, rate, slope };
            pieces.push(piece);
            let Some(ns) = stage.lasts_ns else {
                return Self { pieces, unlimited };
            };
            before = piece.count_after(ns);
            start_ns += ns;
        }
        let rate = schedule.last_per_s() * scale;
        pieces.push(Piece { start_ns, before, rate, slope: 0.0 });
        Self { pieces, unlimited }
    }

    /// The first span without a limit that ends after this time, in nanoseconds from the start.
    pub(super) fn unlimited_after(&self, ns: u64) -> Option<Range<u64>> {
        self.unlimited.iter().find(|span| span.end > ns).cloned()
    }

    /// Units due within the first `ns` nanoseconds.
    pub fn count_by(&self, ns: u64) -> f64 {
        let at = self.pieces.partition_point(|p| p.start_ns <= ns).max(1) - 1;
        let piece = &self.pieces[at];
        piece.count_after(ns - piece.start_ns)
    }

    /// Due time of unit `number`, in nanoseconds from the start; `u64::MAX` if it is never due. `piece`
    /// remembers the last piece, so numbers must not fall.
    pub fn due_ns(&self, number: f64, piece: &mut usize) -> u64 {
        while let Some(next) = self.pieces.get(*piece + 1)
            && number >= next.before
        {
            *piece += 1;
        }
        let at = &self.pieces[*piece];
        if at.rate == 0.0 && at.slope == 0.0 {
            return u64::MAX; // As long as nothing is due, neither is the next one.
        }
        let ns = at.ns_until(number - at.before);
        // The first one of a rate that rises from 0 is due at once.
        if ns.is_nan() { at.start_ns } else { at.start_ns.saturating_add(ns as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrivals;

    const S: u64 = 1_000_000_000;

    fn schedule(stages: &[(f64, f64, Option<u64>)]) -> Schedule {
        let stage = |&(from_per_s, to_per_s, lasts_ns)| Stage::ramp(from_per_s, to_per_s, lasts_ns);
        Schedule { stages: stages.iter().map(stage).collect(), arrivals: Arrivals::Constant }
    }

    fn due(curve: &Curve, numbers: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut piece = 0;
        numbers.map(|n| curve.due_ns(n as f64, &mut piece)).collect()
    }

    #[test]
    fn a_ramp_makes_the_area_below_it_due() {
        let ramp = schedule(&[(0.0, 1000.0, Some(10 * S))]);
        assert_eq!(ramp.due_by(10 * S), 5000.0);
        assert_eq!(ramp.due_by(11 * S), 6000.0, "its last rate holds");
        assert_eq!(ramp.mean_per_s(10 * S), 500.0);
        let due = due(&Curve::new(&ramp, 1.0, 0), [0, 1250, 5000, 6000].into_iter());
        assert_eq!(due, [0, 5 * S, 10 * S, 11 * S]);
    }

    #[test]
    fn the_inverse_undoes_the_curve_up_and_down() {
        let stages = [(100.0, 900.0, Some(S)), (50.0, 50.0, Some(S)), (400.0, 10.0, Some(2 * S))];
        let curve = Curve::new(&schedule(&stages), 1.0, 0);
        let mut last = 0;
        for (n, at) in due(&curve, 0..900).into_iter().enumerate() {
            assert!(at >= last, "{n}");
            last = at;
            let back = curve.count_by(at);
            assert!((back - n as f64).abs() < 1e-3, "request {n} is due at {at}: {back}");
        }
    }

    #[test]
    fn steps_begin_at_their_time() {
        let steps = schedule(&[(10.0, 10.0, Some(S)), (20.0, 20.0, Some(S))]);
        let due = due(&Curve::new(&steps, 1.0, 0), [0, 9, 10, 11, 30, 31].into_iter());
        assert_eq!(due, [0, 9 * S / 10, S, S + S / 20, 2 * S, 2 * S + S / 20]);
        assert_eq!((steps.length_ns(), steps.peak_per_s()), (Some(2 * S), 20.0));
    }

    #[test]
    fn a_warm_up_holds_the_first_rate() {
        let ramp = schedule(&[(10.0, 20.0, Some(S))]);
        let due = due(&Curve::new(&ramp, 1.0, S), [0, 9, 10, 25].into_iter());
        assert_eq!(due, [0, 9 * S / 10, S, 2 * S]);
    }

    #[test]
    fn no_rate_is_never_due() {
        let fade = schedule(&[(2.0, 0.0, Some(2 * S))]);
        let due = due(&Curve::new(&fade, 1.0, 0), [0, 2, 3].into_iter());
        assert_eq!(due, [0, u64::MAX, u64::MAX]);
    }

    #[test]
    fn a_pause_holds_the_next_one_up_and_counts_for_none() {
        let stages = [(10.0, 10.0, Some(S)), (0.0, 0.0, Some(5 * S)), (10.0, 10.0, None)];
        let pause = schedule(&stages);
        let at = |ns| pause.due_by(ns);
        assert_eq!([at(S), at(4 * S), at(6 * S), at(7 * S)], [10.0, 10.0, 10.0, 20.0]);
        let due = due(&Curve::new(&pause, 1.0, 0), [9, 10, 11].into_iter());
        assert_eq!(due, [9 * S / 10, 6 * S, 6 * S + S / 10]);
    }
}
