//! Parts of response times, as far as the client's kernel reports them: from due to sent, from sent until the
//! reply was back in this kernel, and from then until it was read.
//!
//! Owns the histogram of the third part, and sums of all parts for response times of about equal length.
//! Percentiles of parts do not add up to that of the whole, but means of the parts of equally long responses
//! do.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::total::{Total, total};
use crate::{Latency, Sample};

/// Buckets per doubling of the response time: each is an eighth of its length wide.
const PER_OCTAVE: u32 = 8;
const PER_OCTAVE_BITS: u32 = PER_OCTAVE.trailing_zeros();
/// Buckets for every time that 64 bits hold.
const BUCKETS: usize = ((64 - PER_OCTAVE_BITS + 1) * PER_OCTAVE) as usize;

/// Parts of all responses whose reply was stamped by the kernel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spans {
    /// Time from the arrival of a reply's last bytes in the client's kernel to the return of the read that
    /// brought them.
    #[serde(rename = "read_ms")]
    pub read: Latency,
    /// Replies without a stamp, or with an impossible one: from before the request, or from after the read.
    pub unstamped: u64,
    #[serde(rename = "sums_ns", serialize_with = "filled", deserialize_with = "placed")]
    by_response: Box<[SpanSums]>,
}

/// Sums over responses of about equal length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanSums {
    /// Number of response times.
    pub count: u64,
    /// Sum of their response times, in nanoseconds.
    pub response_ns: u64,
    /// Sum of their times from due to sent.
    pub due_to_sent_ns: u64,
    /// Sum of their times from the arrival in the kernel to the read.
    pub read_ns: u64,
}

total!(SpanSums { count, response_ns, due_to_sent_ns, read_ns });

/// Returns the bucket of a response time.
fn bucket(response_ns: u64) -> usize {
    let bits = 64 - response_ns.leading_zeros();
    let shift = bits.saturating_sub(PER_OCTAVE_BITS + 1);
    let within = (response_ns >> shift) as usize;
    shift as usize * PER_OCTAVE as usize + within
}

impl Spans {
    /// Creates empty sums; `read` has this many significant digits.
    pub fn new(digits: u8) -> Self {
        let by_response = vec![SpanSums::default(); BUCKETS].into();
        Self { read: Latency::new(digits), unstamped: 0, by_response }
    }

    /// Approximate size in bytes.
    pub fn bytes(digits: u8) -> u64 {
        Latency::bytes(digits) + (BUCKETS * size_of::<SpanSums>()) as u64
    }

    /// Adds replies that were settled together.
    #[inline]
    pub(crate) fn record(&mut self, sample: &Sample) {
        let Sample { count, intended_ns, sent_ns, arrived_ns, done_ns, .. } = *sample;
        // A clock that was set makes stamps that cannot be.
        let Some(arrived_ns) = arrived_ns.filter(|ns| (sent_ns..=done_ns).contains(ns)) else {
            self.unstamped += count;
            return;
        };
        let read_ns = done_ns - arrived_ns;
        let response_ns = done_ns.saturating_sub(intended_ns);
        self.read.record_n(read_ns, count);
        self.by_response[bucket(response_ns)].merge(&SpanSums {
            count,
            response_ns: response_ns.saturating_mul(count),
            due_to_sent_ns: sent_ns.saturating_sub(intended_ns).saturating_mul(count),
            read_ns: read_ns.saturating_mul(count),
        });
    }

    /// Sums of responses that took about `response_ns`, or of the nearest ones. `None` if empty.
    pub fn near(&self, response_ns: u64) -> Option<SpanSums> {
        let filled = self.sums().map(|(bucket, _)| bucket);
        let nearest = filled.min_by_key(|filled| filled.abs_diff(bucket(response_ns)))?;
        Some(self.by_response[nearest])
    }

    /// The sums of all responses.
    pub fn all(&self) -> SpanSums {
        let mut all = SpanSums::default();
        self.by_response.iter().for_each(|sums| all.merge(sums));
        all
    }

