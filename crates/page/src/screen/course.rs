//! Rate and response times of a run over time, in a bounded number of moments, and as curves of block characters.

use report::grouped;

use crate::Unit;
use crate::term::painted;

/// Moments kept; with one more, neighbours are put together.
const MOMENTS_MAX: usize = 2048;
/// A curve of times spans at least so many times its lowest value.
const SPAN_MIN: f64 = 10.0;

/// A stretch of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moment {
    /// How long it was.
    pub span_ns: u64,
    /// Replies in it.
    pub requests: u64,
    /// The 99th percentile of its response times; of several put together, the greatest of theirs.
    pub p99_ns: Option<u64>,
}

impl Moment {
    fn merge(self, other: Self) -> Self {
        Self {
            span_ns: self.span_ns + other.span_ns,
            requests: self.requests + other.requests,
            p99_ns: self.p99_ns.max(other.p99_ns),
        }
    }

    fn rate_per_s(self) -> f64 {
        self.requests as f64 / (self.span_ns.max(1) as f64 / 1e9)
    }
}

/// The run in moments of one length; the last may be shorter.
#[derive(Debug, Clone, Default)]
pub struct Course {
    moments: Vec<Moment>,
    /// What is yet too short to stand among them.
    open: Option<Moment>,
    /// How many of those that are pushed make one of them, less one.
    more: u32,
    /// How many are in `open`.
    pushed: u32,
}

impl Course {
    /// Adds what came.
    pub fn push(&mut self, moment: Moment) {
        let open = self.open.take().map_or(moment, |open| open.merge(moment));
        self.pushed += 1;
        if self.pushed <= self.more {
            self.open = Some(open);
            return;
        }
        self.pushed = 0;
        self.moments.push(open);
        if self.moments.len() > MOMENTS_MAX {
            let pairs = self.moments.chunks(2);
            self.moments =
                pairs.map(|p| p.iter().copied().fold(Moment::default(), Moment::merge)).collect();
            self.more = self.more * 2 + 1;
        }
    }

    /// No more than so many moments, each of as many others.
    fn columns(&self, most: usize) -> Vec<Moment> {
        let all: Vec<Moment> = self.moments.iter().copied().chain(self.open).collect();
        let each = all.len().div_ceil(most.max(1)).max(1);
        all.chunks(each)
            .map(|few| few.iter().copied().fold(Moment::default(), Moment::merge))
            .collect()
    }

    /// The line below the curves: where they begin and end.
    pub(super) fn axis(&self, columns: usize) -> String {
        let drawn = self.columns(columns);
        let end_s = drawn.iter().map(|moment| moment.span_ns as f64 / 1e9).sum();
        let end = lasting(end_s);
        let gap = drawn.len().saturating_sub(end.chars().count() + 3).max(2);
        format!("0 s{}{end}", " ".repeat(gap))
    }
}

/// What a curve shows of each moment: its height as a share of 1, if there is one.
pub(super) struct Curve<'c> {
    course: &'c Course,
    value: fn(Moment) -> Option<f64>,
    kind: Kind,
}

enum Kind {
    /// From zero, by this name.
    Rate(&'static str),
    /// Logarithmic.
    Time,
}

impl<'c> Curve<'c> {
    pub(super) fn rate(course: &'c Course, name: &'static str) -> Self {
        Self { course, value: |moment| Some(moment.rate_per_s()), kind: Kind::Rate(name) }
    }

    pub(super) fn p99(course: &'c Course) -> Self {
        Self { course, value: |moment| moment.p99_ns.map(|ns| ns.max(1) as f64), kind: Kind::Time }
    }

