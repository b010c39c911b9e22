//! Spans in which one worker had no success on a node, and the response times of requests that fell due in
//! them.
//!
//! `measure` decides from all workers' spans which of them are outages.

use measure::{Latency, Outage, Sample};

/// The last span in which this worker had no success on a node.
#[derive(Clone)]
pub(super) struct Silence {
    last_ok_ns: u64,
    /// Set if something failed since the last success.
    failing: bool,
    span: std::ops::Range<u64>,
}

impl Silence {
    pub(super) fn since(now_ns: u64) -> Self {
        Self { last_ok_ns: now_ns, failing: false, span: 0..0 }
    }

    /// Starts over: the silence until now means nothing.
    pub(super) fn begin(&mut self, now_ns: u64) {
        (self.last_ok_ns, self.failing, self.span) = (now_ns, false, 0..0);
    }

    /// Notes a failure.
    pub(super) fn fail(&mut self) {
        self.failing = true;
    }

    /// Notes the first success of a read, or of earlier data.
    #[inline]
    pub(super) fn heard(&mut self, now_ns: u64, usual_ns: u64) {
        let least_ns = if self.failing { Outage::FAILING_MIN_NS } else { Outage::SILENT_MIN_NS };
        if now_ns.saturating_sub(self.last_ok_ns) >= least_ns.max(usual_ns) {
            self.span = self.last_ok_ns..now_ns;
        }
        (self.last_ok_ns, self.failing) = (self.last_ok_ns.max(now_ns), false);
    }

    /// Adds the response times of requests that fell due while the node was silent.
    #[inline]
    pub(super) fn record(&self, sample: &Sample, delayed: &mut Option<Latency>) {
        if self.span.contains(&sample.intended_ns)
            && let Some(delayed) = delayed
        {
            delayed.record_n(sample.done_ns.saturating_sub(sample.intended_ns), sample.count);
        }
    }
}
