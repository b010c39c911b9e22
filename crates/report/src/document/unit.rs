//! Figures as text: enough digits to distinguish them, and a unit.

use std::time::{Duration, SystemTime};

/// Unit of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// A bare number.
    #[default]
    Plain,
    /// Whole things, such as connections.
    Count,
    /// Events a second.
    PerSecond,
    /// Nanoseconds, shown as ns, µs, ms or s.
    Nanoseconds,
    /// Seconds.
    Seconds,
    /// Bytes, in powers of 1000.
    Bytes,
    /// Bytes a second, in powers of 1000.
    BytesPerSecond,
    /// A share of 1, shown in percent.
    Share,
    /// A ratio, shown as `×1.25`.
    Ratio,
    /// Days since 1 January 1970, shown as `2026-11-25`, with the time of day unless it is midnight.
    Date,
}

/// Significant digits of a figure, and of one that must differ from its neighbours'.
const FIGURES: usize = 3;
const FIGURES_MAX: usize = 9;

/// Steps of 1000.
const LARGE: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
const TIME: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];

impl Unit {
    /// A value with its unit, to three or four digits: `12.3k/s`, `351 µs`, `99.5 %`.
    pub fn show(self, value: f64) -> String {
        self.written(value, FIGURES, true)
    }

    /// A figure with trailing zeros, so that figures in a column align: `3.50 ms`, `31.0 ms`.
    pub fn show_even(self, value: f64) -> String {
        self.written(value, FIGURES, false)
    }

    /// Labels of neighbouring ticks, with enough digits to differ.
    pub fn ticks(self, values: &[f64]) -> Vec<String> {
        let labels = |figures: usize| -> Vec<String> {
            values.iter().map(|value| self.written(*value, figures, true)).collect()
        };
        let are_apart = |labels: &Vec<String>| labels.windows(2).all(|pair| pair[0] != pair[1]);
        (FIGURES..=FIGURES_MAX).map(labels).find(are_apart).unwrap_or_else(|| labels(FIGURES))
    }

    fn written(self, value: f64, figures: usize, brief: bool) -> String {
        let digits = |value: f64| digits(value, figures, brief);
        let large = |value: f64, gap: &str| large(value, gap, digits);
        if !value.is_finite() {
            return "–".to_owned();
        }
        if value < 0.0 {
            return format!("−{}", self.written(-value, figures, brief));
        }
        match self {
            Self::Plain => digits(value),
            Self::Count if value < 1e4 => digits(value),
            Self::Count => large(value, ""),
            Self::PerSecond => format!("{}/s", large(value, "")),
            Self::Nanoseconds => {
                let step = TIME.iter().find(|(size, _)| value >= *size * 0.9995);
                let (size, name) = step.copied().unwrap_or((1.0, "ns"));
                format!("{} {name}", digits(value / size))
            }
            Self::Seconds => format!("{} s", digits(value)),
            Self::Bytes => large(value, " ") + "B",
            Self::BytesPerSecond => large(value, " ") + "B/s",
            Self::Share => format!("{} %", digits(value * 100.0)),
            Self::Ratio => format!("×{value:.2}"),
            Self::Date => date(value),
        }
    }
}

/// A moment in UTC, to the minute. Clamps days that no calendar has, which come from a broken clock.
fn date(days: f64) -> String {
    let minutes = (days * 1440.0).round().clamp(0.0, 4.2e9) as u64;
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(minutes * 60);
    let written = humantime::format_rfc3339_seconds(moment).to_string();
    let (day, time) = written.split_once('T').unwrap_or((&written, ""));
    match minutes % 1440 {
        0 => day.to_owned(),
        _ => format!("{day} {}", time.get(..5).unwrap_or_default()),
    }
}

fn large(value: f64, gap: &str, digits: impl Fn(f64) -> String) -> String {
    let step = LARGE.iter().find(|(size, _)| value >= *size * 0.9995);
    let (size, name) = step.copied().unwrap_or((1.0, ""));
    format!("{}{gap}{name}", digits(value / size))
}

/// Formats with this many significant digits, without trailing zeros if `brief`; whole numbers in full.
fn digits(value: f64, figures: usize, brief: bool) -> String {
    let more = figures - FIGURES;
    let decimals = match value {
        v if v >= 99.95 => more,
        v if v >= 9.995 => more + 1,
        v if v >= 0.9995 => more + 2,
        v if v > 0.0 => more + (2 - v.log10().floor() as i32).clamp(0, 6) as usize,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if brief && text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_their_unit() {
        for (unit, value, text) in [
            (Unit::Nanoseconds, 351_000.0, "351 µs"),
            (Unit::Nanoseconds, 1_000_000.0, "1 ms"),
            (Unit::Nanoseconds, 999_900.0, "1 ms"),
            (Unit::Nanoseconds, 1.234e9, "1.23 s"),
            (Unit::Nanoseconds, 0.0, "0 ns"),
            (Unit::PerSecond, 98_765.0, "98.8k/s"),
            (Unit::PerSecond, 2_500_000.0, "2.5M/s"),
            (Unit::Bytes, 100_000.0, "100 kB"),
            (Unit::Share, 0.995, "99.5 %"),
            (Unit::Ratio, 1.25, "×1.25"),
            (Unit::Count, 1000.0, "1000"),
            (Unit::Plain, 0.00123, "0.00123"),
            (Unit::Plain, -2.0, "−2"),
            (Unit::Date, 20_782.0, "2026-11-25"),
            (Unit::Date, 20_782.25, "2026-11-25 06:00"),
            (Unit::Date, 1e300, "9955-07-25 16:00"),
            (Unit::Plain, f64::NAN, "–"),
        ] {
            assert_eq!(unit.show(value), text);
        }
        assert_eq!(Unit::Nanoseconds.show_even(31e6), "31.0 ms");
    }
}
