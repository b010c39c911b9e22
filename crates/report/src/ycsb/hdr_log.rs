//! Logs of histograms, one file for each section, in microseconds as YCSB writes them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use measure::Latency;

use super::sections::Section;
use crate::RecordError;

/// The column of greatest values is in seconds, as Java's writer has it.
const US_PER_S: f64 = 1e6;
const NS_PER_US: u64 = 1_000;

/// The logs of a run.
#[derive(Debug, Default)]
pub struct HdrFiles {
    sections: BTreeMap<String, Vec<Logged>>,
}

/// One line of a log.
#[derive(Debug, Clone)]
pub struct Logged {
    /// When it began, after the run did.
    pub from: Duration,
    /// How long it was.
    pub length: Duration,
    /// What came in it.
    pub latency: Latency,
}

impl HdrFiles {
    /// Adds a line to the log of each section.
    pub fn add(&mut self, sections: &[Section], from: Duration, length: Duration) {
        for Section { name, latency, .. } in sections {
            let line = Logged { from, length, latency: latency.clone() };
            self.sections.entry(name.clone()).or_default().push(line);
        }
    }

    /// The name of each section and its log.
    ///
    /// # Errors
    /// A histogram cannot be written.
    pub fn files(&self, started_at: SystemTime) -> Result<Vec<(&str, Vec<u8>)>, RecordError> {
        let mut files = Vec::new();
        for (name, lines) in &self.sections {
            files.push((name.as_str(), log(name, lines, started_at)?));
        }
        Ok(files)
    }
}

fn log(name: &str, lines: &[Logged], started_at: SystemTime) -> Result<Vec<u8>, RecordError> {
    let fault = |e: &dyn std::fmt::Display| RecordError::wrong(e.to_string());
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .add_comment(&format!("[Logging for: {name}]"))
        .add_comment("[Histogram log format version 1.2]")
        .with_start_time(started_at.max(SystemTime::UNIX_EPOCH))
        .begin_log_with(&mut out, &mut serializer)
        .map_err(|e| fault(&e))?;
    out.extend_from_slice(
        b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
          \"Interval_Compressed_Histogram\"\n",
    );
    let mut text = Vec::new();
    let mut builder = IntervalLogWriterBuilder::new();
    let builder = builder.with_max_value_divisor(US_PER_S);
    let mut log = builder.begin_log_with(&mut text, &mut serializer).map_err(|e| fault(&e))?;
    for Logged { from, length, latency } in lines {
        let histogram = microseconds(latency).map_err(|e| fault(&e))?;
        log.write_histogram(&histogram, *from, *length, None).map_err(|e| fault(&e))?;
    }
    drop(log);
    out.extend(text);
    Ok(out)
}

/// The same values in microseconds.
fn microseconds(latency: &Latency) -> Result<Histogram<u64>, hdrhistogram::CreationError> {
    let mut histogram = Histogram::<u64>::new(3)?;
    for (ns, count) in latency.recorded() {
        histogram.saturating_record_n(ns / NS_PER_US, count);
    }
    Ok(histogram)
}
