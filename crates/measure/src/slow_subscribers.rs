//! Figures of subscribers that do not read.

use serde::{Deserialize, Serialize};

/// Counts of subscribers that do not read. Their messages are in no other count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowSubscribers {
    /// Number of these subscribers.
    pub subscribers: u32,
    /// Number of times that the server cut one off.
    pub cut_off: u64,
    /// Time from the start of the measured part until the first cut was seen, in nanoseconds.
    #[serde(
        rename = "first_cut_s",
        with = "crate::units::seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub first_cut_ns: Option<u64>,
    /// Time of the last cut, measured like `first_cut_ns`.
    #[serde(
        rename = "last_cut_s",
        with = "crate::units::seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub last_cut_ns: Option<u64>,
    /// Messages that had reached them, in kernel buffers.
    pub received: u64,
    /// Acknowledged messages that never reached a subscriber, counted once for each.
    pub missed: u64,
    /// Maximum number of bytes that the server held for one of them.
    #[serde(rename = "most_waiting_bytes", skip_serializing_if = "Option::is_none")]
    pub waiting_bytes: Option<u64>,
}

impl SlowSubscribers {
    /// Adds the figures of another client.
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

    /// Counts a subscriber that was cut off, at this time after the measured part began.
    pub fn cut_off(&mut self, at_ns: u64) {
        self.cut_off += 1;
        self.first_cut_ns.get_or_insert(at_ns);
        self.last_cut_ns = Some(at_ns);
    }
}
