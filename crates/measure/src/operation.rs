//! Counts and latencies of an operation with several commands.
//!
//! An operation of one command is described by the figures of the command.

use serde::{Deserialize, Serialize};

use crate::separate_failures::SeparateFailures;
use crate::total::total;
use crate::{Latency, TallyShape};

/// Outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationOutcome {
    /// Every reply was a value, a status or a collection.
    Ok,
    /// A key that it asked for did not exist.
    Missed,
    /// A reply was an error; later steps were not sent.
    Failed,
}

/// Figures of an operation with several commands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperationTally {
    /// From the sending of its first step to its last reply.
    #[serde(rename = "service_ms")]
    pub service: Latency,
    /// From due to its last reply, if operations have due times of their own.
    #[serde(rename = "response_ms", skip_serializing_if = "Option::is_none")]
    pub scheduled_response: Option<Latency>,
    /// Latencies of operations with a miss or an error, if they are kept separate.
    #[serde(rename = "apart_ms", skip_serializing_if = "Option::is_none")]
    pub separate_failures: Option<SeparateFailures>,
    /// Operations without a miss or an error.
    pub ok: u64,
    /// Operations with a miss.
    #[serde(rename = "misses")]
    pub missed: u64,
    /// Operations with an error.
    #[serde(rename = "errors")]
    pub failed: u64,
}

impl OperationTally {
    pub(crate) fn new(shape: &TallyShape) -> Self {
        let latency = || Latency::new(shape.precision);
        Self {
            service: latency(),
            scheduled_response: shape.scheduled.then(latency),
            separate_failures: shape
                .separate_failures
                .then(|| SeparateFailures::new(shape.precision, shape.scheduled)),
            ok: 0,
            missed: 0,
            failed: 0,
        }
    }

    /// Latency from due to its last reply: the wait of a user of the server.
    pub fn response(&self) -> &Latency {
        self.scheduled_response.as_ref().unwrap_or(&self.service)
    }

    /// Returns the number of operations that ended.
    pub fn ended(&self) -> u64 {
        self.ok.saturating_add(self.missed).saturating_add(self.failed)
    }

    /// Adds an operation with these due, first sending and end times. A failed operation has no latency, like
    /// a failed command, unless such latencies are kept separate.
    #[inline]
    pub fn record(
        &mut self,
        ended: OperationOutcome,
        intended_ns: u64,
        sent_ns: u64,
        done_ns: u64,
    ) {
        match ended {
            OperationOutcome::Ok => self.ok += 1,
            OperationOutcome::Missed => self.missed += 1,
            OperationOutcome::Failed => {
                self.failed += 1;
                if let Some(failures) = &mut self.separate_failures {
                    failures.failed.record_n(intended_ns, sent_ns, done_ns, 1);
                }
                return;
            }
        }
        if ended == OperationOutcome::Missed
            && let Some(failures) = &mut self.separate_failures
        {
            return failures.missed.record_n(intended_ns, sent_ns, done_ns, 1);
        }
        self.service.record_n(done_ns.saturating_sub(sent_ns), 1);
        if let Some(response) = &mut self.scheduled_response {
            response.record_n(done_ns.saturating_sub(intended_ns), 1);
        }
    }
}

total!(OperationTally { service, scheduled_response, separate_failures, ok, missed, failed });
