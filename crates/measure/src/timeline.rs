//! Figures of a run over time.
//!
//! Workers hand over a tally for each interval; once all have, it becomes a [`Point`]: figures and their
//! histogram, so that points can be added up without loss. Owns the bound on kept points. Beyond it,
//! neighbours are merged and the interval doubles. A few neighbours are merged with each new point rather
//! than all at once, so that a run does not pause for it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::{CodecError, Latency, Point, Slices, Tally, point};

/// Figures of one worker in one interval.
#[derive(Debug)]
pub struct Interval {
    /// Number of the interval, from the start of the measured part.
    pub index: u32,
    /// Number of the worker.
    pub worker: u16,
    /// Figures of the worker, by the arrival time of replies; `None` if they are in the tally of an earlier
    /// interval.
    pub tally: Option<Tally>,
    /// Successes and failures in slices, for each node.
    pub slices: Vec<Slices>,
}

/// The points of a run, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Length of an interval.
    pub interval_ns: u64,
    /// The points. An interval without a point had no reply.
    pub points: Vec<Point>,
    /// Span in which all clients ran, in nanoseconds, if several timelines were merged.
    pub all_ran: Option<Range<u64>>,
    /// Number of points above which neighbours are merged.
    points_max: usize,
    /// Number of times that the interval was doubled.
    doubled: u32,
    /// Points that are still to be merged into the others, numbered by the initial interval. The work is
    /// spread over the following intervals.
    waiting: VecDeque<Point>,
}

/// Points merged for each new one: more than one, so that the queue empties, and few, so that the workers do
/// not feel it.
const MERGED_AT_ONCE: usize = 4;

/// Fraction of its length below which a cut interval counts as empty.
const NO_LENGTH: u64 = 5;

impl Timeline {
    /// Maximum number of intervals kept: ten minutes of quarter seconds, and after each doubling twice as long.
    pub const POINTS_MAX: usize = 2400;

    /// An empty timeline.
    pub fn new(interval_ns: u64) -> Self {
        Self::from_points(interval_ns, Vec::new())
    }

    /// Creates a timeline of ordered points, each of another interval.
    pub fn from_points(interval_ns: u64, points: Vec<Point>) -> Self {
        let (points_max, waiting) = (Self::POINTS_MAX, VecDeque::new());
        Self { interval_ns, points, all_ran: None, points_max, doubled: 0, waiting }
    }

    /// Returns the timeline with a bound of `points_max` points, at least one.
    pub fn with_points_max(self, points_max: usize) -> Self {
        Self { points_max: points_max.max(1), ..self }
    }

    /// Adds a point whose index counts intervals of the initial length. Points come in order; two of one
    /// interval are merged.
    pub fn push(&mut self, point: Point) {
        self.waiting.push_back(point);
        for _ in 0..MERGED_AT_ONCE {
            self.merge_next();
        }
    }

    /// Merges up to this many waiting points. Returns whether none waits any more.
    pub fn merge_some(&mut self, count: usize) -> bool {
        for _ in 0..count {
            self.merge_next();
        }
        self.waiting.is_empty()
    }

    /// Merges all waiting points. Only then are the points complete.
    pub fn merge_all(&mut self) {
        while !self.waiting.is_empty() {
            self.merge_next();
        }
    }

    /// Numbers of the intervals that lie wholly within a run of this length, and in which all of its clients
    /// ran.
    pub fn full_intervals(&self, elapsed_ns: u64) -> Range<u64> {
        if self.interval_ns == 0 {
            return 0..0;
        }
        let Range { start, end } = self.all_ran.clone().unwrap_or(0..elapsed_ns);
        let first = start.div_ceil(self.interval_ns);
        first..(end.min(elapsed_ns) / self.interval_ns).max(first)
    }

    /// Returns the requests answered in a span of a run of this length. An interval that lies in it in part counts by
    /// that part.
    pub fn answered_within(&self, span: &Range<u64>, elapsed_ns: u64) -> f64 {
        let share = |point: &Point| {
            let from_ns = u64::from(point.index).saturating_mul(self.interval_ns);
            // The last ends when the run does.
            let to_ns = from_ns.saturating_add(self.interval_ns).min(elapsed_ns.max(from_ns));
            let within_ns = to_ns.min(span.end).saturating_sub(from_ns.max(span.start));
            match to_ns - from_ns {
                0 => f64::from(u8::from(span.contains(&from_ns))),
                length_ns => within_ns as f64 / length_ns as f64,
            }
        };
        self.points.iter().map(|point| point.requests as f64 * share(point)).sum()
    }

    /// Ends the timeline of a run of this length. A last interval of next to no length would look like a fall
    /// of the rate, so it is merged into the one before.
    pub fn end_at(&mut self, elapsed_ns: u64) {
        let cut_short = self.points.pop_if(|last| {
            let from_ns = u64::from(last.index).saturating_mul(self.interval_ns);
            last.index > 0 && from_ns.saturating_add(self.interval_ns / NO_LENGTH) > elapsed_ns
        });
        let Some(mut ended) = cut_short else { return };
        ended.index -= 1;
        match self.points.last_mut() {
            Some(before) if before.index == ended.index => before.merge(&ended),
            _ if ended.requests > 0 => self.points.push(ended),
            _ => {}
        }
    }

