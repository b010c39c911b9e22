//! Groups of figures: of latencies, TLS, a node, and the rate over time.
//!
//! [`Summary`](crate::Summary) chooses their source in a run.

use std::cmp::Reverse;

use measure::{Latency, Negotiated, Point, Timeline, TlsTally};
use workload::TlsOptions;
use workload::quantity::counted;

use crate::metric::COLUMNS;
use crate::{Metric, escape, msec, msec_at_most, resting};

/// Figures of a latency, in nanoseconds. All are 0 if `count` is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LatencyFigures {
    /// Number of replies.
    pub count: u64,
    /// The exact mean.
    pub mean_ns: f64,
    /// The exact least.
    pub min_ns: u64,
    /// Median; like the other percentiles it is exact to the plan's precision.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// The exact greatest.
    pub max_ns: u64,
    /// Latencies up to this bound are only known not to exceed it; 0 if all are known.
    pub below_ns: u64,
}

impl LatencyFigures {
    /// Notes the precision of the clocks.
    pub(crate) fn known_to_within(mut self, bound_ns: Option<f64>, precision: u8) -> Self {
        // As the histogram has it.
        let bound_ns = bound_ns.map(|ns| Latency::bucket_end(precision, ns.ceil().max(1.0) as u64));
        self.below_ns = bound_ns.unwrap_or_default();
        self
    }

    /// Returns a figure in milliseconds, rounded up: `<0.080` if it is only known to be below that.
    pub fn msec_at_most(&self, ns: u64) -> String {
        if ns <= self.below_ns && self.below_ns > 0 {
            format!("<{}", msec_at_most(self.below_ns))
        } else {
            msec_at_most(ns)
        }
    }

    /// Returns the figures in milliseconds; all are 0 without replies.
    pub fn cells<const N: usize>(&self, metrics: [Metric; N]) -> [String; N] {
        let exact = |ns: f64| {
            if ns > self.below_ns as f64 { msec(ns) } else { self.msec_at_most(self.below_ns) }
        };
        metrics.map(|metric| match metric {
            Metric::Mean => exact(self.mean_ns),
            Metric::Min => exact(self.min_ns as f64),
            Metric::P50 => self.msec_at_most(self.p50_ns),
            Metric::P95 => self.msec_at_most(self.p95_ns),
            Metric::P99 => self.msec_at_most(self.p99_ns),
            Metric::P99_9 => self.msec_at_most(self.p999_ns),
            Metric::Max => self.msec_at_most(self.max_ns),
            _ => "–".to_owned(),
        })
    }

    /// Returns the figures in milliseconds; `none` without replies.
    pub fn cells_or<const N: usize>(&self, none: &str, metrics: [Metric; N]) -> [String; N] {
        if self.count == 0 { metrics.map(|_| none.to_owned()) } else { self.cells(metrics) }
    }

    /// Returns the figures in milliseconds, with a mark at each percentile of too few samples; `none` without
    /// replies.
    pub fn marked_cells<const N: usize>(&self, none: &str, metrics: [Metric; N]) -> [String; N] {
        let mut cells = self.cells_or(none, metrics);
        for (cell, metric) in cells.iter_mut().zip(metrics) {
            let quantile = metric.quantile().unwrap_or(1.0);
            *cell = resting::marked(std::mem::take(cell), quantile, self.count);
        }
        cells
    }

    /// Makes the figures of all latencies of a histogram.
    pub fn from_latency(latency: &Latency) -> Self {
        let quantile = |q| latency.quantile_ns(q).unwrap_or_default();
        Self {
            count: latency.count(),
            mean_ns: latency.mean_ns().unwrap_or_default(),
            min_ns: latency.min_ns().unwrap_or_default(),
            p50_ns: quantile(0.5),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: latency.max_ns().unwrap_or_default(),
            below_ns: 0,
        }
    }
}

/// The figures of TLS.
#[derive(Debug, Clone, PartialEq)]
pub struct TlsFigures {
    /// Agreed versions and ciphers, the most frequent first, as `VERSION CIPHER`; empty if no handshake
    /// succeeded.
    pub negotiated: String,
    /// Handshakes that resumed an earlier session, if that was requested.
    pub resumed: Option<u64>,
    /// Time of a handshake, if every pipeline has one, without keep-alive.
    pub handshake: Option<LatencyFigures>,
    /// Successful handshakes.
    pub handshakes: u64,
}

impl TlsFigures {
    pub(crate) fn new(options: &TlsOptions, keep_alive: bool, tally: &TlsTally) -> Self {
        let mut kinds = tally.negotiated.clone();
        kinds.sort_by(|a, b| (Reverse(a.connections), a).cmp(&(Reverse(b.connections), b)));
        let one = kinds.len() == 1;
        let kinds = kinds.iter().map(|Negotiated { version, cipher, connections }| {
            if one {
                format!("{version} {cipher}")
            } else {
                format!("{version} {cipher} ({})", counted(*connections, "connection"))
            }
        });
        Self {
            negotiated: escape(kinds.collect::<Vec<_>>().join(", ")),
            resumed: options.resume.then_some(tally.resumed),
            handshake: (!keep_alive).then(|| LatencyFigures::from_latency(&tally.handshake)),
            handshakes: tally.handshake.count(),
        }
    }
}

/// The rate over time, in requests per second with one value for each interval: the [`COLUMNS`] of a latency.
///
/// Only intervals wholly within the run count; the last one is cut off by its end. An interval without a point had
/// no reply.
pub(crate) fn rates(timeline: &Timeline, elapsed_ns: u64) -> Option<[f64; COLUMNS.len()]> {
    let whole = timeline.full_intervals(elapsed_ns);
    let full = whole.end - whole.start;
    let points = timeline.points.iter().filter(|point| whole.contains(&u64::from(point.index)));
    let mut requests: Vec<u64> = points.map(Point::counted).collect();
    if full == 0 || timeline.points.is_empty() {
        return None;
    }
    requests.sort();
    let silent = full.saturating_sub(requests.len() as u64);
    let rate = |n: u64| n as f64 * 1e9 / timeline.interval_ns as f64;
    // The silent intervals come first in rising order; they need not be written down.
    let at = |rank: u64| match rank.clamp(1, full).checked_sub(silent + 1) {
        Some(rank) => rate(requests.get(rank as usize).copied().unwrap_or_default()),
        None => 0.0,
    };
    let ranked = |quantile: f64| at((quantile * full as f64).ceil() as u64);
    let all = requests.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
    Some([rate(all) / full as f64, at(1), ranked(0.5), ranked(0.95), ranked(0.99), at(full)])
}
