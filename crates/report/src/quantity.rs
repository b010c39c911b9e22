//! Numbers as text: nanoseconds as milliseconds with three decimals, whole numbers with commas.
//!
//! Owns the rounding, so that a figure reads alike everywhere. A percentile or a greatest value says that
//! latencies are *at most* that long, so it is rounded up to the microsecond and stays true; a mean or a
//! least value is rounded to the nearest.

use std::borrow::Borrow;
use std::fmt::Display;

use crate::{LatencyFigures, resting};

/// `ns` rounded up to the microsecond. Whole numbers throughout, so exact also for days.
#[must_use]
pub fn msec_at_most(ns: u64) -> String {
    let us = ns.div_ceil(1000);
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// `ns` rounded to the nearest microsecond.
#[must_use]
pub fn msec(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// A whole number with commas between thousands.
#[must_use]
pub fn grouped(value: f64) -> String {
    let plain = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in plain.char_indices() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < -0.5 { format!("−{text}") } else { text }
}

/// Bytes in megabytes, with the unit.
pub(crate) fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

/// Joins names in a sentence, the last after `and`, such as ` and `.
#[must_use]
pub fn listed<S: Borrow<str> + Display>(names: &[S], and: &str) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{}{and}{last}", others.join(", ")),
        names => names.concat(),
    }
}

/// Six columns of a latency in the classic reports.
pub(crate) const COLUMNS: [&str; 6] = ["avg", "min", "p50", "p95", "p99", "max"];

/// Returns the columns in milliseconds, with `none` in each if there is no reply.
pub(crate) fn msec_columns_or(none: &str, figures: &LatencyFigures) -> [String; 6] {
    match figures.count {
        0 => COLUMNS.map(|_| none.to_owned()),
        _ => msec_columns(figures),
    }
}

/// The quantiles among [`COLUMNS`].
pub(crate) const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Columns like [`msec_columns_or`], with a mark at each percentile of too few samples.
pub(crate) fn marked_columns_or(none: &str, figures: &LatencyFigures) -> [String; 6] {
    let [avg, min, p50, p95, p99, max] = msec_columns_or(none, figures);
    let marked = |text, quantile| resting::marked(text, quantile, figures.count);
    let [median, high, tail] = QUANTILES;
    [avg, min, marked(p50, median), marked(p95, high), marked(p99, tail), max]
}

/// Columns of an open loop, where one request in a thousand matters to some user.
pub(crate) const OPEN_COLUMNS: [&str; 7] = ["avg", "min", "p50", "p95", "p99", "p99.9", "max"];

/// The quantiles among [`OPEN_COLUMNS`].
pub(crate) const OPEN_QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// Columns like [`marked_columns_or`], for [`OPEN_COLUMNS`].
pub(crate) fn marked_open_columns_or(none: &str, figures: &LatencyFigures) -> [String; 7] {
    let [avg, min, p50, p95, p99, max] = marked_columns_or(none, figures);
    let tail = match figures.count {
        0 => none.to_owned(),
        count => resting::marked(figures.msec_at_most(figures.p999_ns), 0.999, count),
    };
    [avg, min, p50, p95, p99, tail, max]
}

/// A latency in milliseconds, in the order of [`COLUMNS`].
pub(crate) fn msec_columns(figures: &LatencyFigures) -> [String; 6] {
    let exact = |ns: f64| {
        if ns <= figures.below_ns as f64 {
            figures.msec_at_most(figures.below_ns)
        } else {
            msec(ns)
        }
    };
    [
        exact(figures.mean_ns),
        exact(figures.min_ns as f64),
        figures.msec_at_most(figures.p50_ns),
        figures.msec_at_most(figures.p95_ns),
        figures.msec_at_most(figures.p99_ns),
        figures.msec_at_most(figures.max_ns),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let shown = [1_234_567.4, 999.0, 0.0, -0.2, -1000.0].map(grouped);
        assert_eq!(shown, ["1,234,567", "999", "0", "0", "−1,000"]);
    }

    #[test]
    fn bounds_round_up_and_others_to_the_nearest() {
        assert_eq!(msec_at_most(351_001), "0.352");
        assert_eq!(msec_at_most(351_000), "0.351");
        assert_eq!(msec_at_most(1), "0.001");
        assert_eq!(msec_at_most(0), "0.000");
        assert_eq!(msec(351_001.0), "0.351");
        assert_eq!(msec_at_most(4 * 3600 * 1_000_000_000), "14400000.000");
        assert_eq!(msec_at_most(u64::MAX), "18446744073709.552");
    }
}
