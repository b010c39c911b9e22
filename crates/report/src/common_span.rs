//! Common span of several clients, if shorter than the run.

use std::fmt;

use measure::Measurement;

/// Figures of the span in which all clients ran. All other figures cover the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonSpan {
    /// Length of the span in seconds; more than 0.
    pub span_s: f64,
    /// Length of the whole run in seconds; more than 0.
    pub elapsed_s: f64,
    /// Requests answered per second in that span.
    pub rate_rps: f64,
}

/// Share of a run from which a common span counts as the whole run.
const ALL_THE_TIME: f64 = 0.99;

impl CommonSpan {
    /// Takes the span from a measurement; `None` for one client, for clients that ran together all the time,
    /// or for some that never ran at the same time.
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
