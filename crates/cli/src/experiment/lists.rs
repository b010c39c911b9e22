//! Lists and ranges as values of an option: `1,10,100`, `10..100k`, `1..64/5`.

use workload::quantity::{self, DefaultUnit};

/// Kind of an option's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// Whole numbers.
    Whole,
    /// Times, in seconds by default.
    Time,
    /// Names, which have lists but no ranges.
    Name,
    /// Rates: decimals, except that a value with a time (`10k..100k/30s`) is one schedule.
    Rate,
}

/// Maximum number of values of one option.
pub(crate) const VALUES_MAX: usize = 1_000;

/// Parses `text` into its values, in order and without repetition; one if it is not a list.
///
/// A list has commas between its items. A range `a..b` goes from `a` to `b`, inclusive, by 1, 2, 5, 10, at
/// any distance. `a..b/N` is N values at equal ratios. Numbers may have k, M or G, times a unit. Other text
/// stays as it is, for the option's own parser to judge.
///
/// # Errors
/// Returns an error in words for a person for an impossible range.
pub(crate) fn values(kind: ValueKind, text: &str) -> Result<Vec<String>, String> {
    if kind == ValueKind::Rate && is_schedule(text) {
        return Ok(vec![text.to_owned()]);
    }
    // Its commas and dots are its own.
    if kind == ValueKind::Whole && is_distribution(text) {
        return Ok(vec![text.to_owned()]);
    }
    let mut values: Vec<String> = Vec::new();
    for item in text.split(',') {
        let found = match item.split_once("..") {
            Some((first, rest)) if kind != ValueKind::Name => {
                let found = range(kind, first, rest);
                found.map_err(|why| if item == text { why } else { format!("{item}: {why}") })?
            }
            _ => vec![plain(kind, item)],
        };
        values.extend(found);
        if values.len() > VALUES_MAX {
            return Err(format!("more than {VALUES_MAX} values"));
        }
    }
    let mut seen = std::collections::HashSet::new();
    values.retain(|value| seen.insert(value.clone()));
    Ok(values)
}

/// Returns whether a rate is steps or a ramp, which end in a time with its unit.
pub(crate) fn is_schedule(text: &str) -> bool {
    let time = text.rsplit_once('/').map(|(_, time)| time);
    time.is_some_and(|time| time.ends_with(|c: char| c.is_ascii_alphabetic()))
}

/// Returns whether a value is a distribution of sizes, which has a name and parameters after a colon.
fn is_distribution(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.contains(':')
}

/// Numeric value with its factor, or a time in seconds.
fn number(kind: ValueKind, text: &str) -> Option<f64> {
    match kind {
        ValueKind::Time => Some(quantity::time(text, DefaultUnit::Seconds).ok()?.as_secs_f64()),
        _ => quantity::number(text),
    }
}

/// An item without factor and unit, if it is a number of this kind.
fn plain(kind: ValueKind, item: &str) -> String {
    let item = item.trim();
    match number(kind, item) {
        Some(n) if kind != ValueKind::Name && (kind != ValueKind::Whole || n.fract() == 0.0) => {
            shown(n)
        }
        _ => item.to_owned(),
    }
}

/// Formats a number, exactly for whole numbers up to 2^53, more than any option takes.
fn shown(number: f64) -> String {
    format!("{number}")
}

fn range(kind: ValueKind, first: &str, rest: &str) -> Result<Vec<String>, String> {
    let fault = |why: &str| format!("{why}; expected FIRST..LAST or FIRST..LAST/POINTS");
    let (last, points) = match rest.split_once('/') {
        Some((last, points)) => (last, Some(points)),
        None => (rest, None),
    };
    let ends =
        if kind == ValueKind::Time { "its ends are not times" } else { "its ends are not numbers" };
    let (Some(first), Some(last)) = (number(kind, first), number(kind, last)) else {
        return Err(fault(ends));
    };
    if first <= 0.0 || last < first {
        return Err(fault("a range must start above 0 and cannot fall"));
    }
    let round = |n: f64| if kind == ValueKind::Whole { n.round() } else { three_digits(n) };
    let numbers = match points {
        Some(points) => {
            let points: usize = points.trim().parse().unwrap_or(0);
            if !(2..=VALUES_MAX).contains(&points) {
                return Err(fault(&format!("POINTS must be from 2 to {VALUES_MAX}")));
            }
            let step = (last / first).powf(1.0 / (points - 1) as f64);
            let inner = (1..points - 1).map(|n| round(first * step.powi(n as i32)));
            std::iter::once(first).chain(inner).chain([last]).collect()
        }
        None => series(first, last),
    };
    Ok(numbers.into_iter().map(shown).collect())
}

