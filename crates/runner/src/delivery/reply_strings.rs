//! What a receiver keeps of a reply while it passes the decoder: its first string, and the end of its last.

use wire::ReplyVisitor;
use workload::{Message, message};

/// Bytes of the first string that are kept: no name of a push is longer.
const FIRST_MAX: usize = 16;

/// The strings of a reply, as far as a receiver asks for them. Bytes may come in any pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyStrings {
    /// Strings that have begun.
    strings: u32,
    first: [u8; FIRST_MAX],
    first_len: usize,
    /// Length of the string that is passing, and how much of it has passed.
    len: u64,
    passed: u64,
    /// The last bytes of that, as far as they have passed.
    end: [u8; message::BYTES],
}

impl ReplyStrings {
    /// The beginning of the first string; empty if there was none.
    #[inline]
    pub(crate) fn first(&self) -> &[u8] {
        &self.first[..self.first_len]
    }

    /// The message that the last string ends in; `None` if it does not.
    #[inline]
    pub(crate) fn message(&self) -> Option<Message> {
        let is_whole = self.len >= message::BYTES as u64 && self.passed == self.len;
        if is_whole { Message::from_bytes(&self.end) } else { None }
    }

    /// Makes ready for the next reply.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.strings, self.first_len, self.len, self.passed) = (0, 0, 0, 0);
    }
}

impl ReplyVisitor for ReplyStrings {
    const PUSHES: bool = true;

    #[inline]
    fn begin(&mut self, len: Option<u64>) {
        self.strings += 1;
        (self.len, self.passed) = (len.unwrap_or(0), 0);
    }

    #[inline]
    fn bytes(&mut self, part: &[u8]) {
        if self.strings == 1 {
            let room = (FIRST_MAX - self.first_len).min(part.len());
            self.first[self.first_len..self.first_len + room].copy_from_slice(&part[..room]);
            self.first_len += room;
        }
        let from = self.len.saturating_sub(message::BYTES as u64);
        let (start, end) = (self.passed, self.passed + part.len() as u64);
        self.passed = end;
        if end <= from {
            return;
        }
        let skipped = from.saturating_sub(start) as usize;
        let part = &part[skipped..];
        let at = (start.max(from) - from) as usize;
        if let Some(kept) = self.end.get_mut(at..at + part.len()) {
            kept.copy_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Purpose;

    #[test]
    fn the_message_at_the_end_of_a_payload_is_found_in_any_pieces() {
        let message = Message {
            purpose: Purpose::Measured,
            run: 1,
            sender: 2,
            number: 3,
            due_ns: 4,
            sent_ns: 5,
        };
        for filler in [0, 1, 31, 32, 100] {
            let mut payload = vec![b'x'; filler];
            payload.extend_from_slice(&message.to_bytes());
            for at in 0..=payload.len() {
                let mut strings = ReplyStrings::default();
                strings.begin(Some(7));
                strings.bytes(b"message");
                strings.begin(Some(payload.len() as u64));
                strings.bytes(&payload[..at]);
                assert!(at == payload.len() || strings.message().is_none());
                strings.bytes(&payload[at..]);
                assert_eq!((strings.first(), strings.message()), (&b"message"[..], Some(message)));
            }
        }
    }

    #[test]
    fn what_is_too_short_is_no_message() {
        let mut strings = ReplyStrings::default();
        strings.begin(Some(3));
        strings.bytes(b"abc");
        assert_eq!((strings.first(), strings.message()), (&b"abc"[..], None));
        strings.clear();
        strings.begin(None);
        assert_eq!((strings.first(), strings.message()), (&b""[..], None));
    }
}
