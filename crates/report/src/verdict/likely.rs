//! The part of the time of slow responses that noise likely took, by the measurements; [`Noise`] itself gives
//! the most that it can have taken.
//!
//! Threads of the client can wait for a CPU before a reply has arrived, which delays nothing. If the kernel
//! stamped replies, such a wait costs a response no more than the part of its service time in which it lay
//! unread.

use super::noise::Noise;
use super::noise_sources::Wait;
use super::responses::SpanResponses;
use crate::machine_between;

impl Noise<'_> {
    /// Returns the part of a span's slow responses that is covered by waits for a CPU, weighted by length.
    pub(super) fn covered(&self, span: &SpanResponses, slow_ns: f64, usual_ns: f64) -> f64 {
        let around: Vec<&Wait> = self.around(span).map(|(_, wait)| wait).collect();
        let late_ns = span.own_late_max_ns as f64;
        let of = |ns: u64| {
            let from_ns = span.from_ns as f64 - ns as f64;
            let within = around.iter().filter(|wait| wait.to_ns > from_ns);
            let waited_ns =
                self.cost_ns(ns, within.map(|wait| (**wait, 1.0))).iter().sum::<f64>() + late_ns;
            (waited_ns / (ns as f64 - usual_ns)).min(1.0)
        };
        let slow = span.times.iter().filter(|(ns, _)| *ns as f64 >= slow_ns);
        let covered = slow.map(|(ns, count)| of(*ns) * *count as f64).sum::<f64>();
        covered / span.beyond(slow_ns).max(1) as f64
    }

    /// Returns the time in nanoseconds for which responses of a span likely waited for a CPU: for the
    /// client's, and for the rest. Of each wait, only the part within their time counts.
    pub(crate) fn likely_waited_ns(&self, span: &SpanResponses) -> [f64; 2] {
        let from_ns = span.from_ns.saturating_sub(span.max_ns()) as f64;
        let within = self.around(span).map(|(_, wait)| {
            let to_ns = (wait.from_ns + wait.length_ns).min(span.to_ns as f64);
            let overlap_ns = (to_ns - from_ns.max(wait.from_ns)).max(0.0);
            (*wait, overlap_ns / wait.length_ns.max(1.0))
        });
        self.cost_ns(span.max_ns(), within)
    }

    /// Returns the most that these parts of waits cost a response of this length: of the client's waits, and
    /// of the rest.
    fn cost_ns(&self, response_ns: u64, waits: impl Iterator<Item = (Wait, f64)>) -> [f64; 2] {
        let (mut ours_ns, mut others_ns) = (0.0, 0.0);
        for (wait, part) in waits {
            ours_ns += wait.ours_ns * part;
            others_ns += (wait.wait_ns - wait.ours_ns) * part;
        }
        let stamps = self.run.measurement.total.spans.as_ref();
        let unread_ns = stamps.and_then(|stamps| stamps.near(response_ns)).map(|sums| {
            let service_ns = sums.response_ns.saturating_sub(sums.due_to_sent_ns).max(1);
            response_ns as f64 * sums.read_ns as f64 / service_ns as f64
        });
        [unread_ns.map_or(ours_ns, |unread_ns| ours_ns.min(unread_ns)), others_ns]
    }

    /// Returns the number of responses of a span that retransmitted segments of this machine can have
    /// delayed: one connection's each, to a server on another machine.
    pub(crate) fn resent(&self, span: &SpanResponses) -> f64 {
        let from_ns = span.from_ns.saturating_sub(span.max_ns());
        let resent = (!self.evidence.server_here)
            .then(|| machine_between(self.run, from_ns, span.to_ns))
            .flatten()
            .and_then(|point| Some(point.resent_per_s? * point.lasted_s));
        let each = self.evidence.slots as f64 / self.evidence.connections.max(1) as f64;
        resent.unwrap_or(0.0) * each
    }
}
