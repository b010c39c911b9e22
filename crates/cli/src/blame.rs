//! The command line of `keystorm blame`: a mix, and how it is thinned.

use std::time::Duration;

use clap::Parser;
use job::BlameJob;
use lab::words::{Line, TypedOption};
use workload::Pick;

use super::experiment::{ExperimentOptions, job, one_seed, with_split, with_those_of_a_run};
use super::front::{Front, command};
use super::{Intent, UsageError};
use spec::values::{count_in, percent, seconds, seconds_in};

/// Finds the kind of request that makes the others wait. Measures the capacity of a mix in a closed loop, then sends
/// it on a schedule at shares of that, in short segments of random order: the whole mix, and each kind thinned to half
/// and left out. Prints what 1,000 requests per second of each kind cost the p99 of each other, of the capacity, and
/// in CPU time of the server, with intervals of 95 %, and which kind to move away, or that none can be singled out.
/// Segments that other programs or the client spoiled are run again and not counted; if most are such, blame names
/// no kind. Takes every option of a run (see keystorm --help) except -n and --rps, for a single mix.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm blame",
    override_usage = "keystorm blame --mix [OPTIONS] [OPTIONS OF A RUN] -- WEIGHT COMMAND... ';' ...",
    after_help = EXAMPLE,
)]
struct Options {
    /// Loads to measure at, in percent of the capacity
    #[arg(long, value_name = "LIST", help_heading = "Segments", default_value = "50,70,85",
          value_delimiter = ',', value_parser = percent)]
    at: Vec<f64>,
    /// How often each segment is run; more make intervals narrower
    #[arg(long, value_name = "TIMES", help_heading = "Segments", default_value = "5",
          value_parser = count_in(2..=1000))]
    blocks: u32,
    /// How long each segment lasts; up to ten times longer where a kind is too rare for a p99
    #[arg(long, value_name = "TIME", help_heading = "Segments", default_value = "1s",
          value_parser = seconds)]
    duration: Duration,
    /// Count segments that other programs or the client spoiled like any other
    #[arg(long, help_heading = "Segments")]
    count_disturbed: bool,
    #[command(flatten)]
    output: ExperimentOptions,
}

/// What stands below the options.
const EXAMPLE: &str = "\
Ctrl-C prints what is known so far and exits with code 130. Exit code 4: this machine was too busy to tell.

Examples:
  Do large hashes hold up small reads?
    $ keystorm blame --spawn --fill -r 1k --at 70 --blocks 2 --duration 100ms --count-disturbed \\
        --mix -- 9 get k:__key__ ';' 1 eval 'for i=1,20000 do end return 1' 0

  A preset, as a page:
    $ keystorm blame --workload session-store --html blame.html --json blame.json";

/// The loads that make sense: below, nobody waits; above, waiting has no end.
const LOAD_MIN: f64 = 5.0;
const LOAD_MAX: f64 = 99.0;
/// More kinds would take hours.
const KINDS_MAX: usize = 12;
/// A rate that each segment replaces: arrivals belong to a schedule.
const RATE: &str = "1k";

/// Its front end.
pub(crate) const FRONT: Front = Front {
    names: &["blame"],
    command: || with_those_of_a_run(command::<Options>(), &["-n", "--rps"]),
    parse: |args| with_split(args, intent),
};

/// What the options mean.
fn intent(options: Options, mut line: Line, command_line: String) -> Result<Intent, UsageError> {
    let Options { at, blocks, duration, count_disturbed, output } = options;
    let output = output.settled()?;
    for (option, why) in [
        ("-n", "segments run for a time; see --duration"),
        ("--rps", "rates follow from the capacity that is measured; see --at"),
    ] {
        if line.has(option) {
            return Err(UsageError(format!("{option}: {why}")));
        }
    }
    if let Some(load) = at.iter().find(|load| !(LOAD_MIN..=LOAD_MAX).contains(*load)) {
        return Err(UsageError(format!(
            "--at {load}: must be between {LOAD_MIN} and {LOAD_MAX} % of the capacity"
        )));
    }
    let seconds = seconds_in("--duration", duration, 0.05..=3600.0).map_err(UsageError)?;
    one_seed(&mut line);
    line.options.push(TypedOption::new("--rps", RATE));
    line.options.push(TypedOption::new("--duration", format!("{seconds:.3}")));
    let job = job("keystorm blame", line.words())?;
    let [plan] = &job.plans[..] else {
        let text =
            format!("blame works with a single mix, and these are {} tests", job.plans.len());
        return Err(UsageError(text));
    };
    let Some(mix) = plan.mix.as_ref().filter(|mix| mix.operations.len() > 1) else {
        let text = "blame requires a mix of at least two kinds, such as: --mix -r 10k -- 9 get k:__key__ ';' 1 \
            hgetall h:__key__, or a --workload with operations";
        return Err(UsageError(text.to_owned()));
    };
    if mix.operations.len() > KINDS_MAX {
        let count = mix.operations.len();
        return Err(UsageError(format!(
            "blame takes at most {KINDS_MAX} kinds, and these are {count}"
        )));
    }
    if mix.pick != Pick::Drawn {
        let text = "blame requires operations that are drawn by weight (order = \"drawn\"): those in turns cannot be \
            left out";
        return Err(UsageError(text.to_owned()));
    }
    if output.print_plan {
        let text = job::printed_plans(&job.plans);
        return text.map(Intent::Say).map_err(|error| UsageError(error.to_string()));
    }
    let loads = at.iter().map(|percent| percent / 100.0).collect();
    let job = BlameJob { job, loads, blocks, seconds, count_disturbed, output, command_line };
    Ok(Intent::Blame(Box::new(job)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn parsed(line: &str) -> Result<Intent, UsageError> {
        let words = shell_words::split(line).unwrap().into_iter().map(OsString::from);
        (FRONT.parse)(words.collect())
    }

    #[test]
    fn what_is_no_mix_is_refused_with_what_to_do() {
        for (line, part) in [
            ("-t get,set", "single mix"),
            ("-t get", "at least two kinds"),
            ("--mix -- 1 get a", "at least two kinds"),
            ("--mix --rps 5 -- 1 get a ';' 1 get b", "--rps: rates follow"),
            ("--mix -n 5 -- 1 get a ';' 1 get b", "-n: segments"),
            ("--mix --at 120 -- 1 get a ';' 1 get b", "--at 120"),
            ("--mix --set order=turns -- 1 get a ';' 1 get b", "drawn by weight"),
        ] {
            let Err(UsageError(why)) = parsed(line) else { panic!("{line}") };
            assert!(why.contains(part), "{line}: {why}");
        }
    }

    #[test]
    fn loads_are_shares_of_the_capacity() {
        let line = "--mix --arrivals poisson --at 50,85 -- 3 get a ';' 1 hgetall b";
        let Ok(Intent::Blame(job)) = parsed(line) else { panic!() };
        assert_eq!((job.loads.clone(), job.blocks, job.seconds), (vec![0.5, 0.85], 5, 1.0));
        assert_eq!(job.job.plans[0].mix.as_ref().unwrap().operations.len(), 2);
    }
}
