//! The sizes of values: one for all, or a distribution.
//!
//! A size is a pure function of the seed and a number: the key's, so that a key keeps its size, or the
//! request's. Every distribution is drawn by the inverse of its distribution function, from one random
//! number: bounds cut it off without piling up at them, and its mean is known before a value is sent.
//!
//! A new distribution is one file here and one row in [`SIZE_DRAWS`].

mod bounded;
mod lognormal;
mod normal;
mod pareto;
mod table;
mod uniform;
mod ycsb;
mod zipf;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parameters::{self, Row, row};
use crate::{quantity, random};

/// Draws sizes.
pub trait SizeDraw: Send + Sync {
    /// The size in bytes that these random bits draw. Larger bits never draw a smaller size.
    fn draw(&self, bits: u64) -> u32;

    /// The mean of all sizes.
    fn mean(&self) -> f64;

    /// The size of the value at `place` of `0..=last`: the first is the smallest, the last the largest.
    fn by_rank(&self, place: u64, last: u64) -> u32 {
        self.draw((u128::from(place) * u128::from(u64::MAX) / u128::from(last)) as u64)
    }
}

pub(crate) type Constructor = fn(parameters: Option<&str>) -> Result<Box<dyn SizeDraw>, String>;

/// All distributions; a bare number is a common size of all values.
pub const SIZE_DRAWS: &[Row<Constructor>] = &[
    row("uniform", "uniform:MIN..MAX", "uniform:100..4k", uniform::read),
    row("sizes", "sizes:SIZE=WEIGHT,…", "sizes:32=50,1k=30,16k=20", table::read),
    row("lognormal", "lognormal:MEDIAN,SIGMA[,MIN..MAX]", "lognormal:1k,1.2", lognormal::read),
    row("pareto", "pareto:SCALE,SHAPE[,MIN..MAX]", "pareto:214,0.35,1..100k", pareto::read),
    row("zipf", "zipf:MIN..MAX", "zipf:1..100", zipf::read),
    row("ycsb", "ycsb:MIN..MAX", "ycsb:1..100", ycsb::read),
    row("normal", "normal:MEAN,SD[,MIN..MAX]", "normal:4k,500", normal::read),
];

/// Largest value, as in other tools: 1 GiB.
pub const SIZE_MAX: u32 = 1 << 30;

/// Argument that determines a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeBy {
    /// The key: its size is the same whenever it is written.
    #[default]
    Key,
    /// The request: a key's size differs each time.
    Request,
    /// The position of the key: larger numbers have larger values.
    Rank,
    /// Number of earlier requests of its operation on the connection: this many draws pass once through the
    /// whole distribution, from its smallest size to its largest.
    Turn(u32),
}

impl FromStr for SizeBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("{text:?}: expected key, request, rank or turn:N");
        Ok(match text {
            "key" => Self::Key,
            "request" => Self::Request,
            "rank" => Self::Rank,
            _ => {
                let draws = text.strip_prefix("turn:").and_then(|draws| draws.parse().ok());
                Self::Turn(draws.filter(|draws| *draws > 0).ok_or_else(fault)?)
            }
        })
    }
}

impl fmt::Display for SizeBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("key"),
            Self::Request => f.write_str("request"),
            Self::Rank => f.write_str("rank"),
            Self::Turn(draws) => write!(f, "turn:{draws}"),
        }
    }
}

/// A distribution of sizes as text, which is also its saved form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(Cow<'static, str>);

impl Sizes {
    /// Returns one size for all.
    pub fn fixed(size: u32) -> Self {
        Self(Cow::Owned(size.min(SIZE_MAX).to_string()))
    }