/// Rounds to three significant digits, as people write values.
fn three_digits(n: f64) -> f64 {
    format!("{n:.2e}").parse().unwrap_or(n)
}

/// Values from `first` to `last` by 1, 2, 5.
fn series(first: f64, last: f64) -> Vec<f64> {
    let mut numbers = vec![first];
    let decades = first.log10().floor() as i32..=last.log10().ceil() as i32;
    let round = decades.flat_map(|decade| [1, 2, 5].map(move |step| power(step, decade)));
    numbers.extend(round.filter(|n| *n > first && *n < last));
    numbers.push(last);
    numbers
}

/// `step` times ten to the `decade`, without rounding errors.
fn power(step: i32, decade: i32) -> f64 {
    format!("{step}e{decade}").parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(kind: ValueKind, text: &str) -> String {
        values(kind, text).unwrap().join(" ")
    }

    #[test]
    fn lists_are_their_items() {
        assert_eq!(parsed(ValueKind::Whole, "1,10,100,1000"), "1 10 100 1000");
        assert_eq!(parsed(ValueKind::Whole, "1k, 2k,2000"), "1000 2000");
        assert_eq!(parsed(ValueKind::Whole, "50"), "50");
        assert_eq!(parsed(ValueKind::Whole, "auto,2"), "auto 2");
        assert_eq!(parsed(ValueKind::Whole, "1.5,x,-3,1e3,"), "1.5 x -3 1e3 ");
        assert_eq!(parsed(ValueKind::Name, "uring,epoll"), "uring epoll");
        assert_eq!(parsed(ValueKind::Time, "0.5,1,500ms,1.5m,x"), "0.5 1 90 x");
    }

    #[test]
    fn a_range_runs_by_one_two_five() {
        assert_eq!(parsed(ValueKind::Whole, "10..2k"), "10 20 50 100 200 500 1000 2000");
        assert_eq!(parsed(ValueKind::Whole, "1..50"), "1 2 5 10 20 50");
        assert_eq!(parsed(ValueKind::Whole, "1..100"), "1 2 5 10 20 50 100");
        assert_eq!(parsed(ValueKind::Whole, "1..16"), "1 2 5 10 16");
        assert_eq!(parsed(ValueKind::Whole, "1..4"), "1 2 4");
        assert_eq!(parsed(ValueKind::Whole, "3..700"), "3 5 10 20 50 100 200 500 700");
        assert_eq!(parsed(ValueKind::Whole, "7..7"), "7 7".split(' ').next().unwrap());
        assert_eq!(parsed(ValueKind::Time, "100ms..2"), "0.1 0.2 0.5 1 2");
        assert_eq!(parsed(ValueKind::Whole, "1,8..20"), "1 8 10 20");
    }

    #[test]
    fn a_range_can_have_a_number_of_points() {
        assert_eq!(parsed(ValueKind::Whole, "1..64/4"), "1 4 16 64");
        assert_eq!(parsed(ValueKind::Whole, "1..3/9"), "1 2 3", "points that round to one are one");
        assert_eq!(parsed(ValueKind::Rate, "10k..100k/3"), "10000 31600 100000");
    }

    #[test]
    fn a_schedule_is_one_value() {
        for schedule in ["10k..100k/30s", "10k,20k,40k/10s", "1..2/500ms"] {
            assert_eq!(parsed(ValueKind::Rate, schedule), schedule);
        }
        assert_eq!(parsed(ValueKind::Rate, "10k,0.5"), "10000 0.5");
    }

    #[test]
    fn a_distribution_is_one_value() {
        for sizes in ["uniform:100..4k", "sizes:32=50,1k=30", "normal:4k,500,1..9k"] {
            assert_eq!(parsed(ValueKind::Whole, sizes), sizes);
        }
    }

    #[test]
    fn what_is_no_range_is_refused_with_what_would_be() {
        for bad in ["0..10", "10..1", "a..b", "1..", "..5", "1..10/1", "1..10/x", "1..9/99999"] {
            let why = values(ValueKind::Whole, bad).unwrap_err();
            assert!(why.contains("FIRST..LAST") && !why.contains(bad), "{bad}: {why}");
            // Of several items, the one that is wrong.
            let why = values(ValueKind::Whole, &format!("1,{bad}")).unwrap_err();
            assert!(why.starts_with(&format!("{bad}: ")), "{why}");
        }
    }
}
