//! The figures of a section, in the order in which YCSB tells them.

use measure::Latency;

use super::java;
use super::options::YcsbOptions;
use super::sections::ReturnCounts;

/// Section, name of the figure, and its number as text.
pub(super) type Figure = (String, String, String);

const NS_PER_US: u64 = 1_000;
const US_PER_BUCKET: u64 = 1_000;

/// Figures of one name.
pub(super) struct Figures<'n> {
    name: &'n str,
    pub(super) all: Vec<Figure>,
}

impl<'n> Figures<'n> {
    pub(super) fn new(name: &'n str) -> Self {
        Self { name, all: Vec::new() }
    }

    /// Returns the number of operations and their mean latency.
    pub(super) fn counted(name: &'n str, latency: &Latency) -> Self {
        let mut figures = Self::new(name);
        figures.whole("Operations", latency.count());
        let mean_ns = latency.mean_ns().unwrap_or_default();
        figures.real("AverageLatency(us)", mean_ns / NS_PER_US as f64);
        figures
    }

    pub(super) fn extremes(&mut self, latency: &Latency) {
        self.whole("MinLatency(us)", latency.min_ns().unwrap_or_default() / NS_PER_US);
        self.whole("MaxLatency(us)", latency.max_ns().unwrap_or_default() / NS_PER_US);
    }

    pub(super) fn whole(&mut self, measure: impl Into<String>, value: u64) {
        self.put(measure, value.to_string());
    }

    pub(super) fn real(&mut self, measure: impl Into<String>, value: f64) {
        self.put(measure, java::double(value));
    }

    /// Adds a line of text, whose number is a filler.
    pub(super) fn filler(&mut self, measure: &str) {
        self.put(measure, "-1".to_owned());
    }

    fn put(&mut self, measure: impl Into<String>, number: String) {
        self.all.push((self.name.to_owned(), measure.into(), number));
    }

    pub(super) fn returned(&mut self, returned: Option<ReturnCounts>) {
        let ReturnCounts { ok, unexpected, error } = returned.unwrap_or_default();
        for (status, count) in [("OK", ok), ("ERROR", error), ("UNEXPECTED_STATE", unexpected)] {
            if count > 0 {
                self.whole(format!("Return={status}"), count);
            }
        }
    }
}

pub(super) fn hdr(
    name: &str,
    latency: &Latency,
    returned: Option<ReturnCounts>,
    options: &YcsbOptions,
) -> Vec<Figure> {
    let us = |ns: Option<u64>| ns.unwrap_or_default() / NS_PER_US;
    let mut figures = Figures::counted(name, latency);
    figures.extremes(latency);
    for percentile in &options.percentiles {
        let value = us(latency.quantile_ns(percentile.quantile()));
        figures.whole(format!("{percentile}PercentileLatency(us)"), value);
    }
    figures.returned(returned);
    if options.verbose {
        for (us, count) in microseconds(latency) {
            figures.real(us.to_string(), count as f64);
        }
    }
    figures.all
}

/// Values and their counts, in microseconds.
fn microseconds(latency: &Latency) -> Vec<(u64, u64)> {
    let mut values: Vec<(u64, u64)> = Vec::new();
    for (ns, count) in latency.recorded() {
        match values.last_mut() {
            Some((us, sum)) if *us == ns / NS_PER_US => *sum += count,
            _ => values.push((ns / NS_PER_US, count)),
        }
    }
    values
}

pub(super) fn buckets(
    name: &str,
    latency: &Latency,
    returned: Option<ReturnCounts>,
    options: &YcsbOptions,
) -> Vec<Figure> {
    let values = microseconds(latency);
    let total = latency.count();
    let mean = latency.mean_ns().unwrap_or_default() / NS_PER_US as f64;
    let squares = values.iter().map(|(us, count)| (*us as f64 - mean).powi(2) * *count as f64);
    let variance = squares.sum::<f64>() / total.max(1) as f64;
    let mut figures = Figures::counted(name, latency);
    figures.real("LatencyVariance(us)", variance);
    figures.extremes(latency);
    let mut counts = vec![0u64; options.buckets];
    let mut over = 0;
    for (us, count) in values {
        match counts.get_mut((us / US_PER_BUCKET) as usize) {
            Some(bucket) => *bucket += count,
            None => over += count,
        }
    }
    // An operation slower than all buckets has no percentile in YCSB.
    for (label, part) in [("95th", 0.95), ("99th", 0.99)] {
        let mut sum = 0;
        let reached = counts.iter().position(|count| {
            sum += count;
            sum as f64 / total.max(1) as f64 >= part
        });
        if let Some(bucket) = reached {
            figures.whole(format!("{label}PercentileLatency(us)"), bucket as u64 * US_PER_BUCKET);
        }
    }
    figures.returned(returned);
    if options.verbose {
        for (bucket, count) in counts.iter().enumerate() {
            figures.whole(bucket.to_string(), *count);
        }
        figures.whole(format!(">{}", options.buckets), over);
    }
    figures.all
}
