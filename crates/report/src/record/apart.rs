//! Latencies of misses and errors in a saved run, where they are kept apart from the others.

use measure::{FailureLatency, SeparateFailures};
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::LatencyRecord;

/// The latencies of misses and of errors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ApartRecord {
    missed: TimedRecord,
    failed: TimedRecord,
}

/// Without a `response` of its own, response time is service time.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TimedRecord {
    service: LatencyRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<LatencyRecord>,
}

impl ApartRecord {
    pub(super) fn from_apart(apart: &SeparateFailures) -> Result<Self, RecordError> {
        let SeparateFailures { missed, failed } = apart;
        Ok(Self {
            missed: TimedRecord::from_timed(missed)?,
            failed: TimedRecord::from_timed(failed)?,
        })
    }

    pub(super) fn apart(&self) -> Result<SeparateFailures, RecordError> {
        Ok(SeparateFailures { missed: self.missed.timed()?, failed: self.failed.timed()? })
    }
}

impl TimedRecord {
    fn from_timed(timed: &FailureLatency) -> Result<Self, RecordError> {
        let FailureLatency { service, scheduled_response } = timed;
        Ok(Self {
            service: LatencyRecord::from_latency(service)?,
            response: scheduled_response.as_ref().map(LatencyRecord::from_latency).transpose()?,
        })
    }

    fn timed(&self) -> Result<FailureLatency, RecordError> {
        Ok(FailureLatency {
            service: self.service.latency()?,
            scheduled_response: (self.response.as_ref()).map(LatencyRecord::latency).transpose()?,
        })
    }
}
