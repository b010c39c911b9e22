//! The figures of a section, in the order in which YCSB tells them.

use measure::Latency;

use super::options::{Kind, YcsbOptions};
use super::sections::{Returned, Section};

/// A name, what is told of it, and how much.
pub(super) type Figure = (String, String, Value);

/// A number, whole or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Real(f64),
}

const NS_PER_US: u64 = 1_000;
const US_PER_BUCKET: u64 = 1_000;

/// All figures of a section.
pub(super) fn of_section(section: &Section, options: &YcsbOptions) -> Vec<Figure> {
    let Section { name, latency, returned } = section;
    match options.kind {
        Kind::Hdr => hdr(name, latency, *returned, options),
        Kind::Buckets => buckets(name, latency, *returned, options),
        Kind::HdrAndBuckets => {
            let mut all = hdr(&format!("Hdr{name}"), latency, *returned, options);
            all.extend(buckets(&format!("Bucket{name}"), latency, None, options));
            all
        }
        Kind::TimeSeries => {
            let mut figures = Figures::of(name, latency);
            figures.extremes(latency);
            figures.returned(*returned);
            figures.all
        }
    }
}

struct Figures<'n> {
    name: &'n str,
    all: Vec<Figure>,
}

impl<'n> Figures<'n> {
    /// How many there were, and how long they took on average.
    fn of(name: &'n str, latency: &Latency) -> Self {
        let mut figures = Self { name, all: Vec::new() };
        figures.whole("Operations", latency.count());
        let mean_ns = latency.mean_ns().unwrap_or_default();
        figures.real("AverageLatency(us)", mean_ns / NS_PER_US as f64);
        figures
    }

    fn extremes(&mut self, latency: &Latency) {
        self.whole("MinLatency(us)", latency.min_ns().unwrap_or_default() / NS_PER_US);
        self.whole("MaxLatency(us)", latency.max_ns().unwrap_or_default() / NS_PER_US);
    }

    fn whole(&mut self, measure: impl Into<String>, value: u64) {
        self.all.push((self.name.to_owned(), measure.into(), Value::Whole(value)));
    }

    fn real(&mut self, measure: impl Into<String>, value: f64) {
        self.all.push((self.name.to_owned(), measure.into(), Value::Real(value)));
    }

    fn returned(&mut self, returned: Option<Returned>) {
        let Returned { ok, unexpected, error } = returned.unwrap_or_default();
        for (status, count) in [("OK", ok), ("ERROR", error), ("UNEXPECTED_STATE", unexpected)] {
            if count > 0 {
                self.whole(format!("Return={status}"), count);
            }
        }
    }
}

fn hdr(
    name: &str,
    latency: &Latency,
    returned: Option<Returned>,
    options: &YcsbOptions,
) -> Vec<Figure> {
    let us = |ns: Option<u64>| ns.unwrap_or_default() / NS_PER_US;
    let mut figures = Figures::of(name, latency);
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

fn buckets(
    name: &str,
    latency: &Latency,
    returned: Option<Returned>,
    options: &YcsbOptions,
) -> Vec<Figure> {
    let values = microseconds(latency);
    let total = latency.count();
    let mean = latency.mean_ns().unwrap_or_default() / NS_PER_US as f64;
    let square = |(us, count): &(u64, u64)| (*us as f64 - mean).powi(2) * *count as f64;
    let variance = values.iter().map(square).sum::<f64>() / total.max(1) as f64;
    let mut figures = Figures::of(name, latency);
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
    // What is slower than all buckets has no percentile there.
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
