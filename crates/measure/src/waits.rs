//! What receivers of queues and streams see while they wait: who was woken, how late a wait ends, what heaps up.

use crate::Latency;

/// What was seen of waits, of the measured part.
#[derive(Debug, Clone)]
pub struct Waits {
    /// From sent to received, of messages that were sent while their receiver waited: only they woke anybody.
    pub wake_up: Latency,
    /// How much later than it was due a wait ended that no message came to.
    pub timeout_late: Latency,
    /// Waits that the server ended for another reason (UNBLOCKED).
    pub unblocked: u64,
    /// Messages that were gone when they were to be acknowledged.
    pub unsettled: u64,
    /// Messages that had been sent and not received, over time.
    pub backlog: Vec<Backlog>,
    /// Messages in the keys at the end, which were then removed; `None` if nobody looked.
    pub left: Option<u64>,
    /// Messages that were received and never acknowledged; `None` if nobody looked.
    pub pending: Option<u64>,
}

/// Messages that had been sent and not received at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Nanoseconds since the start of the measured part.
    pub at_ns: u64,
    /// Deliveries that were still to come.
    pub messages: u64,
}

impl Waits {
    /// Nothing yet; `precision` is that of latencies.
    #[must_use]
    pub fn new(precision: u8) -> Self {
        Self {
            wake_up: Latency::new(precision),
            timeout_late: Latency::new(precision),
            unblocked: 0,
            unsettled: 0,
            backlog: Vec::new(),
            left: None,
            pending: None,
        }
    }

    /// Adds what another thread of receivers saw.
    pub fn merge(&mut self, other: &Self) {
        self.wake_up.merge(&other.wake_up);
        self.timeout_late.merge(&other.timeout_late);
        self.unblocked = self.unblocked.saturating_add(other.unblocked);
        self.unsettled = self.unsettled.saturating_add(other.unsettled);
    }

    /// The greatest backlog, and the one when the senders were done; `None` of a run without either.
    #[must_use]
    pub fn backlogs(&self) -> Option<(Backlog, Backlog)> {
        let last = self.backlog.last()?;
        let first_greatest = self.backlog.iter().rev().max_by_key(|backlog| backlog.messages)?;
        Some((*first_greatest, *last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_backlog_is_the_first_of_its_size() {
        let mut waits = Waits::new(3);
        assert_eq!(waits.backlogs(), None);
        let backlog = |(at_ns, messages)| Backlog { at_ns, messages };
        waits.backlog = [(1, 3), (2, 9), (3, 9), (4, 1)].map(backlog).to_vec();
        assert_eq!(waits.backlogs(), Some((backlog((2, 9)), backlog((4, 1)))));
    }
}
