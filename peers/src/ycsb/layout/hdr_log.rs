//! Logs of histograms, one file for each section, in microseconds as YCSB writes them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use measure::Latency;

use super::options::Kind;
use super::sections::Section;

/// Microseconds per second: Java's writer gives the column of greatest values in seconds.
const US_PER_S: f64 = 1e6;
const NS_PER_US: u64 = 1_000;

/// The logs of a run.
#[derive(Debug, Default)]
pub(crate) struct HdrFiles {
    sections: BTreeMap<String, Vec<LogLine>>,
}

/// Line of a log.
#[derive(Debug, Clone)]
pub(crate) struct LogLine {
    /// Start of the span, since the start of the run.
    pub(crate) from: Duration,
    /// Length of the span.
    pub(crate) length: Duration,
    /// Latencies in the span.
    pub(crate) latency: Latency,
}

impl HdrFiles {
    /// Adds a line to the log of each section that has a histogram.
    pub(crate) fn add(
        &mut self,
        sections: &[Section],
        kind: Kind,
        from: Duration,
        length: Duration,
    ) {
        for Section { name, latency, .. } in sections {
            let Some(name) = kind.hdr_name(name) else { continue };
            let line = LogLine { from, length, latency: latency.clone() };
            self.sections.entry(name).or_default().push(line);
        }
    }

    /// The name of each section and its log.
    ///
    /// # Errors
    /// Returns an error if a histogram cannot be written.
    pub(crate) fn files(&self, started_at: SystemTime) -> Result<Vec<(&str, Vec<u8>)>> {
        let sections = self.sections.iter();
        sections.map(|(name, lines)| Ok((name.as_str(), log(name, lines, started_at)?))).collect()
    }
}

fn log(name: &str, lines: &[LogLine], started_at: SystemTime) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .add_comment(&format!("[Logging for: {name}]"))
        .add_comment("[Histogram log format version 1.2]")
        .with_start_time(started_at.max(SystemTime::UNIX_EPOCH))
        .begin_log_with(&mut out, &mut serializer)?;
    out.extend_from_slice(
        b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
          \"Interval_Compressed_Histogram\"\n",
    );
    let mut text = Vec::new();
    let mut builder = IntervalLogWriterBuilder::new();
    let builder = builder.with_max_value_divisor(US_PER_S);
    let mut log = builder.begin_log_with(&mut text, &mut serializer)?;
    for LogLine { from, length, latency } in lines {
        let written = log.write_histogram(&microseconds(latency)?, *from, *length, None);
        written.map_err(|error| anyhow!("{error}"))?;
    }
    drop(log);
    out.extend(text);
    Ok(out)
}

/// Converts a histogram to microseconds.
fn microseconds(latency: &Latency) -> Result<Histogram<u64>> {
    let mut histogram = Histogram::<u64>::new(3)?;
    for (ns, count) in latency.recorded() {
        histogram.record_n(ns / NS_PER_US, count)?;
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn readers_of_logs_find_every_microsecond() {
        let mut latency = Latency::new(3);
        for ns in [0, 900, 41_000, 41_999, 8_183_000, 3_600_000_000_000] {
            latency.record_n(ns, 2);
        }
        let sections = [Section { name: "READ".into(), latency, returned: None }];
        let kind = |name: &str| Kind::named(name).unwrap();
        let mut files = HdrFiles::default();
        files.add(&sections, kind("raw"), Duration::ZERO, Duration::from_secs(1));
        files.add(&sections, kind("hdrhistogram"), Duration::from_secs(1), Duration::from_secs(2));
        let files = files.files(SystemTime::UNIX_EPOCH).unwrap();
        let [(name, log)] = &files[..] else { panic!("{files:?}") };
        assert_eq!(*name, "READ");
        let lines = IntervalLogIterator::new(log).map(Result::unwrap);
        let line = lines.filter_map(|entry| match entry {
            LogEntry::Interval(line) => Some(line),
            _ => None,
        });
        let [line] = &line.collect::<Vec<_>>()[..] else { panic!("one line") };
        let bytes = base64::engine::general_purpose::STANDARD.decode(line.encoded_histogram());
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.unwrap().as_slice()).unwrap();
        // Three digits of 41.999 µs may be those of 42.
        let near = histogram.count_between(41, 42);
        assert_eq!((histogram.len(), near, histogram.count_at(0)), (12, 4, 4));
        assert!(histogram.max().abs_diff(3_600_000_000) < 3_600_000);
        assert!((line.max() - 3600.0).abs() < 4.0, "{}", line.max());
    }
}
