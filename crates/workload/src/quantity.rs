//! Quantities in text: counts with k, M or G, times with their unit, and numbers of things.
//!
//! The one parser of both, for every option of every command, so that they accept the same.

use std::time::Duration;

/// Powers of ten by their letter.
const FACTORS: [(char, u32); 3] = [('k', 3), ('m', 6), ('g', 9)];
/// Units of time in nanoseconds. A unit comes before another whose name is its ending.
const UNITS: [(&str, f64); 9] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("min", 60e9),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];

/// Splits off k, M or G: returns the text before it, and the power of ten.
fn factor(text: &str) -> (&str, u32) {
    let last = text.chars().last().map(|c| c.to_ascii_lowercase());
    let found = FACTORS.iter().find(|(letter, _)| Some(*letter) == last);
    found.map_or((text, 0), |(_, power)| (&text[..text.len() - 1], *power))
}

/// Parses a whole number, such as `5000`, `10k` or `1.5M`.
///
/// # Errors
/// Returns an error with examples if it is malformed or too large.
pub fn count(text: &str) -> Result<u64, String> {
    let fault = || "expected a whole number, such as 500, 10k or 5M".to_owned();
    let (digits, power) = factor(text.trim());
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let decimals = decimals.trim_end_matches('0');
    let spare = power.checked_sub(decimals.len() as u32).ok_or_else(fault)?;
    let all = format!("{whole}{decimals}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(fault());
    }
    let number = all.parse::<u64>().ok().and_then(|n| n.checked_mul(10u64.checked_pow(spare)?));
    number.ok_or_else(|| format!("the maximum is {}", u64::MAX))
}

/// A noun after a number: `request` after 1, `requests` after any other.
pub fn noun(number: u64, one: &str) -> String {
    if number == 1 { one.to_owned() } else { format!("{one}s") }
}

/// A number of things: `1 request`, `2 requests`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{number} {}", noun(number, one))
}

/// Parses a non-negative number that may have a fraction, such as `0.5` or `1.5k`; `None` if it is malformed.
pub fn number(text: &str) -> Option<f64> {
    let (digits, power) = factor(text.trim());
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = digits.parse::<f64>().ok().filter(|_| plain)?;
    Some(number * 10f64.powi(power as i32)).filter(|number| number.is_finite())
}

/// Unit of a time without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Refused: the unit is required.
    Refused,
}

/// Parses a time, such as `500ms`, `2s`, `1.5m`, or a number alone.
///
/// # Errors
/// Returns an error with examples if it is malformed.
pub fn time(text: &str, plain: DefaultUnit) -> Result<Duration, String> {
    let text = text.trim();
    let fault = || {
        let alone = match plain {
            DefaultUnit::Seconds => "; without a unit, seconds",
            DefaultUnit::Milliseconds => "; without a unit, milliseconds",
            DefaultUnit::Refused => "",
        };
        format!("expected a time such as 500ms, 2s, 1.5m or 1h{alone}")
    };
    let unit = UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)));
    let (digits, unit_ns) = match (unit, plain) {
        (Some(found), _) => found,
        (None, DefaultUnit::Seconds) => (text, 1e9),
        (None, DefaultUnit::Milliseconds) => (text, 1e6),
        (None, DefaultUnit::Refused) => return Err(fault()),
    };
    let number = digits.trim_end().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    let ns = (number.ok_or_else(fault)? * unit_ns).round();
    if ns >= u64::MAX as f64 {
        return Err("the time is too long".to_owned());
    }
    Ok(Duration::from_nanos(ns as u64))
}

/// Reads a time, in nanoseconds.
///
/// # Errors
/// Returns an error as [`time`] does.
pub fn time_ns(text: &str, plain: DefaultUnit) -> Result<u64, String> {
    // A time that is read fits.
    time(text, plain).map(|time| time.as_nanos() as u64)
}

/// Text of a time in the largest unit that gives a whole number; it parses to the same time.
pub fn shown(ns: u64) -> String {
    const WHOLE: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = WHOLE.into_iter().find(|(_, of)| ns.is_multiple_of(*of));
    unit.map_or_else(|| format!("{ns}ns"), |(unit, of)| format!("{}{unit}", ns / of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_it_is_read() {
        for (ns, text) in [
            (0, "0s"),
            (1_500_000_000, "1500ms"),
            (60_000_000_000, "60s"),
            (1_001, "1001ns"),
            (7_000, "7us"),
        ] {
            assert_eq!(shown(ns), text);
            assert_eq!(time(text, DefaultUnit::Refused), Ok(Duration::from_nanos(ns)));
        }
    }

    #[test]
    fn one_thing_is_not_several() {
        let of = |number| counted(number, "request");
        assert_eq!([of(0), of(1), of(2)], ["0 requests", "1 request", "2 requests"]);
    }

    #[test]
    fn counts_have_factors() {
        for (text, read) in [
            ("0", 0),
            ("5000", 5000),
            ("10k", 10_000),
            ("10K", 10_000),
            ("1.5M", 1_500_000),
            ("0.25k", 250),
            ("1.50k", 1500),
            ("2g", 2_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text), Ok(read), "{text}");
        }
        for bad in ["", "k", ".", "x", "-1", "1.5", "0.0001k", "1e3", "1kk", "+5", "1 k", "½"] {
            assert!(count(bad).unwrap_err().contains("10k or 5M"), "{bad}");
        }
        for large in ["18446744073709551616", "99999999999G"] {
            assert!(
                count(large).unwrap_err().contains("the maximum is 18446744073709551615"),
                "{large}"
            );
        }
    }

    #[test]
    fn numbers_have_them_too() {
        assert_eq!(
            (number("0.5"), number("1.5k"), number(" 2M ")),
            (Some(0.5), Some(1500.0), Some(2e6))
        );
        for bad in ["", "-1", "nan", "inf", "1e3", "x", "k"] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_have_units_or_are_what_they_were() {
        let ms = |text: &str, plain| time(text, plain).map(|time| time.as_micros() as f64 / 1e3);
        for (text, read) in [
            ("2", 2000.0),
            ("0.05", 50.0),
            ("500ms", 500.0),
            ("2s", 2000.0),
            ("1.5m", 90_000.0),
            ("1.5min", 90_000.0),
            ("1h", 3_600_000.0),
            ("1d", 86_400_000.0),
            ("250us", 0.25),
            ("250µs", 0.25),
            ("2 s", 2000.0),
            ("1e3", 1_000_000.0),
        ] {
            assert_eq!(ms(text, DefaultUnit::Seconds), Ok(read), "{text}");
        }
        assert_eq!(ms("250", DefaultUnit::Milliseconds), Ok(250.0));
        assert_eq!(ms("2s", DefaultUnit::Milliseconds), Ok(2000.0));
        assert!(time("2", DefaultUnit::Refused).is_err());
        for bad in ["", "x", "-1", "nan", "inf", "s", "5x", "-1s", "2ss"] {
            let error = time(bad, DefaultUnit::Seconds).unwrap_err();
            assert!(error.contains("500ms") && error.contains("seconds"), "{bad}: {error}");
        }
        assert!(time("1e30", DefaultUnit::Seconds).unwrap_err().contains("too long"));
    }
}
