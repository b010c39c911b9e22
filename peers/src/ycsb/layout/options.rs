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
    /// Buckets of a millisecond of [`Kind::Buckets`].
    pub(crate) buckets: usize,
    /// Set if [`Kind::RawLog`] reports only the number of operations.
    pub(crate) no_summary: bool,
    /// Failed operations that get a section for each cause.
    pub(crate) by_status: ByStatus,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A histogram of microseconds.
    #[default]
    Hdr,
    /// Buckets of a millisecond.
    Buckets,
    /// Both.
    HdrAndBuckets,
    /// Averages over time.
    TimeSeries,
    /// Every operation by itself.
    Raw,
    /// The first, and the one before.
    HdrAndRaw,
}

impl Kind {
    /// Returns whether every operation has its own line.
    pub(crate) fn is_raw(self) -> bool {
        matches!(self, Self::Raw | Self::HdrAndRaw)
    }

    /// Name of a section's histogram of microseconds, if there is one.
    pub(super) fn hdr_name(self, section: &str) -> Option<String> {
        match self {
            Self::Hdr => Some(section.to_owned()),
            Self::HdrAndBuckets | Self::HdrAndRaw => Some(format!("Hdr{section}")),
            Self::Buckets | Self::TimeSeries | Self::Raw => None,
        }
    }

    /// Name of a section's other figures, if there are any.
    pub(super) fn other_name(self, section: &str) -> Option<String> {
        match self {
            Self::Hdr => None,
            Self::HdrAndBuckets => Some(format!("Bucket{section}")),
            Self::HdrAndRaw => Some(format!("Raw{section}")),
            Self::Buckets | Self::TimeSeries | Self::Raw => Some(section.to_owned()),
        }
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

/// Failures that have a section for each cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ByStatus {
    /// None.
    #[default]
    No,
    /// All.
    All,
    /// Failures with these names.
    Those(Vec<String>),
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
            kind: Kind::default(),
            interval: Interval::default(),
            percentiles: [95, 99]
                .map(|value: u8| Percentile { value: f64::from(value), text: value.to_string() })
                .into(),
            verbose: false,
            buckets: 1000,
            no_summary: false,
            by_status: ByStatus::default(),
        }
    }
}

impl ByStatus {
    /// End of the name of an operation that failed with `status`.
    pub(super) fn ending(&self, status: &str) -> String {
        let text = match self {
            Self::No => false,
            Self::All => true,
            Self::Those(names) => names.iter().any(|name| name == status),
        };
        if text { status.to_owned() } else { "FAILED".to_owned() }
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
