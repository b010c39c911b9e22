//! Parts of a reply that a receiver keeps while it is decoded: its first string, and the messages at the ends
//! of strings.

use wire::ReplyVisitor;
use workload::{Message, message};

/// Bytes kept of the first string; no push has a longer name.
const FIRST_MAX: usize = 16;
/// Digits at the end of a place's name.
const PLACE_DIGITS: usize = 12;
/// Bytes kept at the end of a string: a message and the number of a place before it.
const END_MAX: usize = message::BYTES + PLACE_DIGITS + 1;

/// Parts of a reply that are kept beside messages, for kinds that need them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capture {
    /// Length of place names, if the string before a message names its place.
    pub(crate) place_len: Option<usize>,
    /// Set to keep the IDs of stream entries, which come before their messages.
    pub(crate) entry_ids: bool,
    /// The last string as a whole.
    pub(crate) payload: bool,
    /// Set to keep all named places.
    pub(crate) places: bool,
    /// Set if the place of each message comes before it in the same string.
    pub(crate) in_place: bool,
    /// Set if payloads end in a bare message number.
    pub(crate) numbers: bool,
}

/// The ID of a stream entry: milliseconds and a sequence number.
pub(crate) type EntryId = (u64, u64);

/// A message in a reply, with its place and entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeliveredMessage {
    pub(crate) message: Message,
    /// Place of the message, if the reply names it.
    pub(crate) place: Option<u32>,
    /// Stream entry of the message, if it is in one.
    pub(crate) entry: Option<EntryId>,
}

/// The strings of a reply, as far as a receiver needs them. Bytes may come in any pieces.
#[derive(Debug, Clone)]
pub(crate) struct ReplyStrings {
    capture: Capture,
    /// Number of strings begun.
    strings: u32,
    first: [u8; FIRST_MAX],
    first_len: usize,
    has_numbers: bool,
    /// Numbers below 0.
    negatives: u32,
    has_nulls: bool,
    /// Length of the current string, and the bytes of it so far.
    len: u64,
    passed: u64,
    /// Last bytes so far of the current string.
    end: [u8; END_MAX],
    place: Option<u32>,
    entry: Option<EntryId>,
    entries: Vec<(Option<u32>, EntryId)>,
    messages: Vec<DeliveredMessage>,
    places: Vec<u32>,
    payload: Vec<u8>,
}

impl Default for ReplyStrings {
    fn default() -> Self {
        Self::new(Capture::default())
    }
}

impl ReplyStrings {
    pub(crate) fn new(capture: Capture) -> Self {
        Self {
            capture,
            strings: 0,
            first: [0; FIRST_MAX],
            first_len: 0,
            has_numbers: false,
            negatives: 0,
            has_nulls: false,
            len: 0,
            passed: 0,
            end: [0; END_MAX],
            place: None,
            entry: None,
            entries: Vec::new(),
            messages: Vec::new(),
            places: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Returns the beginning of the first string; empty if there was none.
    #[inline]
    pub(crate) fn first(&self) -> &[u8] {
        &self.first[..self.first_len]
    }

    /// Returns the number of strings, including nulls in their place.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.strings
    }

    /// Returns whether there was a null among the strings.
    #[inline]
    pub(crate) fn has_nulls(&self) -> bool {
        self.has_nulls
    }

    /// Returns the places that the strings name, if they are captured.
    #[inline]
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Returns whether there was a number in the reply.
    #[inline]
    pub(crate) fn has_numbers(&self) -> bool {
        self.has_numbers
    }

    /// Returns the number of negative numbers.
    #[inline]
    pub(crate) fn negatives(&self) -> u32 {
        self.negatives
    }

    /// Returns the messages at the ends of its strings, in order.
    #[inline]
    pub(crate) fn messages(&self) -> &[DeliveredMessage] {
        &self.messages
    }

    /// Returns the messages, to be completed.
    pub(crate) fn messages_mut(&mut self) -> impl Iterator<Item = &mut Message> {
        self.messages.iter_mut().map(|delivered| &mut delivered.message)
    }

    /// Returns the captured stream entries, each with its place if named.
    #[inline]
    pub(crate) fn entries(&self) -> &[(Option<u32>, EntryId)] {
        &self.entries
    }

    /// Returns the last string, if it is captured.
    #[inline]
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Makes ready for the next reply.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.strings, self.first_len, self.len, self.passed) = (0, 0, 0, 0);
        (self.place, self.entry) = (None, None);
        (self.has_numbers, self.negatives, self.has_nulls) = (false, 0, false);
        self.places.clear();
        self.entries.clear();
        self.messages.clear();
    }

    /// Parses the end of a completed string.
    #[inline]
    fn string_ended(&mut self) {
        let len = self.len as usize;
        let kept = &self.end[..len.min(END_MAX)];
        let found = if self.capture.numbers {
            kept.split_last_chunk().map(|(before, end)| (before, Message::from_number(end)))
        } else {
            kept.split_last_chunk().map(|(before, end)| (before, Message::from_bytes(end)))
        };
        if let Some((before, Some(message))) = found {
            let place = if self.capture.in_place { number_of_place(before) } else { self.place };
            self.messages.push(DeliveredMessage { message, place, entry: self.entry });
            return;
        }
        if self.capture.place_len == Some(len) {
            let place = number_of_place(kept);
            self.place = place.or(self.place);
            self.places.extend(place.filter(|_| self.capture.places));
        } else if self.capture.entry_ids
            && len <= END_MAX
            && let Some(entry) = entry_id(kept)
        {
            self.entry = Some(entry);
            self.entries.push((self.place, entry));
        }
    }
}

