//! What receivers that wait with a command saw, in a saved run.

use measure::{Backlog, Waits};
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::LatencyRecord;

/// Counts and latencies of waits. What follows from others is written and never read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WaitsRecord {
    #[serde(skip_deserializing)]
    met_a_waiting_receiver: u64,
    #[serde(skip_deserializing)]
    timed_out: u64,
    wake_up_ms: LatencyRecord,
    timeout_late_ms: LatencyRecord,
    ended_by_server: u64,
    acknowledged_in_vain: u64,
    #[serde(skip_deserializing)]
    backlog_max: u64,
    #[serde(skip_deserializing)]
    backlog_at_end: u64,
    backlog: Vec<BacklogRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_in_keys: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    never_acknowledged: Option<u64>,
}

/// Messages that were still to come at some time.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct BacklogRecord {
    at_s: f64,
    messages: u64,
}

impl WaitsRecord {
    pub(super) fn from_waits(waits: &Waits) -> Result<Self, RecordError> {
        let Waits { wake_up, timeout_late, unblocked, unsettled, backlog, left, pending } = waits;
        let (most, last) = waits.backlogs().unzip();
        let messages = |backlog: Option<Backlog>| backlog.map_or(0, |backlog| backlog.messages);
        let record =
            |b: &Backlog| BacklogRecord { at_s: b.at_ns as f64 / 1e9, messages: b.messages };
        Ok(Self {
            met_a_waiting_receiver: wake_up.count(),
            timed_out: timeout_late.count(),
            wake_up_ms: LatencyRecord::from_latency(wake_up)?,
            timeout_late_ms: LatencyRecord::from_latency(timeout_late)?,
            ended_by_server: *unblocked,
            acknowledged_in_vain: *unsettled,
            backlog_max: messages(most),
            backlog_at_end: messages(last),
            backlog: backlog.iter().map(record).collect(),
            left_in_keys: *left,
            never_acknowledged: *pending,
        })
    }

    pub(super) fn waits(self) -> Result<Waits, RecordError> {
        let backlog = |record: BacklogRecord| Backlog {
            at_ns: (record.at_s * 1e9).round() as u64,
            messages: record.messages,
        };
        Ok(Waits {
            wake_up: self.wake_up_ms.latency()?,
            timeout_late: self.timeout_late_ms.latency()?,
            unblocked: self.ended_by_server,
            unsettled: self.acknowledged_in_vain,
            backlog: self.backlog.into_iter().map(backlog).collect(),
            left: self.left_in_keys,
            pending: self.never_acknowledged,
        })
    }
}
