//! A list of rates in a comparison: the same command line at each of them.

use std::ffi::OsString;

use lab::TypedLine;
use lab::values::{ValueKind, values};
use lab::words::TypedOption;
use naming::RATE;

use super::super::experiment::line::one_seed;
use super::words::takes;

/// A command line for each rate that the line lists, in that order; the line as it is where there is no list.
///
/// # Errors
/// Returns the reason, in words for a person, if a range is impossible.
pub(super) fn lines_at_rates(args: Vec<OsString>) -> Result<Vec<Vec<OsString>>, String> {
    let mut line = TypedLine::parse(args.clone(), takes);
    let given = line.options.iter().rev().find(|given| given.name == RATE.word());
    let text = given.and_then(|given| given.value.as_ref()?.to_str()).map(str::to_owned);
    let Some(text) = text else { return Ok(vec![args]) };
    let rates = values(ValueKind::Rate, &text).map_err(|why| format!("{RATE} {text}: {why}"))?;
    if rates.len() < 2 {
        return Ok(vec![args]);
    }
    // Of an option that is given twice the last counts.
    drop(line.take(|given| given.name == RATE.word()));
    one_seed(&mut line);
    let lines = rates.iter().map(|rate| {
        let mut line = line.clone();
        line.options.push(TypedOption::new(RATE, rate));
        line.words()
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rate_is_a_line_of_its_own() {
        let lines = |text: &str| {
            let words = text.split(' ').map(OsString::from).collect();
            let lines = lines_at_rates(words).map_err(|why| why.to_string())?;
            let lines = lines.into_iter().map(|line| {
                line.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
            });
            Ok::<_, String>(lines.collect::<Vec<_>>())
        };
        let two = ["-t get --rps=1000 -- get k", "-t get --rps=2500 -- get k"].map(str::to_owned);
        assert_eq!(lines("--rps 1k,2.5k -t get -- get k").unwrap(), two);
        assert_eq!(lines("--rps 7 -t get --rps=1k,2.5k -- get k").unwrap(), two);
        assert_eq!(lines("--rps 1k..5k -q").unwrap().len(), 3);
        for alone in ["--rps 30k -t get", "-t get", "--rps 10k..100k/30s", "-- set --rps 1,2"] {
            assert_eq!(lines(alone).unwrap(), [alone]);
        }
        assert!(lines("--rps 5..1").unwrap_err().starts_with("--rps 5..1: "));
    }
}
