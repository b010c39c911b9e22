//! Common span of several clients, if shorter than the run.

use measure::Measurement;

/// Share of a run from which a common span counts as the whole run.
const ALL_THE_TIME: f64 = 0.99;

/// Describes the span in which all clients ran, with its rate; all figures cover the whole run. `None` for one client,
/// for clients that ran together all the time, or for some that never ran at the same time.
pub(crate) fn common_span(measurement: &Measurement) -> Option<String> {
    let span = measurement.timeline.all_ran.as_ref()?;
    let span_s = span.end.saturating_sub(span.start) as f64 / 1e9;
    let elapsed_s = measurement.elapsed_ns as f64 / 1e9;
    if span_s <= 0.0 || span_s >= ALL_THE_TIME * elapsed_s {
        return None;
    }
    let answered = measurement.timeline.answered_within(span, measurement.elapsed_ns);
    let rate_rps = answered / span_s;
    Some(format!(
        "all clients ran at the same time for {span_s:.2} of the {elapsed_s:.2} seconds, with \
         {rate_rps:.2} requests/s"
    ))
}
