//! Contents of a report of YCSB.

use std::fmt;
use std::str::FromStr;

/// Options of a report in YCSB's words.
#[derive(Debug, Clone)]
pub(crate) struct YcsbOptions {
    /// Form in which figures are written.
    pub(crate) exporter: Exporter,
    /// Kind of figures about latencies.
    pub(crate) kind: Kind,
    /// Interval that latencies are of.
    pub(crate) interval: Interval,
    /// The percentiles.
    pub(crate) percentiles: Vec<Percentile>,
    /// Set if every recorded value is listed with its count.
    pub(crate) verbose: bool,
    /// Buckets of a millisecond of [`OtherFigures::Buckets`].
    pub(crate) buckets: usize,
    /// Set if [`OtherFigures::Raw`] reports only the number of operations.
    pub(crate) no_summary: bool,
    /// End of the names of sections of failures: `FAILED`, or the status, which all of them have in common.
    pub(crate) failed: &'static str,
}

/// Form in which figures are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Exporter {
    /// A line each.
    #[default]
    Text,
    /// Objects with a blank between them.
    Json,
    /// An array of objects.
    JsonArray,
}

/// Kind of figures about latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    name: &'static str,
    /// Start of the names of sections that are histograms of microseconds, if there are any.
    hdr: Option<&'static str>,
    /// Start of the names of other sections, and their figures, if there are any.
    other: Option<(&'static str, OtherFigures)>,
}

/// Figures that are no histogram of microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherFigures {
    /// Buckets of a millisecond.
    Buckets,
    /// Averages over time.
    TimeSeries,
    /// Every operation by itself.
    Raw,
}

use OtherFigures::{Buckets, Raw, TimeSeries};

impl Kind {
    const HDR: Self = Self { name: "hdrhistogram", hdr: Some(""), other: None };
    const ALL: [Self; 6] = [
        Self::HDR,
        Self { name: "histogram", hdr: None, other: Some(("", Buckets)) },
        Self { name: "hdrhistogram+histogram", hdr: Some("Hdr"), other: Some(("Bucket", Buckets)) },
        Self { name: "hdrhistogram+raw", hdr: Some("Hdr"), other: Some(("Raw", Raw)) },
        Self { name: "raw", hdr: None, other: Some(("", Raw)) },
        Self { name: "timeseries", hdr: None, other: Some(("", TimeSeries)) },
    ];

    /// The kind of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name == name)
    }

    /// Returns whether these other figures are reported.
    pub(crate) fn has(self, figures: OtherFigures) -> bool {
        self.other.is_some_and(|(_, other)| other == figures)
    }

    /// Name of a section's histogram of microseconds, if there is one.
    pub(super) fn hdr_name(self, section: &str) -> Option<String> {
        self.hdr.map(|start| format!("{start}{section}"))
    }

    /// Name of a section's other figures, and what they are, if there are any.
    pub(super) fn other(self, section: &str) -> Option<(String, OtherFigures)> {
        self.other.map(|(start, figures)| (format!("{start}{section}"), figures))
    }
}

/// Interval that reported latencies are of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Interval {
    /// From sent to the reply.
    #[default]
    Op,
    /// From when an operation was due to its reply.
    Intended,
    /// The first, and the second in sections of their own.
    Both,
}

/// A percentile as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Percentile {
    value: f64,
    text: String,
}

impl Percentile {
    /// Part of all values that are up to it, from 0 to 1.
    pub(crate) fn quantile(&self) -> f64 {
        self.value / 100.0
    }
}

impl FromStr for Percentile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = text.trim().parse().ok().filter(|value| (0.0..=100.0).contains(value));
        let fault = || format!("{text:?} is not a percentile; expected a number from 0 to 100");
        Ok(Self { value: value.ok_or_else(fault)?, text: text.trim().to_owned() })
    }
}

/// Whole ones are ordinals, others have no ending.
impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(whole) = self.text.parse::<u32>() else { return f.write_str(&self.text) };
        let ending = match (whole % 10, whole % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        write!(f, "{whole}{ending}")
    }
}

impl Default for YcsbOptions {
    fn default() -> Self {
        Self {
            exporter: Exporter::default(),
            kind: Kind::HDR,
            interval: Interval::default(),
            percentiles: [95, 99]
                .map(|value: u8| Percentile { value: f64::from(value), text: value.to_string() })
                .into(),
            verbose: false,
            buckets: 1000,
            no_summary: false,
            failed: "FAILED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_percentiles_are_ordinals() {
        for (text, shown) in [
            ("1", "1st"),
            ("2", "2nd"),
            ("3", "3rd"),
            ("11", "11th"),
            ("50", "50th"),
            ("99.9", "99.9"),
            ("100", "100th"),
            (" 95", "95th"),
        ] {
            assert_eq!(text.parse::<Percentile>().unwrap().to_string(), shown);
        }
        assert!("101".parse::<Percentile>().is_err() && "x".parse::<Percentile>().is_err());
    }
}
