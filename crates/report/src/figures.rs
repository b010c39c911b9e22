//! Figures that belong together: of latencies, of TLS, of a node, and of the rate over time.
//!
//! What of a run they are of is [`Summary`](crate::Summary)'s business.

use std::cmp::Reverse;

use measure::{Latency, Negotiated, NodeTally, Point, Timeline, TlsTally};
use workload::TlsOptions;
use workload::quantity::counted;

use crate::{escape, msec_at_most};

/// The figures of a latency, in nanoseconds. All 0 when `count` is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LatencyFigures {
    /// Number of replies.
    pub count: u64,
    /// The exact mean.
    pub mean_ns: f64,
    /// The exact least.
    pub min_ns: u64,
    /// Median; this and the other percentiles are exact to the plan's precision.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// The exact greatest.
    pub max_ns: u64,
    /// Bound at or below which a latency is known only to be so; 0 if all are known.
    pub below_ns: u64,
}

impl LatencyFigures {
    /// Notes that clocks are known no better than so.
    pub(crate) fn known_to_within(mut self, bound_ns: Option<f64>, precision: u8) -> Self {
        // As the histogram has it.
        let mut bound = Latency::new(precision);
        bound.record_n(bound_ns.unwrap_or_default().ceil() as u64, 1);
        bound.record_n(bound_ns.unwrap_or_default().ceil() as u64 * 4 + 1_000, 1);
        self.below_ns = bound_ns.and(bound.quantile_ns(0.5)).unwrap_or_default();
        self
    }

    /// Returns a figure in milliseconds, rounded up: `<0.080` if it is known only to be below that.
    #[must_use]
    pub fn msec_at_most(&self, ns: u64) -> String {
        if ns <= self.below_ns && self.below_ns > 0 {
            format!("<{}", msec_at_most(self.below_ns))
        } else {
            msec_at_most(ns)
        }
    }

    pub(crate) fn from_latency(latency: &Latency) -> Self {
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
    /// The versions and ciphers that were agreed on, the most frequent first, as
    /// `VERSION CIPHER`; empty if no handshake ended.
    pub negotiated: String,
    /// Handshakes that took up an earlier session, where that was asked for.
    pub resumed: Option<u64>,
    /// Time of a handshake, if every pipeline has one: without keep-alive.
    pub handshake: Option<LatencyFigures>,
    /// Handshakes that ended well.
    pub handshakes: u64,
}

impl TlsFigures {
    pub(crate) fn new(options: &TlsOptions, keep_alive: bool, tally: &TlsTally) -> Self {
        let mut kinds = tally.negotiated.clone();
        kinds.sort_by(|a, b| (Reverse(a.connections), a).cmp(&(Reverse(b.connections), b)));
        let one = kinds.len() == 1;
        let named = |Negotiated { version, cipher, connections }: &Negotiated| {
            if one {
                format!("{version} {cipher}")
            } else {
                format!("{version} {cipher} ({})", counted(*connections, "connection"))
            }
        };
        Self {
            negotiated: escape(kinds.iter().map(named).collect::<Vec<_>>().join(", ")),
            resumed: options.resume.then_some(tally.resumed),
            handshake: (!keep_alive).then(|| LatencyFigures::from_latency(&tally.handshake)),
            handshakes: tally.handshake.count(),
        }
    }
}

/// The figures of one node of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFigures {
    /// Name of the node: its `host:port`, safe for a terminal.
    pub name: String,
    /// Set if the node was a master at the end of the run.
    pub master: bool,
    /// Slots that it owned then; of a replica, those of its master.
    pub slots: u32,
    /// Requests that it answered, errors included.
    pub requests: u64,
    /// Error replies among them.
    pub errors: u64,
    /// `MOVED` replies: requests that it sent to another node for good.
    pub moved: u64,
    /// `ASK` replies: requests that it sent to another node this once.
    pub asked: u64,
    /// Requests that it asked to send again later, as `TRYAGAIN` and `CLUSTERDOWN` do.
    pub retried: u64,
    /// Requests that were sent to it and never answered.
    pub unanswered: u64,
    /// From when its requests were due to its replies.
    pub response: LatencyFigures,
}

impl NodeFigures {
    /// Returns whether a node had any part in the load.
    pub(crate) fn counts(node: &NodeTally) -> bool {
        node.used || node.requests() + node.redirects() + node.unanswered > 0
    }

    pub(crate) fn from_node(node: &NodeTally) -> Self {
        Self {
            name: escape(&node.name),
            master: node.master,
            slots: node.slots,
            requests: node.requests(),
            errors: node.errors,
            moved: node.moved,
            asked: node.asked,
            retried: node.retried,
            unanswered: node.unanswered,
            response: LatencyFigures::from_latency(&node.response),
        }
    }

    /// Requests that it did not carry out but sent elsewhere, or asked to send again.
    #[must_use]
    pub fn redirects(&self) -> u64 {
        self.moved + self.asked + self.retried
    }
}

/// The rate over time, in requests per second, one value an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateFigures {
    /// Mean.
    pub mean_rps: f64,
    /// Least.
    pub min_rps: f64,
    /// Median.
    pub p50_rps: f64,
    /// 95th percentile.
    pub p95_rps: f64,
    /// 99th percentile.
    pub p99_rps: f64,
    /// Greatest.
    pub max_rps: f64,
}

impl RateFigures {
    /// Makes the figures of the intervals that are wholly within the run: the last one ends when the run does, so its
    /// count is of a shorter time. An interval without a point is one without a reply.
    pub(crate) fn new(timeline: &Timeline, elapsed_ns: u64) -> Option<Self> {
        let whole = timeline.full_intervals(elapsed_ns);
        let full = whole.end - whole.start;
        let within = |point: &&Point| whole.contains(&u64::from(point.index));
        let mut requests: Vec<u64> =
            timeline.points.iter().filter(within).map(Point::counted).collect();
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
        Some(Self {
            mean_rps: rate(all) / full as f64,
            min_rps: at(1),
            p50_rps: ranked(0.5),
            p95_rps: ranked(0.95),
            p99_rps: ranked(0.99),
            max_rps: at(full),
        })
    }
}
