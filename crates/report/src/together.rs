//! For how long several clients ran at the same time, where that was not all the time.

use std::fmt;

use measure::Measurement;

/// Figures of the time in which all clients ran. All other figures are of the whole run: everything divides by one
/// time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonSpan {
    /// Seconds during which all of them ran; more than 0.
    pub span_s: f64,
    /// Seconds of the whole run; more than 0.
    pub elapsed_s: f64,
    /// Requests per second that were answered in that time.
    pub rate_rps: f64,
}

/// Share of a run from which clients that ran at the same time count as running together throughout.
const ALL_THE_TIME: f64 = 0.99;

impl CommonSpan {
    /// Takes the span from a measurement; `None` if it is of one client, of clients that ran all the time, or of some
    /// that never ran at the same time.
    pub(crate) fn from_measurement(measurement: &Measurement) -> Option<Self> {
        let span = measurement.timeline.all_ran.as_ref()?;
        let span_s = span.end.saturating_sub(span.start) as f64 / 1e9;
        let elapsed_s = measurement.elapsed_ns as f64 / 1e9;
        if span_s <= 0.0 || span_s >= ALL_THE_TIME * elapsed_s {
            return None;
        }
        let answered = measurement.timeline.answered_within(span, measurement.elapsed_ns);
        Some(Self { span_s, elapsed_s, rate_rps: answered / span_s })
    }
}

impl fmt::Display for CommonSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { span_s, elapsed_s, rate_rps } = self;
        write!(
            f,
            "all clients ran at the same time for {span_s:.2} of the {elapsed_s:.2} seconds, with \
             {rate_rps:.2} requests/s"
        )
    }
}
