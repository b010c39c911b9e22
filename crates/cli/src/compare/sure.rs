//! `--until-sure` and `--sure-within`: how well the ratios of a comparison are to be known.

use std::time::Duration;

use super::super::UsageError;
use super::super::run::ParsedArgs;
use super::arguments::CompareOptions;
use super::common::usage;
use super::job::{InconclusivePolicy, Sides, UntilSure};

/// Time limit where none is named.
const WITHIN_DEFAULT: Duration = Duration::from_secs(600);

/// Returns what `--until-sure` and `--sure-within` ask for.
///
/// # Errors
/// Returns an error if the limits cannot be kept.
pub(super) fn asked(
    typed: &ParsedArgs,
    options: &CompareOptions,
    sides: &Sides,
) -> Result<Option<UntilSure>, UsageError> {
    let within = options.sure_within;
    let Some(percent) = options.until_sure else {
        return match within {
            Some(_) => usage("--sure-within requires --until-sure"),
            None => Ok(None),
        };
    };
    if !matches!(sides, Sides::Live(live) if !live.decides) {
        return usage(
            "--until-sure compares two servers of one protocol, without --slo or a list of rates",
        );
    }
    if options.inconclusive == Some(InconclusivePolicy::Repeat) {
        return usage(
            "--until-sure decides the number of repeats; choose --inconclusive pass or fail",
        );
    }
    if typed.matches().get_one::<u32>("repeats") == Some(&1) {
        return usage("--until-sure requires --repeat 2 or more");
    }
    let within = within.unwrap_or(WITHIN_DEFAULT);
    Ok(Some(UntilSure { share: percent / 100.0, within }))
}
