//! How late requests were sent, in a saved run.

use measure::Lateness;
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::LatencyRecord;

/// How late requests of an open loop were sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LatenessRecord {
    /// From due to sent.
    total: LatencyRecord,
    /// The part of it for which a connection had room.
    own: LatencyRecord,
    /// Requests that were lost before they could be sent.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    given_up: u64,
    /// Requests that were due.
    due: u64,
}

impl LatenessRecord {
    pub(super) fn from_lateness(lateness: &Lateness) -> Result<Self, RecordError> {
        let Lateness { total, own, given_up, due } = lateness;
        let (total, own) = (LatencyRecord::from_latency(total)?, LatencyRecord::from_latency(own)?);
        Ok(Self { total, own, given_up: *given_up, due: *due })
    }

    pub(super) fn lateness(&self) -> Result<Lateness, RecordError> {
        let total = self.total.latency()?;
        Ok(Lateness { total, own: self.own.latency()?, given_up: self.given_up, due: self.due })
    }
}
