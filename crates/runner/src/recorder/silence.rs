//! Spans in which one worker saw nothing succeed on a node, and what users of a schedule waited who came then.
//!
//! Whether that was an outage is found by `measure` from what all workers saw.

use measure::{Latency, Outage, Sample};

/// The last span in which this worker saw nothing succeed on a node.
#[derive(Clone)]
pub(super) struct Silence {
    last_ok_ns: u64,
    /// Something failed since the last success.
    failing: bool,
    span: std::ops::Range<u64>,
}

impl Silence {
    pub(super) fn since(now_ns: u64) -> Self {
        Self { last_ok_ns: now_ns, failing: false, span: 0..0 }
    }

    /// Begins anew: silence until now says nothing.
    pub(super) fn begin(&mut self, now_ns: u64) {
        (self.last_ok_ns, self.failing, self.span) = (now_ns, false, 0..0);
    }

    /// Something failed.
    pub(super) fn fail(&mut self) {
        self.failing = true;
    }

    /// The first success of a read, or of something that was read before.
    #[inline]
    pub(super) fn heard(&mut self, now_ns: u64, usual_ns: u64) {
        let least_ns = if self.failing { Outage::FAILING_MIN_NS } else { Outage::SILENT_MIN_NS };
        if now_ns.saturating_sub(self.last_ok_ns) >= least_ns.max(usual_ns) {
            self.span = self.last_ok_ns..now_ns;
        }
        (self.last_ok_ns, self.failing) = (self.last_ok_ns.max(now_ns), false);
    }

    /// Adds what users waited who came while the node was silent.
    #[inline]
    pub(super) fn record(&self, sample: &Sample, delayed: &mut Option<Latency>) {
        if self.span.contains(&sample.intended_ns)
            && let Some(delayed) = delayed
        {
            delayed.record_n(sample.done_ns.saturating_sub(sample.intended_ns), sample.count);
        }
    }
}
