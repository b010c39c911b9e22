//! Content of values, and its text form.

use std::fmt;
use std::str::FromStr;

use crate::parameters::{self, Row, none, row};

/// Content of values. Saved as its text.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Content {
    /// The printable bytes of other tools, equal for every key.
    #[default]
    Classic,
    /// A single byte repeated: `x`, as in `memtier_benchmark`.
    Same,
    /// Random bytes.
    Random,
    /// Bytes that compress.
    Compressible {
        /// Approximate ratio for a compressor that finds repeats quickly.
        ratio: f64,
    },
    /// The printable bytes of YCSB, different in each value: six from 31 random bits.
    Ycsb,
    /// Bytes of `ycsb` without the two that JSON escapes, so that an object of them is valid JSON of the same
    /// length.
    YcsbJson,
}

type Constructor = fn(Option<&str>) -> Result<Content, String>;

/// Every content.
pub const CONTENTS: &[Row<Constructor>] = &[
    row("classic", "classic", "classic", |p| none(p).map(|()| Content::Classic)),
    row("random", "random", "random", |p| none(p).map(|()| Content::Random)),
    row("ycsb", "ycsb", "ycsb", |p| none(p).map(|()| Content::Ycsb)),
    row("ycsb-json", "ycsb-json", "ycsb-json", |p| none(p).map(|()| Content::YcsbJson)),
    row("compressible", "compressible:N", "compressible:4", compressible),
    row("same", "same", "same", |p| none(p).map(|()| Content::Same)),
];

fn compressible(parameters: Option<&str>) -> Result<Content, String> {
    let ratio = parameters::number(parameters.unwrap_or_default(), "ratio", 1.0..=100.0)?;
    Ok(Content::Compressible { ratio })
}

impl Content {
    /// Returns whether the bytes of every value differ, so that no key determines them.
    pub fn is_fresh(self) -> bool {
        matches!(self, Self::Ycsb | Self::YcsbJson)
    }
}

impl FromStr for Content {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parameters::read("content", CONTENTS, text, |make, parameters| make(parameters))
    }
}

parameters::saved_as_text!(Content);

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classic => f.write_str("classic"),
            Self::Same => f.write_str("same"),
            Self::Random => f.write_str("random"),
            Self::Ycsb => f.write_str("ycsb"),
            Self::YcsbJson => f.write_str("ycsb-json"),
            Self::Compressible { ratio } => write!(f, "compressible:{ratio}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_saved_as_they_are_written() {
        for text in ["classic", "same", "random", "compressible:2.5", "ycsb", "ycsb-json"] {
            let content: Content = text.parse().unwrap();
            let saved = serde_json::to_string(&content).unwrap();
            assert_eq!(saved, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Content>(&saved).unwrap(), content);
        }
        for bad in ["", "zeros", "compressible", "compressible:0.5", "random:3"] {
            let error = bad.parse::<Content>().unwrap_err();
            assert!(error.contains("available: classic") || error.contains("expected"), "{error}");
        }
    }
}