    /// Merges timelines, each with its start in nanoseconds after the merged one's. A point goes to the
    /// interval of its middle; counts and histograms stay whole.
    ///
    /// # Errors
    /// Returns an error if a histogram cannot be decoded.
    pub fn merged(parts: &[(u64, &Self)]) -> Result<Self, CodecError> {
        let points = || {
            parts.iter().flat_map(|(offset_ns, timeline)| {
                let interval_ns = u128::from(timeline.interval_ns);
                timeline.points.iter().map(move |point| {
                    let from_ns = u128::from(*offset_ns) + u128::from(point.index) * interval_ns;
                    (from_ns + interval_ns / 2, point)
                })
            })
        };
        let interval_ns = parts.iter().map(|(_, timeline)| timeline.interval_ns).max();
        let mut interval_ns = interval_ns.unwrap_or(1).max(1);
        let last_ns = points().map(|(middle_ns, _)| middle_ns).max().unwrap_or_default();
        while last_ns / u128::from(interval_ns) >= Self::POINTS_MAX as u128 {
            interval_ns = interval_ns.saturating_mul(2);
        }
        let mut bins: BTreeMap<u32, Vec<&Point>> = BTreeMap::new();
        for (middle_ns, point) in points() {
            let index = (middle_ns / u128::from(interval_ns)) as u32;
            bins.entry(index).or_default().push(point);
        }
        let merge = |(index, points): (u32, Vec<&Point>)| -> Result<Point, CodecError> {
            let sum = |count: fn(&Point) -> u64| {
                points.iter().fold(0, |sum: u64, point| sum.saturating_add(count(point)))
            };
            let optional =
                |count: fn(&Point) -> Option<u64>| point::sum(points.iter().map(|p| count(p)));
            let mut response: Option<Latency> = None;
            for encoded in points.iter().filter_map(|point| point.response.as_ref()) {
                let decoded = encoded.decode()?;
                match &mut response {
                    Some(response) => response.merge(&decoded),
                    None => response = Some(decoded),
                }
            }
            let response = response.unwrap_or_else(|| Latency::new(1));
            Ok(Point {
                late_max_ns: points.iter().filter_map(|p| p.late_max_ns).max(),
                own_late_max_ns: points.iter().filter_map(|p| p.own_late_max_ns).max(),
                operations: optional(|p| p.operations),
                in_time: optional(|p| p.in_time),
                misses: optional(|p| p.misses),
                ..Point::with(index, sum(|p| p.requests), sum(|p| p.errors), &response)
            })
        };
        Ok(Self::from_points(interval_ns, bins.into_iter().map(merge).collect::<Result<_, _>>()?))
    }

    fn merge_next(&mut self) {
        let Some(mut point) = self.waiting.pop_front() else { return };
        let index = point.index >> self.doubled;
        if index as usize >= self.points_max {
            self.waiting.push_front(point);
            self.double();
            return;
        }
        point.index = index;
        match self.points.last_mut() {
            Some(last) if last.index == index => last.merge(&point),
            _ => self.points.push(point),
        }
    }

