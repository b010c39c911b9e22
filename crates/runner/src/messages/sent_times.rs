//! Due and sending times of messages whose payload has room for a number only.
//!
//! Senders write and receivers read a ring by message number; neither waits for the other. A slot that is
//! overwritten or being written is unknown: a receiver never gets the times of another message.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use workload::{Message, Stop};

/// Maximum number of messages whose times are kept: 32 MiB.
pub(crate) const RING_MAX: u64 = 1 << 20;

/// The times of the last messages.
#[derive(Debug)]
pub(crate) struct SentTimes {
    ring: Box<[Entry]>,
}

/// The times of one message.
#[derive(Debug, Default)]
struct Entry {
    /// Message number plus 1; 0 while the other fields are written.
    number: AtomicU64,
    due_ns: AtomicU64,
    sent_ns: AtomicU64,
    sender: AtomicU32,
}

impl SentTimes {
    /// Creates the times for a run with this end.
    pub(crate) fn new(stop: &Stop) -> Self {
        let messages = match stop {
            Stop::Requests(count) => (*count).clamp(1, RING_MAX).next_power_of_two(),
            _ => RING_MAX,
        };
        Self { ring: (0..messages).map(|_| Entry::default()).collect() }
    }

    fn entry(&self, number: u64) -> &Entry {
        &self.ring[(number % self.ring.len() as u64) as usize]
    }

    /// Notes the times of a message.
    #[inline]
    pub(crate) fn note(&self, message: &Message) {
        let entry = self.entry(message.number);
        entry.number.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        entry.due_ns.store(message.due_ns, Ordering::Relaxed);
        entry.sent_ns.store(message.sent_ns, Ordering::Relaxed);
        entry.sender.store(message.sender, Ordering::Relaxed);
        entry.number.store(message.number + 1, Ordering::Release);
    }

    /// Adds its times and sender to a message; `None` if they are no longer kept.
    #[inline]
    pub(crate) fn complete(&self, message: Message) -> Option<Message> {
        let entry = self.entry(message.number);
        let number = message.number + 1;
        if entry.number.load(Ordering::Acquire) != number {
            return None;
        }
        let due_ns = entry.due_ns.load(Ordering::Relaxed);
        let sent_ns = entry.sent_ns.load(Ordering::Relaxed);
        let sender = entry.sender.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        (entry.number.load(Ordering::Relaxed) == number).then_some(Message {
            due_ns,
            sent_ns,
            sender,
            ..message
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Purpose;

    fn message(number: u64) -> Message {
        let (due_ns, sent_ns) = (number * 10, number * 10 + 1);
        Message {
            purpose: Purpose::Measured,
            run: 7,
            sender: number as u32 + 3,
            number,
            due_ns,
            sent_ns,
        }
    }

    fn bare(number: u64) -> Message {
        Message { sender: 0, due_ns: 0, sent_ns: 0, ..message(number) }
    }

    #[test]
    fn the_last_messages_have_their_times_and_no_other_has() {
        let times = SentTimes::new(&Stop::Requests(100));
        assert_eq!(times.complete(bare(5)), None);
        (0..200).for_each(|number| times.note(&message(number)));
        // The next power of two is kept.
        for number in 0..200 {
            let expected = (number >= 200 - 128).then(|| message(number));
            assert_eq!(times.complete(bare(number)), expected);
        }
    }

    #[test]
    fn times_are_those_of_one_message_while_others_are_written() {
        let times = SentTimes::new(&Stop::Requests(1));
        std::thread::scope(|scope| {
            scope.spawn(|| (0..200_000).for_each(|number| times.note(&message(number))));
            for number in 0..200_000 {
                let had = times.complete(bare(number));
                assert!(had.is_none_or(|had| had == message(number)), "{had:?}");
            }
        });
    }
}
