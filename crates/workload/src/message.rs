//! What stands in the payload of a message whose delivery is measured: which message it is, and when it was due
//! and sent.
//!
//! A message is the last [`BYTES`] of a payload, so that payloads of any size have it at a known place: what
//! stands before it is filler. All numbers are big-endian. Instants are nanoseconds since the clock of the run
//! began.

use crate::hashes;

/// Bytes of a message in its payload.
pub const BYTES: usize = 32;

/// Bytes of a payload that has room for the number of its message only; see [`Message::to_number`].
pub const NUMBER_BYTES: usize = 8;

/// Bits of the run in these.
const RUN_BITS: u32 = 16;

/// Largest number of a message in these.
const SHORT_NUMBER_MAX: u64 = (1 << 40) - 1;

/// What every message begins with.
const MAGIC: u8 = b'k';

/// Largest number of a message, and latest instant: 78 hours after the clock began.
const NUMBER_MAX: u64 = (1 << 48) - 1;

/// What a message is sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To find out whether its receivers are there.
    Probe,
    /// To warm up.
    Warmup,
    /// To be measured.
    Measured,
}

impl Purpose {
    /// Of a message that load runs with.
    #[must_use]
    pub fn of_measured(measured: bool) -> Self {
        if measured { Self::Measured } else { Self::Warmup }
    }
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// What it is sent for.
    pub purpose: Purpose,
    /// Which run it is of.
    pub run: u32,
    /// The connection that sends it, by its number among all of the run.
    pub sender: u32,
    /// Its number in the run; those of one sender rise. The upper 16 bits are left out.
    pub number: u64,
    /// When it was due.
    pub due_ns: u64,
    /// When it was put together to be sent.
    pub sent_ns: u64,
}

impl Message {
    /// Its bytes.
    #[inline]
    #[must_use]
    pub fn to_bytes(self) -> [u8; BYTES] {
        let purpose = match self.purpose {
            Purpose::Probe => b'p',
            Purpose::Warmup => b'w',
            Purpose::Measured => b'm',
        };
        let mut bytes = [0; BYTES];
        (bytes[0], bytes[1]) = (MAGIC, purpose);
        bytes[2..6].copy_from_slice(&self.run.to_be_bytes());
        bytes[6..10].copy_from_slice(&self.sender.to_be_bytes());
        let numbers = [self.number & NUMBER_MAX, self.due_ns, self.sent_ns];
        for (at, number) in [10, 16, 22].into_iter().zip(numbers) {
            bytes[at..at + 6].copy_from_slice(&number.min(NUMBER_MAX).to_be_bytes()[2..]);
        }
        let check = check(&bytes);
        bytes[28..].copy_from_slice(&check.to_be_bytes());
        bytes
    }

    /// Reads the bytes of a message; `None` if they are not those of one.
    #[inline]
    #[must_use]
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        let purpose = match bytes[1] {
            b'p' => Purpose::Probe,
            b'w' => Purpose::Warmup,
            b'm' => Purpose::Measured,
            _ => return None,
        };
        let four = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if bytes[0] != MAGIC || u32::from_be_bytes(four(28)) != check(bytes) {
            return None;
        }
        let six = |at: usize| {
            let mut eight = [0; 8];
            eight[2..].copy_from_slice(&bytes[at..at + 6]);
            u64::from_be_bytes(eight)
        };
        Some(Self {
            purpose,
            run: u32::from_be_bytes(four(2)),
            sender: u32::from_be_bytes(four(6)),
            number: six(10),
            due_ns: six(16),
            sent_ns: six(22),
        })
    }
}

impl Message {
    /// The number of its run as far as [`to_number`](Self::to_number) has room for it.
    #[must_use]
    pub fn short_run(run: u32) -> u32 {
        run & ((1 << RUN_BITS) - 1)
    }

    /// Its purpose, run ([16 bits](Self::short_run)) and number (40 bits), for payloads with no room for more. When it
    /// was due and sent, and by whom, must be known otherwise.
    #[inline]
    #[must_use]
    pub fn to_number(self) -> [u8; NUMBER_BYTES] {
        let purpose = match self.purpose {
            Purpose::Probe => b'P',
            Purpose::Warmup => b'W',
            Purpose::Measured => b'M',
        };
        let run = u64::from(Self::short_run(self.run));
        let text = u64::from(purpose) << 56 | run << 40 | self.number & SHORT_NUMBER_MAX;
        text.to_be_bytes()
    }

    /// Reads these bytes; `None` if they are not those of a message.
    #[inline]
    #[must_use]
    pub fn from_number(bytes: &[u8; NUMBER_BYTES]) -> Option<Self> {
        let purpose = match bytes[0] {
            b'P' => Purpose::Probe,
            b'W' => Purpose::Warmup,
            b'M' => Purpose::Measured,
            _ => return None,
        };
        let text = u64::from_be_bytes(*bytes);
        let run = Self::short_run((text >> 40) as u32);
        let number = text & SHORT_NUMBER_MAX;
        Some(Self { purpose, run, sender: 0, number, due_ns: 0, sent_ns: 0 })
    }
}

/// A check sum of what stands before it.
#[inline]
fn check(bytes: &[u8; BYTES]) -> u32 {
    let words = bytes[..28].chunks_exact(4);
    let mixed = words.fold(0x9E37_79B9_7F4A_7C15_u64, |sum, word| {
        let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        (sum ^ u64::from(word)).wrapping_mul(hashes::FNV_PRIME).rotate_left(23)
    });
    (mixed ^ mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_message_comes_back_as_it_was_sent(
            run: u32,
            sender: u32,
            number in 0..=NUMBER_MAX,
            due_ns in 0..=NUMBER_MAX,
            sent_ns in 0..=NUMBER_MAX,
            purpose in prop::sample::select(vec![Purpose::Probe, Purpose::Warmup, Purpose::Measured]),
        ) {
            let message = Message { purpose, run, sender, number, due_ns, sent_ns };
            prop_assert_eq!(Message::from_bytes(&message.to_bytes()), Some(message));
        }

        #[test]
        fn a_message_with_a_flipped_bit_is_none(number in 0..=NUMBER_MAX, bit in 0usize..8 * BYTES) {
            let message = Message {
                purpose: Purpose::Measured,
                run: 7,
                sender: 3,
                number,
                due_ns: 1_000_000,
                sent_ns: 1_000_100,
            };
            let mut bytes = message.to_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Message::from_bytes(&bytes), None);
        }
    }

    #[test]
    fn a_number_comes_back_with_its_run_and_purpose() {
        for purpose in [Purpose::Probe, Purpose::Warmup, Purpose::Measured] {
            for number in [0, 1, SHORT_NUMBER_MAX] {
                let run = Message::short_run(0xABCD_1234);
                let message = Message { purpose, run, sender: 0, number, due_ns: 0, sent_ns: 0 };
                assert_eq!(Message::from_number(&message.to_number()), Some(message));
            }
        }
        assert_eq!(Message::from_number(b"xxxxxxxx"), None);
    }

    #[test]
    fn what_does_not_fit_is_cut_and_not_mixed_up() {
        let message = Message {
            purpose: Purpose::Warmup,
            run: 1,
            sender: 2,
            number: u64::MAX,
            due_ns: u64::MAX,
            sent_ns: 5,
        };
        let read = Message::from_bytes(&message.to_bytes()).unwrap();
        assert_eq!((read.number, read.due_ns, read.sent_ns), (NUMBER_MAX, NUMBER_MAX, 5));
    }
}
