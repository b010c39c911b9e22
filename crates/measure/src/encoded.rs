//! A latency histogram at rest: compact, and equal on every machine.
//!
//! Its buckets are in HdrHistogram's V2 format, compressed, which the libraries of every language read
//! (<https://github.com/HdrHistogram/HdrHistogram>). That format stores values only to the width of a bucket,
//! so the exact figures are stored beside it. Encoded bytes may come from anywhere and are checked before
//! use.

use std::io::Read;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use thiserror::Error;

use crate::Latency;
use crate::histogram::Buckets;
use crate::sparse::{Sparse, Widths};

/// A [`Latency`] as bytes, with its exact figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedLatency {
    /// Figures that the buckets hold only to their width.
    pub exact: ExactFigures,
    /// The buckets: HdrHistogram V2, compressed, in nanoseconds. Copies of a timeline share them.
    #[serde(rename = "histogram", serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub buckets: Arc<[u8]>,
}

/// The figures of latencies in whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactFigures {
    /// Number of replies.
    pub count: u64,
    /// Sum of all latencies.
    pub sum_ns: u128,
    /// Minimum latency; 0 if there is none.
    pub min_ns: u64,
    /// Greatest latency; 0 if there is none.
    pub max_ns: u64,
}

fn to_base64<S: Serializer>(buckets: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(buckets))
}

fn from_base64<'de, D: Deserializer<'de>>(source: D) -> Result<Arc<[u8]>, D::Error> {
    let buckets = STANDARD.decode(String::deserialize(source)?);
    buckets.map(Arc::from).map_err(|e| de::Error::custom(format!("a histogram is not base64: {e}")))
}

/// Reason why a histogram cannot be written or read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct CodecError(String);

/// Maximum number of bytes of an uncompressed histogram: enough for five significant digits over the whole
/// range.
const PLAIN_BYTES_MAX: u64 = 64 << 20;
/// The fixed part before the counts.
const HEADER_BYTES: usize = 40;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const PLAIN_COOKIE: u32 = 0x1c84_9313;
/// Maximum number of bytes of one count.
const COUNT_BYTES_MAX: usize = 9;

impl EncodedLatency {
    /// Encodes a histogram.
    ///
    /// # Errors
    /// Returns an error if a bucket counts more than 2^63 - 1, which the format cannot hold.
    pub fn from_latency(latency: &Latency) -> Result<Self, CodecError> {
        let mut buckets = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&latency.histogram(), &mut buckets)
            .map_err(|e| CodecError(format!("a histogram cannot be encoded: {e}")))?;
        Ok(Self {
            exact: ExactFigures {
                count: latency.count(),
                sum_ns: latency.sum_ns,
                min_ns: latency.min_ns().unwrap_or_default(),
                max_ns: latency.max_ns().unwrap_or_default(),
            },
            buckets: buckets.into(),
        })
    }

    /// Decodes the histogram, bucket for bucket.
    ///
    /// # Errors
    /// Returns an error if the bytes are malformed or contradict the exact figures.
    pub fn decode(&self) -> Result<Latency, CodecError> {
        let (digits, held) = filled(&inflate(&self.buckets)?)?;
        self.exact.check(digits, &held)?;
        let ExactFigures { count, sum_ns, min_ns, max_ns } = self.exact;
        Ok(Latency {
            buckets: Buckets::Sparse(Sparse::of_held(digits, count, held)),
            sum_ns,
            min_ns: if count == 0 { u64::MAX } else { min_ns },
            max_ns,
        })
    }
}

/// Percentiles in documents.
const QUANTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// Writes figures in milliseconds for readers, `null` if nothing was recorded, and the histogram for programs
/// that add up.
impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EncodedLatency { exact, buckets } =
            EncodedLatency::from_latency(self).map_err(ser::Error::custom)?;
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        let mut fields = serializer.serialize_struct("Latency", QUANTILES.len() + 5)?;
        fields.serialize_field("mean", &self.mean_ns().map(|ns| ns / 1e6))?;
        fields.serialize_field("min", &ms(self.min_ns()))?;
        for (name, quantile) in QUANTILES {
            fields.serialize_field(name, &ms(self.quantile_ns(quantile)))?;
        }
        fields.serialize_field("max", &ms(self.max_ns()))?;
        fields.serialize_field("exact", &exact)?;
        fields.serialize_field("histogram", &STANDARD.encode(&buckets))?;
        fields.end()
    }
}

/// Takes the histogram and derives the rest anew.
impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        EncodedLatency::deserialize(source)?.decode().map_err(de::Error::custom)
    }
}

