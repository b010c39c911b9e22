//! Formats of one line for each event: line ends, and lines that are too long.

use memchr::memchr2;

use crate::{Decode, Decoded, Event, Fault, Loss};

/// Longest line that is kept.
const LINE_BYTES_MAX: usize = 32 << 20;

/// Kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// An event.
    Event,
    /// Nothing of interest.
    Other,
    /// A malformed line.
    Unreadable,
    /// A note that this many events were dropped before they were recorded.
    Dropped(u64),
}

/// Parses a line without its line end into an event.
pub(super) trait ParseLine: Send {
    fn line(&mut self, line: &[u8], event: &mut Event) -> LineKind;
}

/// A decoder of lines that end in LF, CR or both.
#[derive(Debug, Default)]
pub(super) struct Lines<P> {
    parser: P,
    /// Set inside a line that is too long.
    is_in_long_line: bool,
    /// Set if the last line ended in CR.
    is_after_cr: bool,
}

impl<P: ParseLine> Lines<P> {
    pub(super) fn new(parser: P) -> Self {
        Self { parser, is_in_long_line: false, is_after_cr: false }
    }
}

impl<P: ParseLine> Decode for Lines<P> {
    fn decode(&mut self, input: &[u8], is_end: bool, event: &mut Event) -> Result<Decoded, Fault> {
        let (length, consumed) = match memchr2(b'\n', b'\r', input) {
            Some(length) => (length, length as u64 + 1),
            None if input.is_empty() => return Ok(Decoded::More),
            None if self.is_in_long_line => return Ok(Decoded::Progress(input.len() as u64)),
            None if input.len() > LINE_BYTES_MAX => {
                self.is_in_long_line = true;
                return Ok(Decoded::Lost(input.len() as u64, Loss::TooLong));
            }
            // A last line without its end may be cut, or whole.
            None if is_end => (input.len(), input.len() as u64),
            None => return Ok(Decoded::More),
        };
        if std::mem::take(&mut self.is_in_long_line) {
            return Ok(Decoded::Progress(consumed));
        }
        if length > LINE_BYTES_MAX {
            return Ok(Decoded::Lost(consumed, Loss::TooLong));
        }
        // The LF of a line end of two characters is no line.
        let is_after_cr =
            std::mem::replace(&mut self.is_after_cr, input.get(length) == Some(&b'\r'));
        if is_after_cr && length == 0 && input[0] == b'\n' {
            return Ok(Decoded::Progress(consumed));
        }
        if input[..length].trim_ascii().is_empty() {
            return Ok(Decoded::Ignored(consumed));
        }
        let has_end = consumed > length as u64;
        Ok(match self.parser.line(&input[..length], event) {
            LineKind::Event => Decoded::Event(consumed),
            LineKind::Other => Decoded::Ignored(consumed),
            LineKind::Dropped(events) => Decoded::Lost(consumed, Loss::Dropped(events)),
            LineKind::Unreadable if has_end => Decoded::Lost(consumed, Loss::Unreadable),
            LineKind::Unreadable => Decoded::Lost(consumed, Loss::Cut),
        })
    }
}

/// The first non-blank lines of a file, without one that may be cut.
pub(super) fn first_lines<'h>(head: &super::Head<'h>) -> impl Iterator<Item = &'h [u8]> {
    const LINES_RECOGNIZED: usize = 64;
    let whole = if head.is_whole {
        head.bytes.len()
    } else {
        head.bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.bytes.len())
    };
    let lines = head.bytes[..whole].split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.filter(|line| !line.trim_ascii().is_empty()).take(LINES_RECOGNIZED)
}

/// A decimal number of at most 18 digits.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}