    /// Non-empty sums, with the numbers of their buckets.
    pub fn sums(&self) -> impl Iterator<Item = (usize, &SpanSums)> {
        self.by_response.iter().enumerate().filter(|(_, sums)| sums.count > 0)
    }
}

/// Writes, by length of the response: number of the bucket, responses, and in nanoseconds the sums of
/// response times, of times from due to sent, and of times from the kernel to the read.
fn filled<S: Serializer>(sums: &[SpanSums], serializer: S) -> Result<S::Ok, S::Error> {
    let filled = sums.iter().enumerate().filter(|(_, sums)| sums.count > 0);
    serializer.collect_seq(filled.map(|(bucket, sums)| {
        let SpanSums { count, response_ns, due_to_sent_ns, read_ns } = *sums;
        [bucket as u64, count, response_ns, due_to_sent_ns, read_ns]
    }))
}

fn placed<'de, D: Deserializer<'de>>(source: D) -> Result<Box<[SpanSums]>, D::Error> {
    let mut all: Box<[SpanSums]> = vec![SpanSums::default(); BUCKETS].into();
    for [bucket, count, response_ns, due_to_sent_ns, read_ns] in
        Vec::<[u64; 5]>::deserialize(source)?
    {
        let sums = usize::try_from(bucket).ok().and_then(|bucket| all.get_mut(bucket));
        *sums.ok_or_else(|| {
            de::Error::custom("the spans of a test have a bucket that there is not")
        })? = SpanSums { count, response_ns, due_to_sent_ns, read_ns };
    }
    Ok(all)
}

total!(Spans { read, unstamped, by_response });

impl Total for Box<[SpanSums]> {
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(sum, part)| sum.merge(part));
    }

    fn clear(&mut self) {
        self.fill(SpanSums::default());
    }

    fn is_empty(&self) -> bool {
        self.iter().all(Total::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    fn sample(due: u64, sent: u64, arrived: Option<u64>, done: u64) -> Sample {
        Sample {
            command: 0,
            outcome: Outcome::Ok,
            count: 1,
            bytes: 0,
            intended_ns: due,
            sent_ns: sent,
            first_byte_ns: done,
            arrived_ns: arrived,
            done_ns: done,
        }
    }

    #[test]
    fn buckets_are_an_eighth_wide_and_hold_every_time() {
        let mut last = 0;
        for shift in 0..64 {
            for ns in [1u64 << shift, (1 << shift) + (1 << shift) / 3] {
                assert!(bucket(ns) >= last && bucket(ns) < BUCKETS, "{ns}");
                last = bucket(ns);
                assert!(ns < 8 || bucket(ns + ns / 7) > last || ns + ns / 7 == ns, "{ns}");
            }
        }
        assert_eq!((bucket(0), bucket(7), bucket(u64::MAX)), (0, 7, BUCKETS - 1));
        assert_eq!(bucket(1000), bucket(1005));
    }

    #[test]
    fn the_parts_of_a_tail_are_told_from_those_of_the_rest() {
        let mut spans = Spans::new(3);
        for n in 0..99 {
            spans.record(&sample(n, n, Some(n + 100), n + 110));
        }
        spans.record(&sample(0, 1_000, Some(2_000), 9_000));
        let tail = spans.near(9_000).unwrap();
        let expected =
            SpanSums { count: 1, response_ns: 9_000, due_to_sent_ns: 1_000, read_ns: 7_000 };
        assert_eq!(tail, expected);
        assert_eq!(spans.near(u64::MAX), Some(expected), "the nearest that there is");
        assert_eq!(spans.near(110).unwrap().read_ns, 990);
        assert_eq!(spans.all().count, 100);
        assert_eq!(spans.read.max_ns(), Some(7_000));
        assert_eq!(Spans::new(3).near(5), None);
    }

    #[test]
    fn a_stamp_that_cannot_be_is_none() {
        let mut spans = Spans::new(3);
        for arrived in [None, Some(9), Some(21)] {
            spans.record(&sample(5, 10, arrived, 20));
        }
        assert_eq!((spans.unstamped, spans.read.count()), (3, 0));
        assert!(!spans.is_empty() && spans.near(1).is_none());
    }
}
