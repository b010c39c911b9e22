//! Where response times were spent, in a saved run.

use measure::{SpanSums, Spans};
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::LatencyRecord;
use crate::{SpanFigures, SpanParts};

/// The spans of all responses whose reply the kernel stamped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SpansRecord {
    /// From the arrival of a reply in the client's kernel until it was read.
    read_ms: LatencyRecord,
    /// Replies without a stamp.
    unstamped: u64,
    /// The parts of some response times. Follows from the rest, and so is written and never read.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    parts_ms: Vec<PartsRecord>,
    /// By length of the response: number of the bucket, responses, and in nanoseconds their sum, that of their
    /// times from due to sent, and that of their times from the kernel until they were read.
    sums_ns: Vec<[u64; 5]>,
}

/// The parts of one percentile, in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
struct PartsRecord {
    of: &'static str,
    response: f64,
    due_to_sent: f64,
    until_in_kernel: f64,
    until_read: f64,
}

impl PartsRecord {
    fn new(parts: &SpanParts) -> Self {
        let SpanParts { of, response_ns, due_to_sent_ns, until_in_kernel_ns, until_read_ns } =
            *parts;
        let [response, due_to_sent, until_in_kernel, until_read] =
            [response_ns, due_to_sent_ns, until_in_kernel_ns, until_read_ns].map(|ns| ns / 1e6);
        Self { of, response, due_to_sent, until_in_kernel, until_read }
    }
}

impl SpansRecord {
    /// Of these spans, with their figures where they are known.
    pub(super) fn new(spans: &Spans, figures: Option<&SpanFigures>) -> Result<Self, RecordError> {
        let sums = spans.sums().map(|(bucket, sums)| {
            let SpanSums { count, response_ns, due_to_sent_ns, read_ns } = *sums;
            [bucket as u64, count, response_ns, due_to_sent_ns, read_ns]
        });
        let parts = figures.iter().flat_map(|figures| &figures.parts).map(PartsRecord::new);
        Ok(Self {
            read_ms: LatencyRecord::from_latency(&spans.read)?,
            unstamped: spans.unstamped,
            parts_ms: parts.collect(),
            sums_ns: sums.collect(),
        })
    }

    /// The spans.
    pub(super) fn spans(&self) -> Result<Box<Spans>, RecordError> {
        let sums = self.sums_ns.iter().map(|sums| {
            let [bucket, count, response_ns, due_to_sent_ns, read_ns] = *sums;
            let sums = SpanSums { count, response_ns, due_to_sent_ns, read_ns };
            (usize::try_from(bucket).unwrap_or(usize::MAX), sums)
        });
        let sums: Vec<(usize, SpanSums)> = sums.collect();
        let spans = Spans::from_parts(self.read_ms.latency()?, self.unstamped, &sums);
        let wrong = || RecordError::wrong("the spans of a test have a bucket that there is not");
        spans.map(Box::new).ok_or_else(wrong)
    }
}
