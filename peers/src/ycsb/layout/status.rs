//! The line that `-s` prints every few seconds.

use std::fmt::Write;

use measure::Latency;

use super::options::{Kind, OtherFigures};
use super::sections::Section;

/// Content of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusLine<'s> {
    /// Text before the date.
    pub(crate) label: &'s str,
    /// The time of day, as `2026-11-21 22:40:07:512`.
    pub(crate) at: &'s str,
    /// Seconds since load began.
    pub(crate) elapsed_s: u64,
    /// Operations since then.
    pub(crate) operations: u64,
    /// Operations per second since the last line.
    pub(crate) rate: f64,
    /// Seconds until all have been carried out, if that is known and some are left.
    pub(crate) left_s: Option<u64>,
    /// Figures since the last line.
    pub(crate) sections: &'s [Section],
    /// Kind of figures about latencies.
    pub(crate) kind: Kind,
}

/// The line, without its end.
pub(crate) fn status_line(line: &StatusLine<'_>) -> String {
    let StatusLine { label, at, elapsed_s, operations, rate, left_s, sections, kind } = line;
    let mut text = format!("{label}{at} {elapsed_s} sec: {operations} operations; ");
    if *operations > 0 {
        let _ = write!(text, "{} current ops/sec; ", short(*rate));
    }
    if let Some(left_s) = left_s {
        let _ = write!(text, "est completion in {}", remaining(*left_s));
    }
    for Section { name, latency, .. } in sections.iter() {
        if latency.count() > 0 {
            // Each line has two.
            let first = kind.hdr_name(name).map(|name| of_histogram(&name, latency));
            let other = kind.other(name).map(|(name, other)| on_average(&name, latency, other));
            let both: Vec<String> = first.into_iter().chain(other).collect();
            text += &(both.join("\n") + " ");
        }
    }
    text
}

/// The status text of a section without percentiles.
fn on_average(name: &str, latency: &Latency, figures: OtherFigures) -> String {
    let us = latency.mean_ns().unwrap_or_default() / 1e3;
    if figures == OtherFigures::Raw {
        format!("{name} count: {}, average latency(us): {us:.2}", latency.count())
    } else {
        format!("[{name} AverageLatency(us)={}]", short(us))
    }
}

fn of_histogram(name: &str, latency: &Latency) -> String {
    let us = |ns: Option<u64>| ns.unwrap_or_default() / 1000;
    let quantile = |q: f64| us(latency.quantile_ns(q));
    format!(
        "[{name}: Count={}, Max={}, Min={}, Avg={}, 90={}, 99={}, 99.9={}, 99.99={}]",
        latency.count(),
        us(latency.max_ns()),
        us(latency.min_ns()),
        short(latency.mean_ns().unwrap_or_default() / 1e3),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        quantile(0.9999)
    )
}

/// Formats a number with at most two decimals, and none that are zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time as YCSB prints it: days, hours and minutes, and seconds of less than a minute.
fn remaining(seconds: u64) -> String {
    let mut text = String::new();
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    let minutes = if days < 1 { minutes } else { 0 };
    for (count, unit) in [(days, "day"), (hours, "hour"), (minutes, "minute")] {
        if count > 0 {
            let _ = write!(text, "{count} {unit}{} ", if count == 1 { "" } else { "s" });
        }
    }
    if seconds < 60 {
        let word = if rest < 10 { "second" } else { "seconds" };
        let _ = write!(text, "{rest} {word} ");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_that_of_ycsb() {
        let mut latency = Latency::new(3);
        latency.record_n(150_000, 3);
        latency.record_n(40_000, 1);
        let sections = [Section { name: "READ".into(), latency, returned: None }];
        let line = StatusLine {
            label: "x",
            at: "2026-11-21 22:40:07:512",
            elapsed_s: 10,
            operations: 4,
            rate: 0.4,
            left_s: Some(60),
            sections: &sections,
            kind: Kind::named("hdrhistogram").unwrap(),
        };
        assert_eq!(
            status_line(&line),
            "x2026-11-21 22:40:07:512 10 sec: 4 operations; 0.4 current ops/sec; est completion in \
             1 minute [READ: Count=4, Max=150, Min=40, Avg=122.5, 90=150, 99=150, 99.9=150, \
             99.99=150] "
        );
        let endless = StatusLine { left_s: None, ..line };
        assert!(!status_line(&endless).contains("est "));
        for (kind, text) in [
            ("raw", "ops/sec; READ count: 4, average latency(us): 122.50 "),
            ("histogram", "ops/sec; [READ AverageLatency(us)=122.5] "),
            ("timeseries", "ops/sec; [READ AverageLatency(us)=122.5] "),
            ("hdrhistogram+histogram", "99.99=150]\n[BucketREAD AverageLatency(us)=122.5] "),
            ("hdrhistogram+raw", "99.99=150]\nRawREAD count: 4, average latency(us): 122.50 "),
        ] {
            let line = status_line(&StatusLine { kind: Kind::named(kind).unwrap(), ..endless });
            assert!(line.ends_with(text), "{kind}: {line}");
        }
    }

    #[test]
    fn times_are_reported_as_ycsb_tells_them() {
        for (seconds, text) in [
            (7, "7 second "),
            (1, "1 second "),
            (42, "42 seconds "),
            (60, "1 minute "),
            (3725, "1 hour 2 minutes "),
            (90_000, "1 day 1 hour "),
            (180_060, "2 days 2 hours "),
        ] {
            assert_eq!(remaining(seconds), text);
        }
    }
}
