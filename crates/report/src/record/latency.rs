//! A latency in a saved run: figures in milliseconds for those who read, and the histogram that
//! they are of for those who add up.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use measure::{EncodedLatency, Latency};
use serde::{Deserialize, Serialize};

use super::RecordError;

/// Figures in milliseconds, `null` where nothing was recorded, and what they are derived from.
/// Loading uses `exact` and `histogram`, and derives the rest anew.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LatencyRecord {
    mean: Option<f64>,
    min: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    #[serde(rename = "p99.9")]
    p99_9: Option<f64>,
    #[serde(rename = "p99.99")]
    p99_99: Option<f64>,
    max: Option<f64>,
    // The two of a `Histogram`. To flatten one would compile a reader that buffers, beside the plain one.
    exact: ExactFigures,
    histogram: String,
}

/// All that was recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Histogram {
    exact: ExactFigures,
    /// HdrHistogram V2, compressed, in base64; values are nanoseconds.
    histogram: String,
}

/// What buckets know only to their width, in whole nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ExactFigures {
    count: u64,
    #[serde(with = "wide")]
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// Milliseconds as the double that is nearest.
pub(super) fn msec(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Reverses [`msec`].
pub(super) fn nanoseconds(msec: f64) -> u64 {
    (msec * 1e6).round() as u64
}

impl LatencyRecord {
    pub(super) fn from_latency(latency: &Latency) -> Result<Self, RecordError> {
        let quantile = |q| latency.quantile_ns(q).map(msec);
        let Histogram { exact, histogram } =
            Histogram::from_encoded(&EncodedLatency::from_latency(latency)?);
        Ok(Self {
            mean: latency.mean_ns().map(|ns| ns / 1e6),
            min: latency.min_ns().map(msec),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: latency.max_ns().map(msec),
            exact,
            histogram,
        })
    }

    pub(super) fn latency(&self) -> Result<Latency, RecordError> {
        Ok(encoded(self.exact, &self.histogram)?.decode()?)
    }
}

impl Histogram {
    pub(super) fn from_encoded(encoded: &EncodedLatency) -> Self {
        let EncodedLatency { count, sum_ns, min_ns, max_ns, ref buckets } = *encoded;
        Self {
            exact: ExactFigures { count, sum_ns, min_ns, max_ns },
            histogram: STANDARD.encode(buckets),
        }
    }

    pub(super) fn encoded(&self) -> Result<EncodedLatency, RecordError> {
        encoded(self.exact, &self.histogram)
    }
}

fn encoded(exact: ExactFigures, histogram: &str) -> Result<EncodedLatency, RecordError> {
    let ExactFigures { count, sum_ns, min_ns, max_ns } = exact;
    let buckets = STANDARD
        .decode(histogram)
        .map_err(|e| RecordError::wrong(format!("a histogram is not base64: {e}")))?;
    Ok(EncodedLatency { count, sum_ns, min_ns, max_ns, buckets: buckets.into() })
}

/// Sums that outgrow 64 bits after 584 years of latency: a number where it fits, digits in a string
/// beyond it.
mod wide {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WideNumber {
        Number(u64),
        Digits(String),
    }

    pub(super) fn serialize<S: Serializer>(sum: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(*sum) {
            Ok(number) => serializer.serialize_u64(number),
            Err(_) => serializer.collect_str(sum),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<u128, D::Error> {
        match WideNumber::deserialize(source)? {
            WideNumber::Number(number) => Ok(number.into()),
            WideNumber::Digits(digits) => digits.parse().map_err(D::Error::custom),
        }
    }
}
