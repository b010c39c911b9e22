//! Requests of a schedule: how many were due, and how late they were sent.

use super::{Phase, Recorder};

impl Recorder {
    /// Adds `count` measured requests that were just sent; see [`measure::Lateness`].
    #[inline]
    pub(crate) fn sent(&mut self, due_ns: u64, room_ns: u64, sent_ns: u64, count: u64) {
        if let Some(lateness) = &mut self.tally.lateness {
            lateness.record_n(due_ns, room_ns, sent_ns, count);
        }
    }

    /// Adds the requests that the schedule had due, sent or not. Called once, at the end.
    pub(crate) fn due(&mut self, count: u64) {
        if let (Phase::Measured { .. }, Some(lateness)) = (self.phase, &mut self.tally.lateness) {
            lateness.due += count;
        }
    }
}
