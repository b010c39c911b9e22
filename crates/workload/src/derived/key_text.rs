//! The number of a key in other tools' forms: padded or not, hashed or plain, in decimal or in digits and
//! letters.

use std::fmt;
use std::str::FromStr;

use crate::hashes;

/// Form of a key's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyText {
    /// Set if it is hashed first, by [`hashes::fnv`].
    pub hashed: bool,
    /// Set if letters are digits too, 62 in all.
    pub letters: bool,
    /// Minimum width, from 1; zeros fill it.
    pub width: u8,
}

/// Word before the width if letters are digits too.
pub(super) const LETTERS: &str = "alnum";

impl KeyText {
    /// The number of a key, written.
    #[inline]
    pub fn digits(self, number: u64) -> Digits {
        let number = if self.hashed { hashes::fnv(number) } else { number };
        if self.letters {
            Digits::with_letters(number, self.width)
        } else {
            Digits::new(number, self.width)
        }
    }
}

impl fmt::Display for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hashed = if self.hashed { "fnv," } else { "" };
        let letters = if self.letters { LETTERS } else { "" };
        write!(f, "{hashed}{letters}{}", self.width)
    }
}

impl FromStr for KeyText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let stripped = text.strip_prefix("fnv,");
        let number = stripped.unwrap_or(text);
        let lettered = number.strip_prefix(LETTERS);
        let width = lettered.unwrap_or(number).parse().ok().filter(|width| *width > 0);
        let width = width.ok_or_else(|| {
            format!("{text:?}: a key has 1 to 255 digits; expected 1, fnv,1 or {LETTERS}1")
        })?;
        Ok(Self { hashed: stripped.is_some(), letters: lettered.is_some(), width })
    }
}

/// The digits of a number.
#[derive(Debug, Clone, Copy)]
pub struct Digits {
    text: [u8; 255],
    first: u8,
}

impl Digits {
    /// Writes a number in decimal, with at least `width` digits.
    #[inline]
    pub(super) fn new(number: u64, width: u8) -> Self {
        Self::to_base(b"0123456789", number, width)
    }

    /// Writes a number in digits and letters, with at least `width` of them.
    #[inline]
    pub(super) fn with_letters(number: u64, width: u8) -> Self {
        let all = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        Self::to_base(all, number, width)
    }

    #[inline(always)]
    fn to_base<const N: usize>(digits: &[u8; N], number: u64, width: u8) -> Self {
        let mut text = [b'0'; 255];
        let (mut at, mut rest) = (text.len(), number);
        loop {
            at -= 1;
            text[at] = digits[(rest % N as u64) as usize];
            rest /= N as u64;
            if rest == 0 {
                break;
            }
        }
        let first = at.min(text.len() - usize::from(width.max(1)));
        Self { text, first: first as u8 }
    }

    /// The digits.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[usize::from(self.first)..]
    }
}
