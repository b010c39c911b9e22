//! Lines of RESP, and the numbers in them.

use memchr::memchr;

use super::NAME;
use super::stranger::stranger;
use crate::ProtocolError;

/// Maximum number of elements of one reply still to come, and maximum length of a bulk string: far above what a
/// server allows, low enough that no sum overflows.
pub(super) const COUNT_MAX: u64 = 1 << 48;

/// An integer used as a count: 0 if it is negative.
#[inline]
pub(super) fn number(text: &[u8], line: &[u8]) -> Result<u32, ProtocolError> {
    let (counts, digits) = match text.split_first() {
        Some((b'-', digits)) => (false, digits),
        Some((b'+', digits)) => (true, digits),
        _ => (true, text),
    };
    let mut number = 0u32;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return Err(fault("an integer that is not a number", line));
        }
        number = number.saturating_mul(10).saturating_add(u32::from(digit));
    }
    if digits.is_empty() {
        Err(fault("an integer that is not a number", line))
    } else {
        Ok(if counts { number } else { 0 })
    }
}

/// The line at the start of `input` without its end, and the offset of the next.
#[inline]
pub(super) fn line(input: &[u8]) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    let Some(end) = memchr(b'\n', input) else {
        return if input.first().is_none_or(|b| b"+-:$*_,#!=(~%>|".contains(b)) {
            Ok(None)
        } else {
            Err(stranger(input))
        };
    };
    match input[..end].strip_suffix(b"\r") {
        Some(line) => Ok(Some((line, end + 1))),
        None => Err(fault("a line that does not end in CR LF", input)),
    }
}

/// A length or count; `None` for -1, the null of RESP2.
#[inline]
pub(super) fn length(digits: &[u8], line: &[u8]) -> Result<Option<u64>, ProtocolError> {
    if digits == b"-1" {
        return Ok(None);
    }
    if digits.is_empty() || digits.len() > 15 {
        return Err(fault("a length that is not a number", line));
    }
    let mut value = 0u64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return Err(fault("a length that is not a number", line));
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    if value > COUNT_MAX {
        return Err(fault("a length beyond any server's limit", line));
    }
    Ok(Some(value))
}

#[cold]
pub(super) fn fault(why: &'static str, bytes: &[u8]) -> ProtocolError {
    ProtocolError::new(NAME, why, bytes)
}
