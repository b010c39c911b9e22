//! Numbers as text: nanoseconds as milliseconds with three decimals, whole numbers with commas.
//!
//! Owns the rounding, so that a figure reads alike everywhere. A percentile or a greatest value says that
//! latencies are *at most* that long, so it is rounded up to the microsecond and stays true; a mean or a
//! least value is rounded to the nearest.

use std::borrow::Borrow;
use std::fmt::Display;

use workload::quantity::noun;

/// `ns` rounded up to the microsecond. Whole numbers throughout, so exact also for days.
pub fn msec_at_most(ns: u64) -> String {
    let us = ns.div_ceil(1000);
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// `ns` rounded to the nearest microsecond.
pub fn msec(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// A whole number with commas between thousands.
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
pub fn listed<S: Borrow<str> + Display>(names: &[S], and: &str) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{}{and}{last}", others.join(", ")),
        names => names.concat(),
    }
}

/// Text cut to `width` characters, with `…` at the end.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    if text.chars().count() > width {
        text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    } else {
        text.to_owned()
    }
}

/// A number with commas, and what it counts: `2,000 requests`.
pub(crate) fn many(number: u64, one: &str) -> String {
    format!("{} {}", grouped(number as f64), noun(number, one))
}

/// A share as `97 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share.clamp(0.0, 1.0) * 100.0;
    if percent > 0.0 && percent < 1.0 { "less than 1 %".into() } else { format!("{percent:.0} %") }
}

/// A time in a suitable unit, to three significant digits.
pub(crate) fn time(seconds: f64) -> String {
    // A value that rounds up to a thousand of a unit is shown as one of the next.
    let (number, unit) = match seconds {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    let decimals = match number {
        n if n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        n if n > 0.0 => 2,
        _ => 0,
    };
    format!("{number:.decimals$} {unit}")
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
