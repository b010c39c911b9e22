//! What became of subscribers that do not read.

use serde::{Deserialize, Serialize};

/// Counts of subscribers that do not read. Their messages are in no other count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowSubscribers {
    /// Number of these subscribers.
    pub subscribers: u32,
    /// Times that the server cut one off.
    pub cut_off: u64,
    /// Nanoseconds after the measured part began at which one was seen to be cut off for the first time.
    #[serde(
        rename = "first_cut_s",
        with = "crate::units::seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub first_cut_ns: Option<u64>,
    /// Time of the last cut, as `first_cut_ns` is of the first.
    #[serde(
        rename = "last_cut_s",
        with = "crate::units::seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub last_cut_ns: Option<u64>,
    /// Messages that had reached them, in the buffers of the kernels.
    pub received: u64,
    /// Acknowledged messages that never reached them, one for each.
    pub missed: u64,
    /// Most bytes that were seen to wait at the server for one of them.
    #[serde(rename = "most_waiting_bytes", skip_serializing_if = "Option::is_none")]
    pub waiting_bytes: Option<u64>,
}

impl SlowSubscribers {
    /// Adds what was seen of those of another client.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            subscribers,
            cut_off,
            first_cut_ns,
            last_cut_ns,
            received,
            missed,
            waiting_bytes,
        } = *other;
        self.subscribers = self.subscribers.saturating_add(subscribers);
        self.cut_off = self.cut_off.saturating_add(cut_off);
        self.first_cut_ns = [self.first_cut_ns, first_cut_ns].into_iter().flatten().min();
        self.last_cut_ns = self.last_cut_ns.max(last_cut_ns);
        self.received = self.received.saturating_add(received);
        self.missed = self.missed.saturating_add(missed);
        self.waiting_bytes = self.waiting_bytes.max(waiting_bytes);
    }

    /// Notes that one was cut off so long after the measured part began.
    pub fn cut_off(&mut self, at_ns: u64) {
        self.cut_off += 1;
        self.first_cut_ns.get_or_insert(at_ns);
        self.last_cut_ns = Some(at_ns);
    }
}
