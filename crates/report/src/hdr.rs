//! Runs as a log of histograms: the HdrHistogram log format, version 1.3, which other tools plot
//! (<https://github.com/HdrHistogram/HdrHistogram>, `HistogramLogWriter`).
//!
//! A line is one interval of a test's timeline: tag, start, length, greatest response time in milliseconds,
//! and all response times in nanoseconds. Intervals without a reply have no line.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use measure::Timeline;

use crate::{RecordError, Run};

/// A log of tests.
#[derive(Debug, Clone, Default)]
pub struct HdrLog {
    tests: Vec<Test>,
}

#[derive(Debug, Clone)]
struct Test {
    tag: String,
    started_at: SystemTime,
    elapsed_ns: u64,
    timeline: Timeline,
}

/// Conversion to the milliseconds that plotting tools expect in the column of greatest values.
const NS_PER_MS: f64 = 1e6;

impl HdrLog {
    /// Puts test number `at`: replaces it, or adds it at the end.
    pub fn put(&mut self, at: usize, run: &Run) {
        let measurement = &run.measurement;
        let test = Test {
            tag: tag(&run.plan.name),
            started_at: measurement.started_at,
            elapsed_ns: measurement.elapsed_ns,
            timeline: measurement.timeline.clone(),
        };
        match self.tests.get_mut(at) {
            Some(place) => *place = test,
            None => self.tests.push(test),
        }
    }

    /// The text of the log.
    ///
    /// # Errors
    /// Returns an error if a histogram cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        let fault = |e: &dyn std::fmt::Display| RecordError::wrong(e.to_string());
        let mut out = Vec::new();
        let start = self.tests.iter().map(|test| test.started_at).min();
        let start = start.unwrap_or(SystemTime::UNIX_EPOCH).max(SystemTime::UNIX_EPOCH);
        self.write_head(start, &mut out).map_err(|e| fault(&e))?;
        let mut serializer = V2DeflateSerializer::new();
        let mut log = IntervalLogWriterBuilder::new();
        let log = log.with_max_value_divisor(NS_PER_MS);
        // The divisor is a setting of the writer and, to it, a line of the head.
        let mut lines = Vec::new();
        let mut log = log.begin_log_with(&mut lines, &mut serializer).map_err(|e| fault(&e))?;
        for test in &self.tests {
            let since = test.started_at.duration_since(start).unwrap_or_default();
            for point in &test.timeline.points {
                let Some(response) = &point.response else { continue };
                let interval_ns = test.timeline.interval_ns;
                let from_ns = u64::from(point.index).saturating_mul(interval_ns);
                let length_ns = interval_ns.min(test.elapsed_ns.saturating_sub(from_ns));
                let length = Duration::from_nanos(length_ns);
                let from = since.saturating_add(Duration::from_nanos(from_ns));
                let latency = response.decode()?;
                log.write_histogram(&latency.histogram(), from, length, Tag::new(&test.tag))
                    .map_err(|e| fault(&e))?;
            }
        }
        drop(log);
        out.extend(lines);
        Ok(out)
    }

    /// Writes the head. The names of the columns are not a comment, and every reader knows them.
    fn write_head(&self, start: SystemTime, out: &mut Vec<u8>) -> io::Result<()> {
        let mut serializer = V2DeflateSerializer::new();
        IntervalLogWriterBuilder::new()
            .add_comment("[Response times in nanoseconds, logged by keystorm]")
            .add_comment("[Histogram log format version 1.3]")
            .with_start_time(start)
            .with_base_time(start)
            .begin_log_with(out, &mut serializer)?;
        out.extend_from_slice(
            b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
              \"Interval_Compressed_Histogram\"\n",
        );
        Ok(())
    }
}

/// A name as a tag, without commas, blanks and line ends.
fn tag(name: &str) -> String {
    let safe = crate::escape(name);
    let tag = safe.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c });
    tag.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use base64::Engine as _;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn readers_of_the_format_find_every_reply() {
        let mut log = HdrLog::default();
        let mut second = fixture::paced();
        second.measurement.started_at += Duration::from_secs(100);
        log.put(0, &fixture::paced());
        log.put(1, &second);
        let bytes = log.to_bytes().unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains("#[Histogram log format version 1.3]\n#[StartTime: "), "{text}");
        let (mut found, mut starts) = (0, Vec::new());
        for entry in IntervalLogIterator::new(&bytes) {
            let LogEntry::Interval(line) = entry.unwrap() else { continue };
            assert_eq!(line.tag().unwrap().as_str(), "SET");
            starts.push(line.start_timestamp().as_millis());
            let bytes = base64::engine::general_purpose::STANDARD;
            let bytes = bytes.decode(line.encoded_histogram()).unwrap();
            let histogram: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert!((line.max() * 1e6 - histogram.max() as f64).abs() < 1e4, "{}", line.max());
            found += histogram.len();
        }
        assert_eq!(found, 2 * 2000);
        assert_eq!(starts, [0, 250, 100_000, 100_250]);
    }

    #[test]
    fn a_tag_breaks_no_line() {
        assert_eq!(tag("set a,b\r\n\u{2028}"), "set_a_b\\r\\n\\u{2028}");
    }

    #[test]
    fn nothing_has_a_head_alone() {
        let text = String::from_utf8(HdrLog::default().to_bytes().unwrap()).unwrap();
        assert!(
            text.contains("\"StartTimestamp\"") && text.lines().all(|l| l.starts_with(['#', '"']))
        );
    }
}
