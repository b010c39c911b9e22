//! Figures of a quiet client beside the load.

use measure::Latency;
use serde::{Deserialize, Serialize};
use workload::quantity::counted;

/// A probe's figures.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Probe {
    /// Connections of the probe.
    pub connections: u32,
    /// Rate of the probe, in requests per second.
    pub rate_per_s: f64,
    /// Requests answered, including error replies.
    pub requests: u64,
    /// Error replies among them.
    pub errors: u64,
    /// Mean lateness of its requests, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_mean_ms: Option<f64>,
    /// Latency from due to reply.
    #[serde(rename = "response_ms")]
    pub response: Latency,
    /// Parts of its 99th percentile in words, if the kernel stamped replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spans: Option<String>,
}

impl Probe {
    /// `4 quiet connections beside the load, 1000 requests/s; 9999 replies`.
    pub fn describe(&self) -> String {
        let Self { connections, rate_per_s, requests, errors, .. } = self;
        let errors =
            if *errors > 0 { format!(", {}", counted(*errors, "error")) } else { String::new() };
        format!(
            "{} in addition to the load, {rate_per_s} requests/s; {requests} replies{errors}",
            counted(u64::from(*connections), "quiet connection")
        )
    }
}