impl ExactFigures {
    /// Checks that the exact figures agree with these buckets.
    fn check(&self, digits: u8, held: &[(u64, u64)]) -> Result<(), CodecError> {
        let Self { count, sum_ns, min_ns, max_ns } = *self;
        let times = |ns: u64| u128::from(ns) * u128::from(count);
        let counted = held.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
        let widths = Widths::from_digits(digits);
        let ends_agree = match (held.first(), held.last()) {
            (Some(first), Some(last)) => {
                min_ns <= max_ns
                    && max_ns <= u64::MAX / 2
                    && widths.highest(min_ns.max(1)) == first.0
                    && widths.highest(max_ns.max(1)) == last.0
            }
            _ => (min_ns, max_ns) == (0, 0),
        };
        let sum_agrees = (times(min_ns)..=times(max_ns)).contains(&sum_ns);
        if counted == Some(count) && ends_agree && sum_agrees {
            Ok(())
        } else {
            Err(CodecError("a histogram and its exact figures contradict each other".to_owned()))
        }
    }
}

fn fault(what: impl std::fmt::Display) -> CodecError {
    CodecError(format!("a histogram cannot be decoded: {what}"))
}

/// The four-byte number at this offset.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Significant digits and non-empty buckets, parsed from the plain bytes.
///
/// The library would fill all buckets, a quarter of a megabyte that is nearly all zeros. A coordinator, which
/// reads some hundred histograms a second, would do little else.
fn filled(plain: &[u8]) -> Result<(u8, Vec<(u64, u64)>), CodecError> {
    // The precision is followed by the least and the greatest value, and a factor.
    let plainly = number(plain, 8) == Some(0) && plain.get(32..40) == Some(&1f64.to_be_bytes()[..]);
    if number(plain, 0) != Some(PLAIN_COOKIE) || !plainly {
        return Err(fault("it is not in the V2 format of HdrHistogram"));
    }
    // The smallest distinguishable value is 1 ns in every histogram that keystorm writes.
    let unit = plain.get(16..24) == Some(&1u64.to_be_bytes()[..]);
    let digits = number(plain, 12).and_then(|digits| u8::try_from(digits).ok());
    let Some(digits) = digits.filter(|digits| unit && (1..=5).contains(digits)) else {
        return Err(fault("its unit or its precision is not one of keystorm's"));
    };
    let widths = Widths::from_digits(digits);
    let mut held = Vec::new();
    let (mut bytes, mut bucket) = (plain.get(HEADER_BYTES..).unwrap_or_default(), 0u64);
    while !bytes.is_empty() {
        // A negative count stands for this many empty buckets.
        let count = zigzag(&mut bytes).ok_or_else(|| fault("a count is cut short"))?;
        let passed = if count < 0 { count.unsigned_abs() } else { 1 };
        if count > 0 {
            let highest =
                widths.highest_of(bucket).ok_or_else(|| fault("it has too many counts"))?;
            held.push((highest, count.unsigned_abs()));
        }
        bucket = bucket.saturating_add(passed);
    }
    Ok((digits, held))
}

