//! A probe in a saved run.

use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::LatencyRecord;
use crate::Probe;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProbeRecord {
    connections: u32,
    rate_per_s: f64,
    requests: u64,
    errors: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_mean_ms: Option<f64>,
    response_ms: LatencyRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spans: Option<String>,
}

impl ProbeRecord {
    pub(super) fn from_probe(probe: &Probe) -> Result<Self, RecordError> {
        let Probe { connections, rate_per_s, requests, errors, late_mean_ms, response, spans } =
            probe;
        Ok(Self {
            connections: *connections,
            rate_per_s: *rate_per_s,
            requests: *requests,
            errors: *errors,
            late_mean_ms: *late_mean_ms,
            response_ms: LatencyRecord::from_latency(response)?,
            spans: spans.clone(),
        })
    }

    pub(super) fn probe(&self) -> Result<Probe, RecordError> {
        let Self { connections, rate_per_s, requests, errors, late_mean_ms, response_ms, spans } =
            self;
        Ok(Probe {
            connections: *connections,
            rate_per_s: *rate_per_s,
            requests: *requests,
            errors: *errors,
            late_mean_ms: *late_mean_ms,
            response: response_ms.latency()?,
            spans: spans.clone(),
        })
    }
}