    /// Returns whether all sizes are the same.
    pub fn is_fixed(&self) -> bool {
        self.0.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Sets up draws.
    ///
    /// # Panics
    /// Panics if the text was not checked by this program's table, which only a bug in keystorm can cause.
    pub fn draws(&self) -> Box<dyn SizeDraw> {
        made(&self.0).expect("sizes are read before they are sizes")
    }

    /// The smallest possible size.
    pub fn smallest(&self) -> u32 {
        self.draws().draw(0)
    }

    /// The largest possible size.
    pub fn largest(&self) -> u32 {
        self.draws().draw(u64::MAX)
    }
}

/// Random stream of sizes, separate from keys.
const STREAM: u64 = 11 << 56;

/// The size for a number of a key or a request.
#[inline]
pub fn size_of(draws: &dyn SizeDraw, seed: u64, number: u64) -> u32 {
    draws.draw(random::draw(seed.wrapping_add(STREAM), number))
}

/// The size at step number `step` of `steps` that pass through the whole distribution.
#[inline]
pub fn size_at(draws: &dyn SizeDraw, step: u64, steps: u64) -> u32 {
    // In the middle of each step, so that weights that are whole steps are kept exactly.
    let place = (u128::from(step) << 64) + (1 << 63);
    draws.draw((place / u128::from(steps.max(1))).min(u128::from(u64::MAX)) as u64)
}

/// The size at position `place` of `0..range`: the smallest at 0, the largest at the last.
#[inline]
pub fn size_by_rank(draws: &dyn SizeDraw, place: u64, range: u64) -> u32 {
    let last = range.saturating_sub(1).max(1);
    draws.by_rank(place.min(last), last)
}

fn made(text: &str) -> Result<Box<dyn SizeDraw>, String> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(Box::new(uniform::Uniform::fixed(size(text)?)));
    }
    parameters::read("distribution of sizes", SIZE_DRAWS, text, |make, parameters| make(parameters))
}

/// A number of bytes.
fn size(text: &str) -> Result<u32, String> {
    let size = quantity::count(text).ok().and_then(|size| u32::try_from(size).ok());
    size.filter(|size| *size <= SIZE_MAX).ok_or_else(|| {
        format!("{text:?} is not a size; expected a whole number from 0 to {SIZE_MAX}, such as 4k")
    })
}

/// `MIN..MAX`, both included.
fn bounds(text: &str) -> Result<(u32, u32), String> {
    let (least, most) =
        text.split_once("..").ok_or_else(|| format!("{text:?} is not a range of sizes"))?;
    match (size(least)?, size(most)?) {
        (least, most) if least <= most => Ok((least, most)),
        _ => Err(format!("{text}: the smaller size must come first")),
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        made(text)?;
        Ok(Self(Cow::Owned(text.to_owned())))
    }
}

