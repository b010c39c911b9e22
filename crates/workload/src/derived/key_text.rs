//! The number of a key in decimal, as other tools write it: without zeros before it or with some, and
//! hashed or as it is.

use std::fmt;
use std::str::FromStr;

use crate::hashes;

/// How the number of a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyText {
    /// Whether it is hashed first, by [`hashes::fnv`].
    pub hashed: bool,
    /// Digits that it has at least, from 1: zeros come before it.
    pub width: u8,
}

impl KeyText {
    /// The number of a key, written.
    #[inline]
    #[must_use]
    pub fn digits(self, number: u64) -> Digits {
        Digits::of(if self.hashed { hashes::fnv(number) } else { number }, self.width)
    }
}

impl fmt::Display for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hashed = if self.hashed { "fnv," } else { "" };
        write!(f, "{hashed}{}", self.width)
    }
}

impl FromStr for KeyText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let stripped = text.strip_prefix("fnv,");
        let width = stripped.unwrap_or(text).parse().ok().filter(|width| *width > 0);
        let width = width.ok_or_else(|| {
            format!("{text:?}: a key has from 1 to 255 digits; it is written 1 or fnv,1")
        })?;
        Ok(Self { hashed: stripped.is_some(), width })
    }
}

/// Decimal digits.
#[derive(Debug, Clone, Copy)]
pub struct Digits {
    text: [u8; 255],
    first: u8,
}

impl Digits {
    /// Of a number, at least so many.
    #[inline]
    pub(super) fn of(number: u64, width: u8) -> Self {
        let mut text = [b'0'; 255];
        let (mut at, mut rest) = (text.len(), number);
        loop {
            at -= 1;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let first = at.min(text.len() - usize::from(width.max(1)));
        Self { text, first: first as u8 }
    }

    /// The digits.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[usize::from(self.first)..]
    }
}
