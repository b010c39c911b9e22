//! Bytes of an argument as hexadecimal digits, `__hex:00ff__`: those that are no text, and text that would be read as
//! a placeholder.

use crate::argument::next_named;
use crate::{Arg, Piece};

/// Beginning of what stands for bytes.
pub const BYTES_PLACEHOLDER: &str = "__hex:";

/// Bytes in a word, where nothing in them is a placeholder.
pub fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(BYTES_PLACEHOLDER.to_owned(), |text, byte| text + &format!("{byte:02x}"))
        + "__"
}

impl Arg {
    /// Replaces every `__hex:DIGITS__` by the bytes. Without pairs of such digits it is a text.
    pub fn with_bytes(mut self) -> Self {
        for piece in &mut self.pieces {
            if let Piece::Bytes(bytes) = piece {
                *bytes = unescaped(std::mem::take(bytes));
            }
        }
        self
    }
}

fn unescaped(mut rest: Vec<u8>) -> Vec<u8> {
    let (open, mut out) = (BYTES_PLACEHOLDER.as_bytes(), Vec::new());
    while let Some((before, digits, after)) = next_named(&rest, open) {
        out.extend(before);
        out.extend(read(&digits).unwrap_or_else(|| [open, &digits, b"__"].concat()));
        rest = after;
    }
    out.extend(rest);
    out
}

fn read(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_were_written_and_other_text_stays() {
        let word = format!("k:{}{}!__hex:7__ __hex:xy__", escaped(b"__key__"), escaped(&[0, 255]));
        assert!(word.starts_with("k:__hex:5f5f6b65795f5f____hex:00ff__!"), "{word}");
        let read = Arg::literal(word.as_bytes()).with_numbers().with_bytes();
        assert_eq!(read, Arg::literal(b"k:__key__\0\xff!__hex:7__ __hex:xy__"));
    }
}