parameters::saved_as_text!(Sizes);

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws a million sizes and compares them with a distribution function, at sizes themselves, and with
    /// the stated mean.
    pub(super) fn follows(text: &str, cdf: impl Fn(f64) -> f64) {
        const DRAWS: u64 = 1_000_000;
        let draws = text.parse::<Sizes>().unwrap().draws();
        let mut sizes: Vec<u32> = (0..DRAWS).map(|n| size_of(&*draws, 4, n)).collect();
        sizes.sort_unstable();
        let mut furthest: f64 = 0.0;
        for chunk in sizes.chunk_by(|a, b| a == b) {
            let below = sizes.partition_point(|size| *size <= chunk[0]) as f64 / DRAWS as f64;
            furthest = furthest.max((below - cdf(f64::from(chunk[0]))).abs());
        }
        // Kolmogorov and Smirnov: 99.9 % of samples are nearer.
        assert!(furthest < 1.95e-3, "{text}: {furthest} off");
        let numbers = sizes.iter().map(|size| f64::from(*size));
        let mean = numbers.clone().sum::<f64>() / DRAWS as f64;
        let sd = (numbers.map(|size| (size - mean).powi(2)).sum::<f64>() / DRAWS as f64).sqrt();
        let mean_stated = draws.mean();
        // Rounding to whole bytes may move the mean of small sizes a little.
        let near = 4.0 * sd / (DRAWS as f64).sqrt() + 0.01 + mean_stated * 1e-4;
        assert!((mean - mean_stated).abs() < near, "{text}: mean {mean}, told {mean_stated}");
    }

    /// The conformance suite of the seam, for every distribution.
    #[test]
    fn every_distribution_rises_with_the_bits_within_its_limits() {
        for row in SIZE_DRAWS {
            let sizes: Sizes = row.example.parse().unwrap();
            let draws = sizes.draws();
            let steps = (0..=1000).map(|n| draws.draw((u64::MAX / 1000) * n));
            let drawn: Vec<u32> = steps.chain([draws.draw(u64::MAX)]).collect();
            assert!(drawn.is_sorted(), "{}", row.name);
            assert_eq!(drawn.last(), Some(&sizes.largest()), "{}", row.name);
            let within = f64::from(drawn[0])..=f64::from(sizes.largest());
            assert!(within.contains(&draws.mean()), "{}", row.name);
            assert!(sizes.largest() <= SIZE_MAX, "{}", row.name);
        }
    }

    #[test]
    fn sizes_follow_steps_and_ranks() {
        let draws = "sizes:10=1,20=2".parse::<Sizes>().unwrap().draws();
        assert_eq!((0..3).map(|step| size_at(&*draws, step, 3)).collect::<Vec<_>>(), [10, 20, 20]);
        let draws = "uniform:100..200".parse::<Sizes>().unwrap().draws();
        let sizes = [0, 25, 50, 100].map(|place| size_by_rank(&*draws, place, 101));
        assert_eq!((sizes[0], sizes[3]), (100, 200));
        assert!((124..=126).contains(&sizes[1]) && (149..=151).contains(&sizes[2]), "{sizes:?}");
        assert_eq!(size_by_rank(&*draws, 0, 1), 100);
    }

    #[test]
    fn a_number_is_the_size_of_all() {
        for (text, size) in [("100", 100), ("4k", 4000), ("0", 0)] {
            let draws = text.parse::<Sizes>().unwrap().draws();
            assert!((0..100).all(|n| size_of(&*draws, 1, n) == size));
            assert_eq!(draws.mean(), f64::from(size));
        }
        assert_eq!(Sizes::fixed(9).largest(), 9);
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        for (bad, says) in [
            ("", "unknown distribution of sizes"),
            ("gamma:1", "\"gamma\"; available: uniform:MIN..MAX, sizes:"),
            ("10x", "not a size"),
            ("2G", "1073741824"),
            ("uniform", "such as uniform:100..4k"),
            ("uniform:9..3", "smaller size must come first"),
            ("uniform:9", "not a range"),
            ("sizes:", "sizes:32=50"),
            ("sizes:32", "SIZE=WEIGHT"),
            ("sizes:32=0", "valid weight"),
            ("sizes:x=1", "not a size"),
            ("lognormal:1k", "lognormal:1k,1.2"),
            ("lognormal:0,1", "valid median"),
            ("lognormal:1k,1,5", "not a range"),
            ("lognormal:1k,1,5..6,7", "lognormal:MEDIAN,SIGMA[,MIN..MAX]"),
            ("lognormal:100M,0.1", "within 1..1000000"),
            ("normal:1k,0", "valid standard deviation"),
            ("normal:1k,1,9k..10k", "within 9000..10000"),
            ("pareto:10,-1", "valid shape"),
        ] {
            let error = bad.parse::<Sizes>().unwrap_err();
            assert!(error.contains(says), "{bad}: {error}");
        }
    }

    #[test]
    fn what_a_size_is_a_function_of_is_written_by_name() {
        for by in [SizeBy::Key, SizeBy::Request, SizeBy::Rank, SizeBy::Turn(3)] {
            assert_eq!(by.to_string().parse(), Ok(by));
        }
        for bad in ["", "turn", "turn:", "turn:0", "value"] {
            assert!(bad.parse::<SizeBy>().unwrap_err().contains("rank or turn:N"), "{bad}");
        }
    }

    #[test]
    fn it_is_saved_as_it_is_written() {
        let sizes: Sizes = "uniform:100..4k".parse().unwrap();
        let text = serde_json::to_string(&sizes).unwrap();
        assert_eq!(text, "\"uniform:100..4k\"");
        assert_eq!(serde_json::from_str::<Sizes>(&text).unwrap(), sizes);
        assert!(serde_json::from_str::<Sizes>("\"uniform:1\"").is_err());
    }
}