    /// What it is of and its ends, and below it the curve in so many rows.
    pub(super) fn draw(&self, columns: usize, rows: usize, colour: bool) -> Vec<String> {
        let values = |of: Vec<Moment>| of.into_iter().map(self.value).collect::<Vec<_>>();
        // The ends are those of the moments: a column of several shows the worst of them.
        let all = values(self.course.columns(usize::MAX));
        let known = all.into_iter().flatten();
        let (low, high) = known
            .fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)));
        let values = values(self.course.columns(columns));
        let low = low.min(high);
        let (title, share): (String, Box<dyn Fn(f64) -> f64>) = match self.kind {
            Kind::Rate(name) => {
                let title = format!("{name}, 0 to {}", grouped(high));
                (title, Box::new(move |value| if high > 0.0 { value / high } else { 0.0 }))
            }
            Kind::Time if high > 0.0 => {
                let [from, to] = [low, high].map(|ns| Unit::Nanoseconds.show(ns));
                let top = high.max(low * SPAN_MIN);
                // The lowest is seen, too.
                let bottom = low / 2.0;
                let share = move |value: f64| (value / bottom).ln() / (top / bottom).ln();
                (format!("p99, {from} to {to} (logarithmic)"), Box::new(share))
            }
            Kind::Time => ("p99".to_owned(), Box::new(|_| 0.0)),
        };
        let heights: Vec<usize> = values
            .iter()
            .map(|value| value.map_or(0, |value| eighths(share(value), rows)))
            .collect();
        let row = |row: usize| {
            let below = (rows - 1 - row) * 8;
            let text: String =
                heights.iter().map(|height| BLOCKS[height.saturating_sub(below).min(8)]).collect();
            painted(text.trim_end(), "34", colour)
        };
        std::iter::once(title).chain((0..rows).map(row)).collect()
    }
}

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How high a share is; what is above zero is seen.
fn eighths(share: f64, rows: usize) -> usize {
    let whole = rows * 8;
    let height = (share.clamp(0.0, 1.0) * whole as f64).round() as usize;
    if share > 0.0 { height.max(1) } else { 0 }
}

/// `45 s`, `12 min 5 s`, `1 h 3 min`, `2 d 4 h`.
pub(super) fn lasting(seconds: f64) -> String {
    let s = if seconds.is_finite() { seconds.max(0.0).round() as u64 } else { 0 };
    let two = |large: u64, of: &str, small: u64, unit: &str| match small {
        0 => format!("{large} {of}"),
        _ => format!("{large} {of} {small} {unit}"),
    };
    match s {
        0..=119 => format!("{s} s"),
        120..=3_599 => two(s / 60, "min", s % 60, "s"),
        3_600..=172_799 => two(s / 3_600, "h", s % 3_600 / 60, "min"),
        _ => two(s / 86_400, "d", s % 86_400 / 3_600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(requests: u64, ms: u64) -> Moment {
        Moment { span_ns: 1_000_000_000, requests, p99_ns: (ms > 0).then_some(ms * 1_000_000) }
    }

    #[test]
    fn days_of_seconds_stay_few_moments_and_lose_nothing() {
        let mut course = Course::default();
        let worst = 33_333;
        for second in 0..100_000 {
            course.push(moment(10, if second == worst { 900 } else { 1 }));
        }
        assert!(course.moments.len() <= MOMENTS_MAX, "{}", course.moments.len());
        for most in [1, 40, 200] {
            let drawn = course.columns(most);
            assert!(drawn.len() <= most && drawn.len() * 2 > most, "{}", drawn.len());
            assert_eq!(drawn.iter().map(|m| m.requests).sum::<u64>(), 1_000_000);
            assert_eq!(drawn.iter().filter(|m| m.p99_ns == Some(900_000_000)).count(), 1);
        }
    }

    #[test]
    fn curves_are_as_high_as_their_values() {
        let mut course = Course::default();
        for (requests, ms) in [(100, 1), (50, 100), (0, 0), (100, 1)] {
            course.push(moment(requests, ms));
        }
        let rate = Curve::rate(&course, "requests/s").draw(40, 2, false);
        assert_eq!(rate, ["requests/s, 0 to 100", "█  █", "██ █"]);
        let time = Curve::p99(&course).draw(40, 2, false);
        assert_eq!(time, ["p99, 1 ms to 100 ms (logarithmic)", " █", "▂█ ▂"]);
        assert_eq!(Curve::p99(&Course::default()).draw(40, 1, false), ["p99", ""]);
        assert_eq!(course.axis(40), "0 s  4 s");
    }

    #[test]
    fn times_are_in_two_units_at_most() {
        let shown = [45.2, 725.0, 3_780.0, 7_200.0, 187_300.0, f64::NAN].map(lasting);
        assert_eq!(shown, ["45 s", "12 min 5 s", "1 h 3 min", "2 h", "2 d 4 h", "0 s"]);
    }
}
