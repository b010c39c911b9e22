//! Acknowledgement times of messages, for receivers that measure from them.
//!
//! Senders write and receivers read a ring of instants by message number; neither waits for the other.

use std::sync::atomic::{AtomicU64, Ordering};

use workload::MessageNumbers;

/// Number of messages whose instants are kept, a power of two: 8 MiB.
const RING: u64 = 1 << 20;

/// Bits of an instant; the bits above them hold the turn of the ring. Messages use as many for instants.
const INSTANT_BITS: u32 = 48;

/// The instants of the last messages.
#[derive(Debug)]
pub(crate) struct Acknowledgements {
    /// An instant for each slot; 0 for none.
    ring: Box<[AtomicU64]>,
    count: AtomicU64,
    numbers: MessageNumbers,
}

/// Acknowledgement of a message, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AckState {
    NotYet,
    /// At this time, in nanoseconds of the run's clock.
    At(u64),
    /// Too long ago: later messages have overwritten the time.
    LongAgo,
}

/// The turn of the ring that a message belongs to.
#[inline]
fn turn(number: u64) -> u16 {
    (number / RING) as u16
}

impl Acknowledgements {
    /// Creates an empty ring for messages with these numbers.
    pub(crate) fn new(numbers: MessageNumbers) -> Self {
        let ring = (0..RING).map(|_| AtomicU64::new(0)).collect();
        Self { ring, count: AtomicU64::new(0), numbers }
    }

    /// Notes that the message of this request was acknowledged at this time.
    #[inline]
    pub(crate) fn note(&self, request: u64, at_ns: u64) {
        let number = self.numbers.of_request(request);
        let instant = at_ns.clamp(1, (1 << INSTANT_BITS) - 1);
        let entry = u64::from(turn(number)) << INSTANT_BITS | instant;
        self.ring[(number % RING) as usize].store(entry, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of acknowledged messages.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns when a message was acknowledged.
    #[inline]
    pub(crate) fn state(&self, number: u64) -> AckState {
        let entry = self.ring[(number % RING) as usize].load(Ordering::Relaxed);
        let ahead = ((entry >> INSTANT_BITS) as u16).wrapping_sub(turn(number)) as i16;
        match ahead {
            _ if entry == 0 => AckState::NotYet,
            0 => AckState::At(entry & ((1 << INSTANT_BITS) - 1)),
            1.. => AckState::LongAgo,
            _ => AckState::NotYet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_messages_are_known() {
        let acknowledgements = Acknowledgements::new(MessageNumbers::default());
        assert_eq!(acknowledgements.state(0), AckState::NotYet);
        for turns in [0, 1, 2, 70_000] {
            let number = 7 + turns * RING;
            assert_eq!(acknowledgements.state(number), AckState::NotYet, "{turns}");
            acknowledgements.note(number, 500 + turns);
            assert_eq!(acknowledgements.state(number), AckState::At(500 + turns));
        }
        assert_eq!(acknowledgements.state(7 + 69_999 * RING), AckState::LongAgo);
        assert_eq!(acknowledgements.state(8 + 70_000 * RING), AckState::NotYet);
    }
}
