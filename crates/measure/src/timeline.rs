//! How a run went over time.
//!
//! Workers hand over a tally for each interval; once all have, it becomes a [`Point`] of figures.
//! Owns the bound on how many points are kept.

use serde::Serialize;

use crate::Tally;

/// What one worker saw in one interval.
#[derive(Debug)]
pub struct Interval {
    /// Number of the interval, from the start of the measured part.
    pub index: u32,
    /// Whose.
    pub worker: u16,
    /// What it saw, by the time replies arrived.
    pub tally: Tally,
}

/// All workers' figures for one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Number of the interval.
    pub index: u32,
    /// Replies that arrived in it, errors included.
    pub requests: u64,
    /// Error replies among them.
    pub errors: u64,
    /// Mean response time, `None` when nothing arrived; likewise below.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Greatest.
    pub max_ns: Option<u64>,
    /// By how much the request that was sent latest was late; `None` in a closed loop, and when
    /// nothing was sent.
    pub late_max_ns: Option<u64>,
    /// The same of the time in which a connection had room.
    pub own_late_max_ns: Option<u64>,
}

/// The points of a run, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// Length of an interval.
    pub interval_ns: u64,
    /// The points.
    pub points: Vec<Point>,
    /// Intervals beyond [`Timeline::POINTS_MAX`], whose figures are in the totals alone.
    pub dropped: u64,
}

impl Timeline {
    /// Most points kept: three days of quarter seconds, about 70 MiB.
    pub const POINTS_MAX: usize = 1_036_800;

    /// An empty timeline.
    #[must_use]
    pub fn new(interval_ns: u64) -> Self {
        Self { interval_ns, points: Vec::new(), dropped: 0 }
    }

    /// Adds the merged tally of an interval and returns its figures.
    pub fn push(&mut self, index: u32, tally: &Tally) -> Point {
        let response = tally.response();
        let point = Point {
            index,
            requests: tally.requests(),
            errors: tally.errors.total(),
            mean_ns: response.mean_ns(),
            p50_ns: response.quantile_ns(0.5),
            p99_ns: response.quantile_ns(0.99),
            max_ns: response.max_ns(),
            late_max_ns: tally.lateness.as_ref().and_then(|l| l.total.max_ns()),
            own_late_max_ns: tally.lateness.as_ref().and_then(|l| l.own.max_ns()),
        };
        if self.points.len() < Self::POINTS_MAX {
            self.points.push(point);
        } else {
            self.dropped += 1;
        }
        point
    }
}
