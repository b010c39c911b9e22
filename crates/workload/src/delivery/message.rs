//! The payload of a message whose delivery is measured: its identity, due time and sending time.
//!
//! A message is the last [`BYTES`] of a payload, after any filler, so that its position is known in payloads
//! of any size. All numbers are big-endian. Instants are nanoseconds since the start of the run's clock.

/// Bytes of a message in its payload.
pub const BYTES: usize = 32;

/// Bytes of a payload with a bare message number; see [`Message::to_number`].
pub const NUMBER_BYTES: usize = 8;

/// Bits of the run in these.
const RUN_BITS: u32 = 16;

/// Largest number of a message in these.
const SHORT_NUMBER_MAX: u64 = (1 << 40) - 1;

/// First byte of every message.
const MAGIC: u8 = b'k';

/// Sender of a message that left after later ones of its sender, so that its order means nothing.
pub const OUT_OF_TURN: u32 = u32::MAX;

/// Largest message number, and latest instant: 78 hours after the clock began.
const NUMBER_MAX: u64 = (1 << 48) - 1;

/// Purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Tests whether its receivers are there.
    Probe,
    /// Warms up.
    Warmup,
    /// Is measured.
    Measured,
}

impl Purpose {}

/// Message whose delivery is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Purpose of the message.
    pub purpose: Purpose,
    /// Number of its run.
    pub run: u32,
    /// Number of the sending connection among all of the run.
    pub sender: u32,
    /// Number in the run; those of one sender rise. The upper 16 bits are left out.
    pub number: u64,
    /// Due time.
    pub due_ns: u64,
    /// Time at which its bytes were prepared.
    pub sent_ns: u64,
}

impl Message {
    /// Writes it as bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; BYTES] {
        let purpose = match self.purpose {
            Purpose::Probe => b'p',
            // Below what is measured: where messages are taken in their order, those of the warm-up come first.
            Purpose::Warmup => b'b',
            Purpose::Measured => b'm',
        };
        let (number, sender) = (self.number & NUMBER_MAX, u64::from(self.sender));
        let [due_ns, sent_ns] = [self.due_ns, self.sent_ns].map(|ns| ns.min(NUMBER_MAX));
        // Put together in registers: what is written in parts and read as a whole has to wait for the parts.
        let mut words = [
            u64::from(MAGIC) << 56
                | u64::from(purpose) << 48
                | u64::from(self.run) << 16
                | sender >> 16,
            sender << 48 | number,
            due_ns << 16 | sent_ns >> 32,
            sent_ns << 32,
        ];
        words[3] |= u64::from(check(words));
        let mut bytes = [0; BYTES];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Parses the bytes of a message; `None` if they are not one.
    #[inline]
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        let purpose = match bytes[1] {
            b'p' => Purpose::Probe,
            b'b' => Purpose::Warmup,
            b'm' => Purpose::Measured,
            _ => return None,
        };
        let (eights, _) = bytes.as_chunks::<8>();
        let [first, second, third, last] = [0, 1, 2, 3].map(|n| u64::from_be_bytes(eights[n]));
        let end = last & !u64::from(u32::MAX);
        if bytes[0] != MAGIC || last as u32 != check([first, second, third, end]) {
            return None;
        }
        Some(Self {
            purpose,
            run: (first >> 16) as u32,
            sender: (first << 16) as u32 | (second >> 48) as u32,
            number: second & NUMBER_MAX,
            due_ns: third >> 16,
            sent_ns: (third & 0xFFFF) << 32 | last >> 32,
        })
    }
}

impl Message {
    /// The run number, shortened to the room in [`to_number`](Self::to_number).
    pub fn short_run(run: u32) -> u32 {
        run & ((1 << RUN_BITS) - 1)
    }

    /// Writes its purpose, run ([16 bits](Self::short_run)) and number (40 bits), for payloads without room
    /// for more. Its times and sender must be known otherwise.
    #[inline]
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

    /// Parses these bytes; `None` if they are not a message's.
    #[inline]
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

/// A checksum of these words, of which the last lacks its low half.
#[inline]
fn check(words: [u64; 4]) -> u32 {
    /// Odd, so that each step maps different sums to different ones: the golden ratio.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = words
        .into_iter()
        .fold(FACTOR, |sum, word| (sum ^ word).wrapping_mul(FACTOR).rotate_left(23));
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
    fn what_warms_up_sorts_before_what_is_measured() {
        let bytes = |purpose, number| {
            Message { purpose, run: 7, sender: 1, number, due_ns: 1, sent_ns: 1 }.to_bytes()
        };
        assert!(bytes(Purpose::Warmup, NUMBER_MAX) < bytes(Purpose::Measured, 0));
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
