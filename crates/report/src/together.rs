//! The part of several clients' runs that the figures of their sum are of.

use std::fmt;

use measure::{AllRan, Latency, Measurement};

/// The time in which all of several clients ran, where that was not all the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Together {
    /// Requests that were answered in it.
    pub requests: u64,
    /// How long it was, in seconds.
    pub span_s: f64,
    /// Whether response times are of those requests, and not of all because they were not kept.
    pub latencies: bool,
}

impl Together {
    /// The part of a measurement, and the response times in it where all of them were kept; `None` if
    /// it is of one client, or of clients that ran all the time.
    pub(crate) fn of(measurement: &Measurement) -> Option<(Self, Option<Latency>)> {
        let AllRan { requests, span_s, response } =
            measurement.timeline.while_all_ran(measurement.elapsed_ns)?;
        Some((Self { requests, span_s, latencies: response.is_some() }, response))
    }

    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 / self.span_s
    }
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, span_s, latencies } = self;
        let figures =
            if *latencies { "throughput and response times are" } else { "throughput is" };
        write!(
            f,
            "{figures} from the {span_s:.2} seconds in which all clients ran ({requests} \
             requests)"
        )?;
        if *latencies { Ok(()) } else { f.write_str("; latencies are of all requests") }
    }
}
