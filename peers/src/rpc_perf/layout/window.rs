//! A window: a dozen lines with its figures per second.

use std::fmt::Write;
use std::time::SystemTime;

use measure::Latency;

use super::Figures;
use super::figures::Counts;

/// Content of a window.
#[derive(Debug)]
pub(crate) struct Window<'f> {
    /// Number of the window, from 0.
    pub(crate) number: u64,
    /// Seconds.
    pub(crate) seconds: f64,
    /// Connections that are open at its end.
    pub(crate) open: u64,
    /// Figures of the window.
    pub(crate) figures: &'f Figures,
}

/// The percentiles of its lines.
pub(super) const PERCENTILES: [(&str, f64); 8] = [
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p999", 0.999),
    ("p9999", 0.9999),
    ("max", 1.0),
];

impl Window<'_> {
    /// Formats the window, line by line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Figures { opened, closed, timeout, all, latency, .. } = self.figures;
        let Counts { ok, exception, hit, miss } = all;
        let rate = |count: u64| count as f64 / self.seconds;
        let requests = self.figures.requests();
        vec![
            "-----".to_owned(),
            format!("Window: {}", self.number),
            format!(
                "Client Connection: Open: {} Success Rate: {:.2} %",
                self.open,
                share(*opened, *opened)
            ),
            format!(
                "Client Connection Rates (/s): Attempt: {:.2} Opened: {:.2} Errors: 0.00 Timeout: 0.00 \
                 Closed: {:.2}",
                rate(*opened),
                rate(*opened),
                rate(*closed)
            ),
            format!(
                "Client Request: Success: {:.2} % Unsupported: {:.2} %",
                share(requests, requests),
                share(0, requests)
            ),
            format!("Client Request Rate (/s): Ok: {:.2} Unsupported: 0.00", rate(requests)),
            format!(
                "Client Response: Success: {:.2} % Timeout: {:.2} % Hit: {:.2} %",
                share(*ok, requests),
                share(*timeout, requests),
                share(*hit, hit + miss)
            ),
            format!(
                "Client Response Rate (/s): Ok: {:.2} Error: {:.2} Timeout: {:.2}",
                rate(*ok),
                rate(*exception),
                rate(*timeout)
            ),
            latencies("Client Response Latency (us):", latency[0].as_ref()),
            latencies("Client Key-Value SET Response Latency (us):", latency[2].as_ref()),
            latencies("Client Key-Value GET Response Latency (us):", latency[1].as_ref()),
            "Client Time-to-First-Byte (us):".to_owned(),
        ]
    }
}

/// Returns a share in percent; NaN of nothing, which is printed so.
fn share(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of as f64
}

fn latencies(label: &str, latency: Option<&Latency>) -> String {
    let mut line = label.to_owned();
    for (name, quantile) in PERCENTILES {
        if let Some(ns) = latency.and_then(|latency| latency.quantile_ns(quantile)) {
            let _ = write!(line, " {name}: {}", ns / 1000);
        }
    }
    line
}

/// A line behind the time in UTC.
pub(crate) fn stamped(at: SystemTime, line: &str) -> String {
    let time = humantime::format_rfc3339_millis(at.max(SystemTime::UNIX_EPOCH)).to_string();
    format!("{}+00:00 {line}\n", time.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lines(figures: &Figures) -> String {
        let window = Window { number: 3, seconds: 2.0, open: 20, figures };
        window.lines().join("\n")
    }

    #[test]
    fn a_window_of_nothing_has_no_numbers_where_there_are_none() {
        let expected = "-----
Window: 3
Client Connection: Open: 20 Success Rate: NaN %
Client Connection Rates (/s): Attempt: 0.00 Opened: 0.00 Errors: 0.00 Timeout: 0.00 Closed: 0.00
Client Request: Success: NaN % Unsupported: NaN %
Client Request Rate (/s): Ok: 0.00 Unsupported: 0.00
Client Response: Success: NaN % Timeout: NaN % Hit: NaN %
Client Response Rate (/s): Ok: 0.00 Error: 0.00 Timeout: 0.00
Client Response Latency (us):
Client Key-Value SET Response Latency (us):
Client Key-Value GET Response Latency (us):
Client Time-to-First-Byte (us):";
        assert_eq!(lines(&Figures::default()), expected);
    }

    #[test]
    fn a_window_tells_rates_per_second_and_whole_microseconds() {
        let mut get = Latency::new(3);
        get.record_n(61_900, 3);
        get.record_n(1_500_000, 1);
        let figures = Figures {
            opened: 1,
            closed: 3,
            timeout: 3,
            all: Counts { ok: 4, exception: 1, hit: 3, miss: 1 },
            latency: [Some(get.clone()), Some(get), None],
            verbs: Vec::new(),
        };
        let expected = "-----
Window: 3
Client Connection: Open: 20 Success Rate: 100.00 %
Client Connection Rates (/s): Attempt: 0.50 Opened: 0.50 Errors: 0.00 Timeout: 0.00 Closed: 1.50
Client Request: Success: 100.00 % Unsupported: 0.00 %
Client Request Rate (/s): Ok: 4.00 Unsupported: 0.00
Client Response: Success: 50.00 % Timeout: 37.50 % Hit: 75.00 %
Client Response Rate (/s): Ok: 2.00 Error: 0.50 Timeout: 1.50
Client Response Latency (us): p25: 61 p50: 61 p75: 61 p90: 1500 p99: 1500 p999: 1500 p9999: 1500 max: 1500
Client Key-Value SET Response Latency (us):
Client Key-Value GET Response Latency (us): p25: 61 p50: 61 p75: 61 p90: 1500 p99: 1500 p999: 1500 p9999: 1500 max: 1500
Client Time-to-First-Byte (us):";
        assert_eq!(lines(&figures), expected);
    }

    #[test]
    fn stamps_are_of_utc_to_the_millisecond() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_004);
        assert_eq!(stamped(at, "Window: 0"), "2023-11-14T22:13:20.004+00:00 Window: 0\n");
    }
}