/// Takes a number off: seven bits a byte, the lowest first, the ninth byte whole, and the sign in the lowest
/// bit.
fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for at in 0..COUNT_BYTES_MAX {
        let byte = u64::from(*bytes.get(at)?);
        let last = at + 1 == COUNT_BYTES_MAX;
        value |= (if last { byte } else { byte & 0x7f }) << (7 * at);
        if last || byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            break;
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Inflates the bytes; fails beyond the size of the largest histogram that keystorm writes.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    if number(bytes, 0) != Some(COMPRESSED_COOKIE) || bytes.len() < 8 {
        return Err(fault("it is not in the compressed V2 format of HdrHistogram"));
    }
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(&bytes[8..]).take(PLAIN_BYTES_MAX + 1).read_to_end(&mut plain);
    read.map_err(fault)?;
    if plain.len() as u64 > PLAIN_BYTES_MAX {
        return Err(fault("it is too large"));
    }
    let counts = plain.len().checked_sub(HEADER_BYTES).ok_or_else(|| fault("it is cut short"))?;
    if number(&plain, 4) != u32::try_from(counts).ok() {
        return Err(fault("it is not as long as it says"));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    fn latency(precision: u8, values: &[u64]) -> Latency {
        let mut latency = Latency::new(precision);
        values.iter().for_each(|&v| latency.record_n(v, 1));
        latency
    }

    fn all(l: &Latency) -> (Vec<(u64, u64)>, u128, u64, u64, Option<f64>) {
        (l.recorded().collect(), l.sum_ns, l.min_ns, l.max_ns, l.mean_ns())
    }

    proptest! {
        #[test]
        fn what_is_decoded_is_what_was_encoded(
            values in prop::collection::vec(0u64..u64::MAX / 2, 0..60),
            usual in prop::collection::vec(0u64..10_000_000, 0..60),
            precision in 1u8..=3,
        ) {
            let latency = latency(precision, &[values, usual].concat());
            let encoded = EncodedLatency::from_latency(&latency).unwrap();
            let decoded = encoded.decode().unwrap();
            prop_assert_eq!(all(&decoded), all(&latency));
            prop_assert_eq!(EncodedLatency::from_latency(&decoded).unwrap(), encoded);
        }

        #[test]
        fn the_library_reads_the_same(
            values in prop::collection::vec(0u64..u64::MAX / 2, 0..60),
            usual in prop::collection::vec(0u64..10_000_000, 0..60),
            precision in 1u8..=3,
        ) {
            let [ours, theirs] = both_read(precision, &[values, usual].concat());
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn no_bytes_make_it_panic(at in any::<prop::sample::Index>(), byte: u8, cut in 0usize..40) {
            let mut encoded = EncodedLatency::from_latency(&latency(3, &[5, 1_000, 80_000_000])).unwrap();
            let mut bytes = encoded.buckets.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(bytes.len().saturating_sub(cut));
            encoded.buckets = bytes.into();
            let _ = encoded.decode();
        }

        #[test]
        fn no_plain_bytes_make_it_panic(at in 4usize..60, byte: u8) {
            let _ = with_plain(|plain| {
                let at = at.min(plain.len() - 1);
                plain[at] = byte;
            });
        }
    }

    /// Digits and buckets of these values, as read by this code and by the library.
    fn both_read(precision: u8, values: &[u64]) -> [(u8, Vec<(u64, u64)>); 2] {
        let encoded = EncodedLatency::from_latency(&latency(precision, values)).unwrap();
        let mut buckets = &encoded.buckets[..];
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut buckets).unwrap();
        let ours = filled(&inflate(&encoded.buckets).unwrap()).unwrap();
        [ours, (precision, crate::sparse::held(&read).collect())]
    }

    #[test]
    fn the_library_reads_the_same_of_more_digits() {
        // Their histograms are large, so there are few of them.
        for precision in [4, 5] {
            let [ours, theirs] = both_read(precision, &[1, 999_999, 80_000_000, 1 << 40, 1 << 62]);
            assert_eq!(ours, theirs);
        }
    }

    /// Decodes a histogram whose decompressed bytes were changed.
    fn with_plain(change: impl FnOnce(&mut Vec<u8>)) -> Result<Latency, CodecError> {
        use std::io::Write;
        let mut encoded =
            EncodedLatency::from_latency(&latency(3, &[5, 1_000, 80_000_000])).unwrap();
        let mut plain = inflate(&encoded.buckets).unwrap();
        change(&mut plain);
        let mut bytes = encoded.buckets[..8].to_vec();
        let mut compress = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::fast());
        compress.write_all(&plain).unwrap();
        compress.finish().unwrap();
        encoded.buckets = bytes.into();
        encoded.decode()
    }

    #[test]
    fn nothing_is_encoded_as_nothing() {
        let encoded = EncodedLatency::from_latency(&Latency::new(3)).unwrap();
        let ExactFigures { count, min_ns, max_ns, .. } = encoded.exact;
        assert_eq!((count, min_ns, max_ns), (0, 0, 0));
        let mut decoded = encoded.decode().unwrap();
        assert_eq!(decoded.quantile_ns(0.5), None);
        decoded.record_n(7, 1);
        assert_eq!(decoded.min_ns(), Some(7));
    }

    #[test]
    fn claims_are_not_believed() {
        let error = |change: fn(&mut Vec<u8>)| with_plain(change).unwrap_err().to_string();
        assert!(error(|p| p[4..8].fill(0xff)).contains("as long as it says"));
        assert!(error(|p| p.truncate(20)).contains("cut short"));
        assert!(error(|p| p[15] = 9).contains("precision"));
        assert!(error(|p| p[23] = 2).contains("unit"));
        assert!(error(|p| p[3] = 0).contains("V2 format"));
        let more = |p: &mut Vec<u8>, bytes: &[u8]| {
            p.extend(bytes);
            let counts = (p.len() - HEADER_BYTES) as u32;
            p[4..8].copy_from_slice(&counts.to_be_bytes());
        };
        // The number whose negative is none, twice, and a count behind all buckets.
        let absurd = with_plain(|p| more(p, &[&[0xff; 18][..], &[2]].concat())).unwrap_err();
        assert!(absurd.to_string().contains("too many counts"), "{absurd}");
        let cut = with_plain(|p| more(p, &[0x80])).unwrap_err();
        assert!(cut.to_string().contains("cut short"), "{cut}");
        assert!(error(|p| p.resize(PLAIN_BYTES_MAX as usize + 1, 0)).contains("too large"));
    }

    #[test]
    fn exact_figures_must_be_of_the_buckets() {
        let good = EncodedLatency::from_latency(&latency(3, &[1_000, 2_000])).unwrap();
        let changes: [fn(&mut EncodedLatency); 5] = [
            |e| e.exact.count = 3,
            |e| e.exact.min_ns = 2_000,
            |e| e.exact.max_ns = 9_000,
            |e| e.exact.sum_ns = 4_001,
            |e| (e.exact.min_ns, e.exact.max_ns) = (2_000, 1_000),
        ];
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(bad.decode().unwrap_err().to_string().contains("contradict"), "{bad:?}");
        }
    }
}
