//! Latency to the first and to the last receiver of each message that has several.
//!
//! Only messages that reached all receivers count. A ring keeps each message by its number; a message whose
//! slot is needed before it is complete is left out.

use measure::Latency;
use workload::Message;

/// Number of messages kept in flight, a power of two.
const RING: usize = 1 << 16;

/// Times of one message.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Message number plus one; 0 for none.
    message: u64,
    first_ns: u64,
    last_ns: u64,
    receivers: u32,
}

/// First and last receivers of the messages that one thread receives.
#[derive(Debug)]
pub(super) struct FirstAndLast {
    ring: Vec<Entry>,
    first: Latency,
    last: Latency,
}

impl FirstAndLast {
    pub(super) fn new(precision: u8) -> Self {
        let latency = || Latency::new(precision);
        Self { ring: vec![Entry::default(); RING], first: latency(), last: latency() }
    }

    /// Notes that a message to this many receivers came to one of them.
    #[inline]
    pub(super) fn received(&mut self, message: &Message, receivers: u32, now_ns: u64) {
        let entry = &mut self.ring[message.number as usize % RING];
        if entry.message != message.number + 1 {
            *entry = Entry {
                message: message.number + 1,
                first_ns: now_ns,
                last_ns: now_ns,
                receivers: 0,
            };
        }
        // Caches report the past: when the invalidation had come that made them read.
        entry.first_ns = entry.first_ns.min(now_ns);
        entry.last_ns = entry.last_ns.max(now_ns);
        entry.receivers += 1;
        if entry.receivers == receivers {
            self.first.record_n(entry.first_ns.saturating_sub(message.due_ns), 1);
            self.last.record_n(entry.last_ns.saturating_sub(message.due_ns), 1);
        }
    }

    /// Latencies from the due time to the first receiver, and to the last.
    pub(super) fn latencies(self) -> (Latency, Latency) {
        (self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Purpose;

    fn message(number: u64) -> Message {
        Message { purpose: Purpose::Measured, run: 0, sender: 0, number, due_ns: 100, sent_ns: 0 }
    }

    #[test]
    fn first_and_last_are_of_messages_that_reached_all() {
        let mut spread = FirstAndLast::new(3);
        for (number, now_ns) in [(1, 110), (2, 115), (1, 120), (1, 150), (2, 160)] {
            spread.received(&message(number), 3, now_ns);
        }
        let (first, last) = spread.latencies();
        assert_eq!((first.count(), last.count()), (1, 1));
        assert_eq!((first.max_ns(), last.max_ns()), (Some(10), Some(50)));
    }

    #[test]
    fn receivers_may_report_in_any_order() {
        let mut spread = FirstAndLast::new(3);
        for now_ns in [120, 150, 110] {
            spread.received(&message(1), 3, now_ns);
        }
        let (first, last) = spread.latencies();
        assert_eq!((first.max_ns(), last.max_ns()), (Some(10), Some(50)));
    }

    #[test]
    fn a_message_that_needs_a_place_takes_it() {
        let mut spread = FirstAndLast::new(3);
        spread.received(&message(7), 2, 110);
        spread.received(&message(7 + RING as u64), 2, 120);
        spread.received(&message(7 + RING as u64), 2, 130);
        let (first, last) = spread.latencies();
        assert_eq!((first.max_ns(), last.max_ns()), (Some(20), Some(30)));
    }
}
