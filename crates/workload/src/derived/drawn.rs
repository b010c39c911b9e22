//! A number from a range, drawn for each request.

use std::fmt;
use std::str::FromStr;

use super::key_text::{Digits, LETTERS};
use crate::keys::{self, Zipfian};
use crate::random;

/// A number from `least` to `most`, both included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct DrawnNumber {
    /// The least.
    pub least: u32,
    /// The greatest.
    pub most: u32,
    /// Skew of the numbers.
    pub skew: Skew,
    /// Number of the random stream; draws of one stream are equal throughout a request.
    pub stream: u8,
    /// Minimum width in digits and letters; 0 for unpadded decimal digits.
    pub letters: u8,
}

/// Likelier numbers of a range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Skew {
    /// None: all are equally likely.
    #[default]
    None,
    /// Small ones, by Zipf's law with exponent 0.99.
    Zipf,
    /// Small ones, by YCSB's approximation of Zipf's law.
    Ycsb,
}

/// Start of the random streams of drawn numbers, after those of keys, sizes, values and lifetimes.
const STREAM: u64 = 14 << 56;

impl DrawnNumber {
    /// Number of request `request`.
    #[inline]
    pub fn number(self, seed: u64, request: u64) -> u64 {
        let stream = STREAM.wrapping_add(u64::from(self.stream) << 48);
        let seed = seed.wrapping_add(stream);
        let bits = random::draw(seed, request);
        let span = u64::from(self.most - self.least);
        let above = match self.skew {
            Skew::None => random::within(bits, span + 1),
            Skew::Zipf => keys::zipf_rank(seed.into(), request, span + 1),
            Skew::Ycsb => Zipfian::of_ycsb(span + 1).rank(1.0 - random::unit(bits)).min(span),
        };
        u64::from(self.least) + above
    }

    /// Number of request `request`, written.
    #[inline]
    pub fn digits(self, seed: u64, request: u64) -> Digits {
        let number = self.number(seed, request);
        match self.letters {
            0 => Digits::new(number, 1),
            width => Digits::with_letters(number, width),
        }
    }
}

impl fmt::Display for DrawnNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most, skew, stream, letters } = self;
        write!(f, "{least}..{most}")?;
        if *letters > 0 {
            write!(f, ",{LETTERS}{letters}")?;
        }
        f.write_str(match skew {
            Skew::None => "",
            Skew::Zipf => ",zipf",
            Skew::Ycsb => ",ycsb",
        })?;
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
        let mut drawn = Self { least, most, ..Self::default() };
        for word in words {
            match (word.parse(), word.strip_prefix(LETTERS)) {
                (Ok(stream), _) => drawn.stream = stream,
                (Err(_), Some(width)) => drawn.letters = width.parse().map_err(|_| fault())?,
                (Err(_), None) if word == "zipf" => drawn.skew = Skew::Zipf,
                (Err(_), None) if word == "ycsb" => drawn.skew = Skew::Ycsb,
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
            (0..1000).map(|request| drawn.number(3, request)).collect()
        };
        let (first, second) = (drawn("0..9"), drawn("0..9,1"));
        assert_ne!(first, second);
        assert_eq!((first.iter().min(), first.iter().max()), (Some(&0), Some(&9)));
        let ycsb = drawn("1..100,ycsb");
        let ones = ycsb.iter().filter(|n| **n == 1).count();
        // A share of 0.191.
        assert!((150..235).contains(&ones), "{ones}");
        assert!(ycsb.iter().all(|n| (1..=100).contains(n)));
        assert!(drawn("7..7").iter().all(|n| *n == 7));
    }

    #[test]
    fn what_is_called_zipf_is_zipfs_law_and_what_is_called_ycsb_is_not() {
        let chi = |text: &str| {
            let drawn: DrawnNumber = text.parse().unwrap();
            let numbers = (0..200_000).map(|request| drawn.number(5, request) - 1);
            random::chi_square(numbers, 100, |rank| (rank as f64 + 1.0).powf(-0.99))
        };
        // Of 99 degrees of freedom 99.9 % of samples are below.
        assert!(chi("1..100,zipf") < 148.2, "{}", chi("1..100,zipf"));
        assert!(chi("1..100,ycsb") > 300.0, "{}", chi("1..100,ycsb"));
    }
}
