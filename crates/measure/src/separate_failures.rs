//! Latencies of misses and errors, kept separate from those of successes.
//!
//! Tools that count a miss or an error as a failed operation report its latency with the failures, so that a
//! server that refuses quickly does not look fast.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// The latencies of misses and of errors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SeparateFailures {
    /// Latencies of misses.
    pub missed: FailureLatency,
    /// Latencies of error replies.
    pub failed: FailureLatency,
}

/// Latencies from the sending time and from the due time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FailureLatency {
    /// From sent to done.
    pub service: Latency,
    /// From due to done, if requests have due times of their own.
    #[serde(rename = "response", skip_serializing_if = "Option::is_none")]
    pub scheduled_response: Option<Latency>,
}

impl SeparateFailures {
    /// Creates empty ones; `scheduled` if requests have due times of their own.
    pub(crate) fn new(precision: u8, scheduled: bool) -> Self {
        let timed = || FailureLatency::new(precision, scheduled);
        Self { missed: timed(), failed: timed() }
    }
}

total!(SeparateFailures { missed, failed });

impl FailureLatency {
    fn new(precision: u8, scheduled: bool) -> Self {
        let latency = || Latency::new(precision);
        Self { service: latency(), scheduled_response: scheduled.then(latency) }
    }

    /// Adds `count` equal latencies.
    #[inline]
    pub fn record_n(&mut self, intended_ns: u64, sent_ns: u64, done_ns: u64, count: u64) {
        self.service.record_n(done_ns.saturating_sub(sent_ns), count);
        if let Some(response) = &mut self.scheduled_response {
            response.record_n(done_ns.saturating_sub(intended_ns), count);
        }
    }
}

total!(FailureLatency { service, scheduled_response });
