//! A list of rates in a comparison: the same command line at each of them.

use naming::RATE;

use super::super::experiment::lists::{ValueKind, values};
use super::super::experiment::one_seed;
use super::super::experiment::typed_line::{TypedLine, TypedOption};
use super::super::run::ParsedArgs;

/// A command line for each rate that the line lists, in that order; the line as it is where there is no list.
///
/// # Errors
/// Returns the reason, in words for a person, if a range is impossible.
pub(super) fn lines_at_rates(mut line: TypedLine) -> Result<Vec<TypedLine>, String> {
    let given = line.options.iter().rev().find(|given| given.name == RATE.word());
    let text = given.and_then(|given| given.value.as_ref()?.to_str()).map(str::to_owned);
    let Some(text) = text else { return Ok(vec![line]) };
    let rates = values(ValueKind::Rate, &text).map_err(|why| format!("{RATE} {text}: {why}"))?;
    if rates.len() < 2 {
        return Ok(vec![line]);
    }
    // Of an option that is given twice the last counts.
    drop(line.take(|given| given.name == RATE.word()));
    let lines = rates.iter().map(|rate| {
        let mut line = line.clone();
        line.options.push(TypedOption::new(RATE, rate));
        line
    });
    Ok(lines.collect())
}

/// Gives the loads at all rates the same values to write: one fill is enough for all.
pub(super) fn fill_alike(first: &mut ParsedArgs, further: &mut [ParsedArgs]) {
    if !further.is_empty() {
        one_seed(std::iter::once(first).chain(further));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::words::takes;
    use super::*;

    #[test]
    fn each_rate_is_a_line_of_its_own() {
        let lines = |text: &str| {
            let words = text.split(' ').map(OsString::from).collect();
            let lines = lines_at_rates(TypedLine::parse(words, takes))?;
            let lines = lines.into_iter().map(|line| {
                line.words().iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
            });
            Ok::<_, String>(lines.collect::<Vec<_>>())
        };
        let two = ["-t get --rps=1000 -- get k", "-t get --rps=2500 -- get k"].map(str::to_owned);
        assert_eq!(lines("--rps 1k,2.5k -t get -- get k").unwrap(), two);
        assert_eq!(lines("--rps 7 -t get --rps=1k,2.5k -- get k").unwrap(), two);
        assert_eq!(lines("--rps 1k..5k -q").unwrap().len(), 3);
        for alone in ["--rps=30k -t get", "-t get", "--rps=10k..100k/30s", "-- set --rps 1,2"] {
            assert_eq!(lines(alone).unwrap(), [alone]);
        }
        assert!(lines("--rps 5..1").unwrap_err().starts_with("--rps 5..1: "));
    }
}
