//! Subscribers that did not read, in a saved run.

use measure::SlowSubscribers;
use serde::{Deserialize, Serialize};

/// What was seen of them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct SlowRecord {
    subscribers: u32,
    cut_off: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_cut_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_cut_s: Option<f64>,
    received: u64,
    missed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_waiting_bytes: Option<u64>,
}

impl SlowRecord {
    pub(super) fn from_slow(slow: &SlowSubscribers) -> Self {
        let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
        let SlowSubscribers { subscribers, cut_off, received, missed, waiting_bytes, .. } = *slow;
        Self {
            subscribers,
            cut_off,
            first_cut_s: seconds(slow.first_cut_ns),
            last_cut_s: seconds(slow.last_cut_ns),
            received,
            missed,
            most_waiting_bytes: waiting_bytes,
        }
    }

    pub(super) fn slow(self) -> SlowSubscribers {
        let ns = |seconds: Option<f64>| seconds.map(|seconds| (seconds * 1e9).round() as u64);
        SlowSubscribers {
            subscribers: self.subscribers,
            cut_off: self.cut_off,
            first_cut_ns: ns(self.first_cut_s),
            last_cut_ns: ns(self.last_cut_s),
            received: self.received,
            missed: self.missed,
            waiting_bytes: self.most_waiting_bytes,
        }
    }
}
