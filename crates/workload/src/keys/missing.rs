//! Draws of which only a share goes to existing keys.

use std::fmt;
use std::str::FromStr;

use super::{KeyDraw, Source};
use crate::random::{self, Stream};

/// The share of draws in the range, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hits(u32);

const ONE: u32 = 1_000_000;

impl FromStr for Hits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        share.map(|share| Self((share * f64::from(ONE)).round() as u32)).ok_or_else(|| {
            format!("{text:?} is not a hit ratio; expected a number from 0 to 1, such as 0.9")
        })
    }
}

impl fmt::Display for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / f64::from(ONE))
    }
}

/// A distribution, and equally many keys beyond its range that are drawn alike and never written.
pub(super) struct Missing {
    keys: Box<dyn KeyDraw>,
    range: u64,
    hits: u64,
}

/// Random stream of the choice, separate from that of the key.
const STREAM: u64 = 14 << 56;

impl Missing {
    pub(super) fn new(keys: Box<dyn KeyDraw>, range: u64, hits: Hits) -> Self {
        Self { keys, range, hits: u64::from(hits.0) }
    }

    fn placed(&self, stream: Stream, index: u64, key: u64) -> u64 {
        let bits = stream.substream(STREAM).draw(index);
        if random::within(bits, ONE.into()) < self.hits {
            key
        } else {
            key.saturating_add(self.range)
        }
    }
}

impl KeyDraw for Missing {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        self.placed(stream, index, self.keys.draw(stream, index))
    }

    fn draw_present(&self, stream: Stream, index: u64, present: u64) -> u64 {
        self.placed(stream, index, self.keys.draw_present(stream, index, present))
    }

    fn source(&self) -> Source {
        self.keys.source()
    }
}

#[cfg(test)]
mod tests {
    use crate::KeyDist;

    #[test]
    fn the_share_that_is_asked_for_is_there() {
        for (share, expected) in [("0", 0), ("0.9", 900_000), ("1", 1_000_000)] {
            let keys = "zipf".parse::<KeyDist>().unwrap().with_hits(share).unwrap().over(1_000);
            let hits = (0..1_000_000).filter(|n| keys.draw(7.into(), *n) < 1_000).count() as i64;
            // Five standard deviations of a share of 0.9 are 1500.
            assert!((hits - expected).abs() <= 1_500, "{share}: {hits}");
            assert!((0..10_000).all(|n| keys.draw(7.into(), n) < 2_000));
        }
    }
}