    fn double(&mut self) {
        for mut point in std::mem::take(&mut self.points).into_iter().rev() {
            point.index <<= self.doubled;
            self.waiting.push_front(point);
        }
        self.doubled += 1;
        self.interval_ns = self.interval_ns.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(index: u32, ns: &[u64]) -> Point {
        let mut latency = Latency::new(3);
        ns.iter().for_each(|&ns| latency.record_n(ns, 1));
        Point::with(index, ns.len() as u64 + 1, 1, &latency)
    }

    fn timeline(indices: impl IntoIterator<Item = u32>) -> Timeline {
        let mut timeline = Timeline::new(250);
        for index in indices {
            timeline.push(point(index, &[u64::from(index) + 1, 5_000_000]));
        }
        timeline.merge_all();
        timeline
    }

    #[test]
    fn ten_minutes_keep_every_interval() {
        let timeline = timeline(0..2400);
        assert_eq!((timeline.interval_ns, timeline.points.len()), (250, 2400));
    }

    #[test]
    fn too_many_points_become_half_as_many_of_twice_the_length() {
        for (last, doubled) in [(2400, 1), (4799, 1), (4800, 2)] {
            let timeline = timeline(0..=last);
            assert_eq!(timeline.interval_ns, 250 << doubled);
            assert_eq!(timeline.points.len(), (last >> doubled) as usize + 1);
            let indices: Vec<u32> = timeline.points.iter().map(|p| p.index).collect();
            assert!(indices.iter().copied().eq(0..=last >> doubled));
            // Nothing was lost, in counts or in histograms.
            let sums = |f: fn(&Point) -> u64| timeline.points.iter().map(f).sum::<u64>();
            let pushed = u64::from(last) + 1;
            assert_eq!((sums(|p| p.requests), sums(|p| p.errors)), (3 * pushed, pushed));
            let group = 1u64 << doubled;
            let first = timeline.points[1].response.as_ref().unwrap();
            let values = || (group..2 * group).map(|index| index + 1);
            assert_eq!(first.exact.count, 2 * group);
            assert_eq!(first.exact.min_ns, group + 1);
            let sum = values().sum::<u64>() + 5_000_000 * group;
            assert_eq!(first.exact.sum_ns, u128::from(sum));
            let mut whole = Latency::new(3);
            values().for_each(|ns| whole.record_n(ns, 1));
            whole.record_n(5_000_000, group);
            let merged = first.decode().unwrap();
            assert!(merged.recorded().eq(whole.recorded()));
        }
    }

    #[test]
    fn one_of_few_points_is_doubled_sooner_and_settled_in_parts() {
        let mut few = Timeline::new(250).with_points_max(8);
        (0..8).for_each(|index| few.push(point(index, &[7])));
        assert!(few.merge_some(0));
        few.push(point(8, &[7]));
        assert!(!few.merge_some(1), "some of nine points wait");
        assert!(few.merge_some(8));
        assert_eq!((few.interval_ns, few.points.len()), (500, 5));
        assert_eq!(few.points.iter().map(|point| point.requests).sum::<u64>(), 2 * 9);
    }

    #[test]
    fn timelines_are_merged_by_when_things_happened() {
        let (a, b) = (timeline(0..4), timeline(0..4));
        let of = |parts: &[(u64, &Timeline)]| {
            let merged = Timeline::merged(parts).unwrap();
            let points = merged.points.iter().map(|p| (p.index, p.requests)).collect::<Vec<_>>();
            (merged.interval_ns, points)
        };
        assert_eq!(of(&[(0, &a), (10, &b)]), (250, vec![(0, 6), (1, 6), (2, 6), (3, 6)]));
        let late = vec![(0, 3), (1, 6), (2, 6), (3, 6), (4, 3)];
        assert_eq!(of(&[(0, &a), (240, &b)]), (250, late));
        let coarse = timeline(0..2400 * 2);
        let (interval_ns, points) = of(&[(0, &coarse), (0, &a)]);
        assert_eq!((interval_ns, &points[..3]), (500, &[(0, 12), (1, 12), (2, 6)][..]));
        // A day lies between them: both stay, in longer intervals.
        let (interval_ns, points) = of(&[(0, &a), (1_000_000, &b)]);
        assert_eq!((interval_ns, points.iter().map(|(_, n)| n).sum()), (500, 24u64));
        assert_eq!(of(&[]), (1, vec![]));
    }

    #[test]
    fn what_was_answered_in_a_span_is_counted_to_the_nanosecond() {
        let timeline = timeline(0..8);
        let within = |span: Range<u64>| timeline.answered_within(&span, 1900);
        // Three replies in each interval of 250 ns, the last of which ends after 150.
        assert_eq!(within(0..1900), 24.0);
        assert_eq!(within(0..5000), 24.0);
        assert_eq!(within(500..1000), 6.0);
        assert_eq!(within(1..1750), 21.0 - 3.0 / 250.0);
        assert_eq!(within(1750..1825), 1.5);
        assert_eq!(within(Range { start: 9_000, end: 1 }), 0.0, "files may say anything");
        let mut merged = timeline.clone();
        merged.all_ran = Some(500..2000);
        assert_eq!(merged.full_intervals(2500), 2..8);
    }

    #[test]
    fn the_last_interval_has_a_length() {
        let ends = |elapsed_ns, requests| {
            let mut ended = timeline(0..8);
            ended.points.push(Point { late_max_ns: Some(7), ..point(8, &[]) });
            ended.points[8].requests = requests;
            ended.end_at(elapsed_ns);
            (ended.points.len(), ended.points[7].late_max_ns, ended.points[7].requests)
        };
        assert_eq!(ends(2000, 0), (8, Some(7), 3));
        assert_eq!(ends(2049, 0), (8, Some(7), 3));
        assert_eq!(ends(2050, 0), (9, None, 3), "silence is not left out");
        assert_eq!(ends(2001, 1), (8, Some(7), 4), "no reply is lost");
        let mut after_silence = timeline([0, 8]);
        after_silence.end_at(2001);
        assert_eq!(after_silence.points.iter().map(|p| p.index).collect::<Vec<_>>(), [0, 7]);
        let mut nothing = Timeline::new(250);
        nothing.end_at(9);
    }

    #[test]
    fn silence_costs_nothing() {
        let timeline = timeline([0, 1, 4_000_000]);
        assert_eq!(timeline.points.len(), 2);
        assert_eq!(timeline.points[0].requests, 6);
        assert_eq!(u64::from(timeline.points[1].index), 4_000_000 * 250 / timeline.interval_ns);
    }

    #[test]
    fn an_interval_without_a_reply_has_no_histogram() {
        let mut silent = point(0, &[]);
        assert_eq!((silent.response.as_ref(), silent.p50_ns), (None, None));
        silent.merge(&point(0, &[7]));
        assert_eq!((silent.requests, silent.max_ns), (3, Some(7)));
    }
}