/// Returns the place number in a name with this end, which may be a hash tag.
fn number_of_place(end: &[u8]) -> Option<u32> {
    let end = end.strip_suffix(b"}").unwrap_or(end);
    let digits = &end[end.len().saturating_sub(PLACE_DIGITS)..];
    decimal(digits).and_then(|place| u32::try_from(place).ok())
}

/// A number in decimal digits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

fn entry_id(text: &[u8]) -> Option<EntryId> {
    let dash = text.iter().position(|byte| *byte == b'-')?;
    decimal(&text[..dash]).zip(decimal(&text[dash + 1..]))
}

impl ReplyVisitor for ReplyStrings {
    const PUSHES: bool = true;

    #[inline]
    fn line(&mut self, text: &[u8]) {
        self.has_numbers = true;
        self.negatives += u32::from(text.first() == Some(&b'-'));
    }

    #[inline]
    fn begin(&mut self, len: Option<u64>) {
        self.strings += 1;
        self.has_nulls |= len.is_none();
        (self.len, self.passed) = (len.unwrap_or(0), 0);
        if self.capture.payload {
            self.payload.clear();
        }
    }

    #[inline]
    fn bytes(&mut self, part: &[u8]) {
        if self.strings == 1 {
            let room = (FIRST_MAX - self.first_len).min(part.len());
            self.first[self.first_len..self.first_len + room].copy_from_slice(&part[..room]);
            self.first_len += room;
        }
        if self.capture.payload {
            self.payload.extend_from_slice(part);
        }
        let from = self.len.saturating_sub(END_MAX as u64);
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
        if end == self.len && !part.is_empty() {
            self.string_ended();
        }
    }
}

/// The first number in a reply.
#[derive(Debug, Default)]
pub(super) struct FirstNumber(pub(super) Option<u64>);

impl ReplyVisitor for FirstNumber {
    fn line(&mut self, text: &[u8]) {
        if self.0.is_none() {
            self.0 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        }
    }

    fn begin(&mut self, _len: Option<u64>) {}

    fn bytes(&mut self, _part: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Purpose;

    const MESSAGE: Message =
        Message { purpose: Purpose::Measured, run: 1, sender: 2, number: 3, due_ns: 4, sent_ns: 5 };

    fn show(strings: &mut ReplyStrings, all: &[&[u8]]) {
        for string in all {
            strings.begin(Some(string.len() as u64));
            strings.bytes(string);
        }
    }

    #[test]
    fn the_message_at_the_end_of_a_payload_is_found_in_any_pieces() {
        let delivered = DeliveredMessage { message: MESSAGE, place: None, entry: None };
        for filler in [0, 1, 31, 32, 100] {
            let mut payload = vec![b'x'; filler];
            payload.extend_from_slice(&MESSAGE.to_bytes());
            for at in 0..=payload.len() {
                let mut strings = ReplyStrings::default();
                show(&mut strings, &[b"message"]);
                strings.begin(Some(payload.len() as u64));
                strings.bytes(&payload[..at]);
                assert!(at == payload.len() || strings.messages().is_empty());
                strings.bytes(&payload[at..]);
                assert_eq!(strings.first(), b"message");
                assert_eq!(strings.messages(), [delivered]);
            }
        }
    }

    #[test]
    fn the_place_before_a_message_in_its_string_is_found_in_any_pieces() {
        let key = [&b"k:000000000042"[..], &MESSAGE.to_bytes()].concat();
        for at in 0..=key.len() {
            let capture = Capture { in_place: true, ..Capture::default() };
            let mut strings = ReplyStrings::new(capture);
            strings.begin(Some(key.len() as u64));
            strings.bytes(&key[..at]);
            strings.bytes(&key[at..]);
            let delivered = DeliveredMessage { message: MESSAGE, place: Some(42), entry: None };
            assert_eq!(strings.messages(), [delivered]);
        }
    }

    #[test]
    fn what_is_too_short_is_no_message() {
        let mut strings = ReplyStrings::default();
        show(&mut strings, &[b"abc"]);
        assert_eq!((strings.first(), strings.messages()), (&b"abc"[..], &[][..]));
        strings.clear();
        strings.begin(None);
        assert_eq!((strings.first(), strings.messages()), (&b""[..], &[][..]));
    }

    #[test]
    fn each_message_has_the_place_and_the_entry_that_stand_before_it() {
        let capture = Capture {
            place_len: Some(14),
            entry_ids: true,
            payload: true,
            places: true,
            ..Capture::default()
        };
        let mut strings = ReplyStrings::new(capture);
        let message = MESSAGE.to_bytes();
        let all: [&[u8]; 9] = [
            b"k:000000000007",
            b"17-3",
            b"m",
            &message,
            b"17-4",
            b"no message",
            b"k:000000000008",
            b"18446744073709551615-0",
            &message,
        ];
        show(&mut strings, &all);
        let had = strings.messages().iter().map(|d| (d.place, d.entry)).collect::<Vec<_>>();
        assert_eq!(had, [(Some(7), Some((17, 3))), (Some(8), Some((u64::MAX, 0)))]);
        assert_eq!((strings.places(), strings.has_nulls()), (&[7, 8][..], false));
        let entries = [(Some(7), (17, 3)), (Some(7), (17, 4)), (Some(8), (u64::MAX, 0))];
        assert_eq!((strings.entries(), strings.payload()), (&entries[..], &message[..]));
        strings.clear();
        assert!(strings.count() == 0 && strings.messages().is_empty());
    }
}
