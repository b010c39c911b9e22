//! Adherence of an open loop to its schedule.
//!
//! Owns the two ways in which a request leaves late: no connection had room for it, or there was room and
//! keystorm was not ready to use it. The first is due to the server or to too few connections; the second is
//! the client's fault.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// Lateness of requests, recorded when they are sent, so that those never answered count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lateness {
    /// From due to sent, in nanoseconds.
    pub total: Latency,
    /// The part of that for which a connection had room.
    pub own: Latency,
    /// Requests given up as lost before they were sent, because their server was gone.
    pub given_up: u64,
    /// Requests that were due: sent, given up, or never sent.
    pub due: u64,
}

/// Significant digits of these histograms; nobody needs three of a delay.
const PRECISION: u8 = 2;

impl Default for Lateness {
    fn default() -> Self {
        Self { total: Latency::new(PRECISION), own: Latency::new(PRECISION), given_up: 0, due: 0 }
    }
}

impl Lateness {
    /// Adds `count` requests that were due at `due_ns` and sent at `sent_ns`, with room on a connection since
    /// `room_ns`.
    #[inline]
    pub fn record_n(&mut self, due_ns: u64, room_ns: u64, sent_ns: u64, count: u64) {
        self.total.record_n(sent_ns.saturating_sub(due_ns), count);
        self.own.record_n(sent_ns.saturating_sub(due_ns.max(room_ns)), count);
    }
}

total!(Lateness { total, own, given_up, due });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_room_is_not_our_own() {
        let mut late = Lateness::default();
        late.record_n(100, 0, 150, 1);
        late.record_n(100, 900, 1_000, 1);
        assert_eq!((late.total.min_ns(), late.total.max_ns()), (Some(50), Some(900)));
        assert_eq!((late.own.min_ns(), late.own.max_ns()), (Some(50), Some(100)));
    }
}
