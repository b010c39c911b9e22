//! Latencies of misses and errors, kept separate from those of successes.
//!
//! Tools that count a miss or an error as a failed operation report its latency with the failures, so that
//! a server that refuses quickly does not look fast.

use crate::Latency;
use crate::tally::merge_optional;

/// The latencies of misses and of errors.
#[derive(Debug, Clone)]
pub struct SeparateFailures {
    /// Of misses.
    pub missed: FailureLatency,
    /// Of error replies.
    pub failed: FailureLatency,
}

/// Latencies from when something was sent and from when it was due.
#[derive(Debug, Clone)]
pub struct FailureLatency {
    /// From sent to done.
    pub service: Latency,
    /// From due to done, where requests are due at times of their own.
    pub scheduled_response: Option<Latency>,
}

impl SeparateFailures {
    pub(crate) fn new(precision: u8, scheduled: bool) -> Self {
        let timed = || FailureLatency::new(precision, scheduled);
        Self { missed: timed(), failed: timed() }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { missed, failed } = other;
        self.missed.merge(missed);
        self.failed.merge(failed);
    }

    /// Whether nothing missed or failed.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { missed, failed } = self;
        missed.service.count() == 0 && failed.service.count() == 0
    }

    pub(crate) fn clear(&mut self) {
        let Self { missed, failed } = self;
        missed.clear();
        failed.clear();
    }
}

impl FailureLatency {
    fn new(precision: u8, scheduled: bool) -> Self {
        let latency = || Latency::new(precision);
        Self { service: latency(), scheduled_response: scheduled.then(latency) }
    }

    /// Adds as many of the same times.
    #[inline]
    pub fn record_n(&mut self, intended_ns: u64, sent_ns: u64, done_ns: u64, count: u64) {
        self.service.record_n(done_ns.saturating_sub(sent_ns), count);
        if let Some(response) = &mut self.scheduled_response {
            response.record_n(done_ns.saturating_sub(intended_ns), count);
        }
    }

    fn merge(&mut self, other: &Self) {
        let Self { service, scheduled_response } = other;
        self.service.merge(service);
        merge_optional(&mut self.scheduled_response, scheduled_response.as_ref(), Latency::merge);
    }

    fn clear(&mut self) {
        let Self { service, scheduled_response } = self;
        service.clear();
        scheduled_response.iter_mut().for_each(Latency::clear);
    }
}

/// Adds what `from` keeps apart.
pub(crate) fn merge_apart(into: &mut Option<SeparateFailures>, from: Option<&SeparateFailures>) {
    match (into, from) {
        (Some(into), Some(from)) => into.merge(from),
        (into @ None, Some(from)) => *into = Some(from.clone()),
        (_, None) => {}
    }
}
