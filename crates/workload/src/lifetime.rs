//! Lifetime of keys: a number of seconds, or one drawn from a range.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{self, DefaultUnit};
use crate::{parameters, random};

/// A lifetime in whole seconds, from `least_s` to `most_s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lifetime {
    /// Shortest lifetime in seconds, at least 1.
    pub least_s: u64,
    /// Longest lifetime in seconds; equal to `least_s` if lifetimes do not vary.
    pub most_s: u64,
}

/// Random stream of lifetimes, after those of keys and operations.
const STREAM: u64 = 13 << 56;
/// A hundred years, which every server accepts.
const MOST_S: u64 = 36_525 * 86_400;

impl Lifetime {
    /// Lifetime of request number `number`, in seconds.
    #[inline]
    pub fn seconds(self, seed: u64, number: u64) -> u64 {
        let bits = random::draw(seed.wrapping_add(STREAM), number);
        self.least_s + random::within(bits, self.most_s - self.least_s + 1)
    }

    /// The lifetime in seconds, if it does not vary.
    pub fn fixed(self) -> Option<u64> {
        (self.least_s == self.most_s).then_some(self.least_s)
    }
}

impl FromStr for Lifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let seconds = |text: &str| {
            let time = quantity::time(text, DefaultUnit::Seconds)?;
            let whole = time.subsec_nanos() == 0 && (1..=MOST_S).contains(&time.as_secs());
            whole.then_some(time.as_secs()).ok_or_else(|| {
                "expected a lifetime of 1 second to 100 years, in whole seconds".to_owned()
            })
        };
        let (least_s, most_s) = (seconds(least)?, seconds(most)?);
        if least_s > most_s {
            return Err(format!("{least} is longer than {most}; expected 60 or 60..300"));
        }
        Ok(Self { least_s, most_s })
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fixed() {
            Some(seconds) => write!(f, "{seconds}"),
            None => write!(f, "{}..{}", self.least_s, self.most_s),
        }
    }
}

parameters::saved_as_text!(Lifetime);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_in_between_is_equally_likely() {
        let lifetime: Lifetime = "1m..64".parse().unwrap();
        assert_eq!((lifetime.least_s, lifetime.most_s), (60, 64));
        let mut counts = [0u32; 5];
        (0..100_000).for_each(|n| counts[lifetime.seconds(7, n) as usize - 60] += 1);
        assert!(counts.iter().all(|count| (19_500..20_500).contains(count)), "{counts:?}");
        assert_eq!(lifetime.seconds(7, 3), lifetime.seconds(7, 3));
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        for text in ["0", "0.5", "2..1", "x", "", "200000d"] {
            assert!(text.parse::<Lifetime>().is_err(), "{text}");
        }
        for text in ["60", "60..300"] {
            assert_eq!(text.parse::<Lifetime>().unwrap().to_string(), text);
        }
    }
}
