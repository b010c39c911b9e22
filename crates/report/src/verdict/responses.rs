//! Responses of a run by spans of time.

use crate::{Run, Summary};

/// The response times of a span of a run.
#[derive(Debug, Clone)]
pub(crate) struct SpanResponses {
    /// Nanoseconds from the start of the measured part.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// Response times with the number of each, the shortest first.
    pub(crate) times: Vec<(u64, u64)>,
    /// Greatest delay by the client itself.
    pub(crate) own_late_max_ns: u64,
}

impl SpanResponses {
    /// Returns the number of responses.
    pub(crate) fn count(&self) -> u64 {
        self.times.iter().map(|(_, count)| count).sum()
    }

    /// The longest.
    pub(crate) fn max_ns(&self) -> u64 {
        self.times.last().map_or(0, |(ns, _)| *ns)
    }

    /// Returns the number of responses that took `below_ns` or longer.
    pub(crate) fn beyond(&self, below_ns: f64) -> u64 {
        self.times.iter().filter(|(ns, _)| *ns as f64 >= below_ns).map(|(_, count)| count).sum()
    }
}

/// Responses of a run by spans of time; one span for the whole run if its timeline is incomplete.
pub(crate) fn response_spans(summary: &Summary<'_>) -> Vec<SpanResponses> {
    let Run { measurement, .. } = summary.run;
    let interval_ns = measurement.timeline.interval_ns;
    let responses = measurement.timeline.points.iter().filter_map(|point| {
        let from_ns = u64::from(point.index).saturating_mul(interval_ns);
        Some(SpanResponses {
            from_ns,
            to_ns: from_ns.saturating_add(interval_ns),
            times: point.response.as_ref()?.decode().ok()?.recorded().collect(),
            own_late_max_ns: point.own_late_max_ns.unwrap_or_default(),
        })
    });
    let spans: Vec<SpanResponses> = responses.collect();
    let all: u64 = spans.iter().map(SpanResponses::count).sum();
    if all == summary.response_times.count() {
        return spans;
    }
    let late = measurement.total.lateness.as_ref();
    vec![SpanResponses {
        from_ns: 0,
        to_ns: measurement.elapsed_ns,
        times: summary.response_times.recorded().collect(),
        own_late_max_ns: late.and_then(|late| late.own.max_ns()).unwrap_or_default(),
    }]
}
