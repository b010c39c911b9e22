//! `--until-sure` and `--sure-within`: how well the ratios of a comparison are to be known.

use std::time::Duration;

use clap::Arg;
use job::{InconclusivePolicy, Sides, UntilSure};

use super::super::UsageError;
use super::super::run::ParsedArgs;
use super::{INCONCLUSIVE, usage};

pub(super) const UNTIL_SURE: &str = "until_sure";
pub(super) const SURE_WITHIN: &str = "sure_within";
/// In hundredths of the ratio.
const PERCENT_DEFAULT: &str = "2";
pub(super) const WITHIN_DEFAULT: Duration = Duration::from_secs(600);

/// The options.
pub(super) fn args() -> [Arg; 2] {
    [
        Arg::new(UNTIL_SURE)
            .long("until-sure")
            .value_name("PCT")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(PERCENT_DEFAULT)
            .value_parser(percent)
            .help_heading("Results")
            .help(
                "Repeat until the 95 % interval of each test's throughput, or with --rps of its p99, is within \
                 ±PCT percent, or say how many repeats that takes and exit with code 4 [default: 2]",
            ),
        Arg::new(SURE_WITHIN)
            .long("sure-within")
            .value_name("TIME")
            .value_parser(spec::values::seconds)
            .help_heading("Results")
            .help("Time limit of --until-sure [default: 10m]"),
    ]
}

/// Returns what `--until-sure` and `--sure-within` ask for.
///
/// # Errors
/// They cannot be kept to.
pub(super) fn asked(typed: &ParsedArgs, sides: &Sides) -> Result<Option<UntilSure>, UsageError> {
    let within = typed.matches().get_one::<Duration>(SURE_WITHIN).copied();
    let Some(percent) = typed.matches().get_one::<f64>(UNTIL_SURE).copied() else {
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
    if typed.matches().get_one::<InconclusivePolicy>(INCONCLUSIVE)
        == Some(&InconclusivePolicy::Repeat)
    {
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

pub(super) fn percent(text: &str) -> Result<f64, String> {
    let percent =
        spec::values::percent(text).ok().filter(|percent| (0.01..=50.0).contains(percent));
    percent.ok_or_else(|| "expected a percentage from 0.01 to 50".to_owned())
}
