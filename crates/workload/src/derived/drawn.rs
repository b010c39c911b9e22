//! A number between two, drawn for each request.

use std::fmt;
use std::str::FromStr;

use super::key_text::{Digits, LETTERS};
use crate::keys::Zipfian;
use crate::random;

/// A number from `least` to `most`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DrawnNumber {
    /// The least.
    pub least: u32,
    /// The greatest.
    pub most: u32,
    /// Whether small ones are likelier, as YCSB draws the lengths of scans; otherwise all are as likely.
    pub zipf: bool,
    /// Draws of one stream are the same throughout a request.
    pub stream: u8,
    /// Digits and letters that it is written in, at least; 0 for decimal digits, as many as it has.
    pub letters: u8,
}

/// Where the streams of these begin, after those of keys, sizes, values and lifetimes.
const STREAM: u64 = 14 << 56;

impl DrawnNumber {
    /// That of request number `request`.
    #[inline]
    #[must_use]
    pub fn of(self, seed: u64, request: u64) -> u64 {
        let stream = STREAM.wrapping_add(u64::from(self.stream) << 48);
        let bits = random::draw(seed.wrapping_add(stream), request);
        let span = u64::from(self.most - self.least);
        let above = match self.zipf {
            true => Zipfian::of_ycsb(span + 1).rank(1.0 - random::unit(bits)).min(span),
            false => random::within(bits, span + 1),
        };
        u64::from(self.least) + above
    }

    /// The same, written.
    #[inline]
    #[must_use]
    pub fn digits(self, seed: u64, request: u64) -> Digits {
        let number = self.of(seed, request);
        match self.letters {
            0 => Digits::of(number, 1),
            width => Digits::with_letters(number, width),
        }
    }
}

impl fmt::Display for DrawnNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most, zipf, stream, letters } = self;
        write!(f, "{least}..{most}")?;
        if *letters > 0 {
            write!(f, ",{LETTERS}{letters}")?;
        }
        if *zipf {
            f.write_str(",zipf")?;
        }
        if *stream > 0 {
            write!(f, ",{stream}")?;
        }
        Ok(())
    }
}

impl FromStr for DrawnNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || {
            format!(
                "{text:?} is not a range to draw from; expected 1..100, 1..100,zipf, \
                 1..100,alnum8 or 1..100,2"
            )
        };
        let mut words = text.split(',');
        let (least, most) =
            words.next().and_then(|range| range.split_once("..")).ok_or_else(fault)?;
        let number = |word: &str| word.parse::<u32>().map_err(|_| fault());
        let (least, most) = (number(least)?, number(most)?);
        let mut drawn = Self { least, most, zipf: false, stream: 0, letters: 0 };
        for word in words {
            match (word.parse(), word.strip_prefix(LETTERS)) {
                (Ok(stream), _) => drawn.stream = stream,
                (Err(_), Some(width)) => drawn.letters = width.parse().map_err(|_| fault())?,
                (Err(_), None) if word == "zipf" => drawn.zipf = true,
                (Err(_), None) => return Err(fault()),
            }
        }
        if least <= most { Ok(drawn) } else { Err(fault()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_drawn_apart_and_ends_are_included() {
        let drawn = |text: &str| -> Vec<u64> {
            let drawn: DrawnNumber = text.parse().unwrap();
            assert_eq!(drawn.to_string(), text);
            (0..1000).map(|request| drawn.of(3, request)).collect()
        };
        let (first, second) = (drawn("0..9"), drawn("0..9,1"));
        assert_ne!(first, second);
        assert_eq!((first.iter().min(), first.iter().max()), (Some(&0), Some(&9)));
        let zipf = drawn("1..100,zipf");
        let ones = zipf.iter().filter(|n| **n == 1).count();
        // A share of 0.191.
        assert!((150..235).contains(&ones), "{ones}");
        assert!(zipf.iter().all(|n| (1..=100).contains(n)));
        assert!(drawn("7..7").iter().all(|n| *n == 7));
    }
}
