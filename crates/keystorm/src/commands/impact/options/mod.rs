//! The command line of `keystorm impact`: acts beside a steady load, or the kinds of a mix.

mod acts;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use cli::experiment::{
    ExperimentOptions, job, names_test, one_seed, printed, with_split, with_those_of_a_run,
};
use cli::front::{Front, command};
use job::{ExperimentOutput, Intent, Job, UsageError};
use lab::impact::{Act, Family};
use lab::words::{Line, TypedOption};
use report::slo::Slo;
use spec::values::{count_in, percent, seconds, seconds_in};
use workload::{Pick, Plan};

/// Measures what operations cost those who wait for them. Sends a steady load on a schedule that slow replies do not
/// delay, and beside it one act after another, with rests between: BGSAVE, BGREWRITEAOF, a full sync, DEL and UNLINK of
/// a large key, KEYS, a slow script and others. Prints for each the highest p99, how long until latency was as before,
/// by how much users waited longer than the target, requests that failed, memory, and what the server's own monitors
/// say.
///
/// With --of mix, it prices the kinds of a mix. It measures the capacity in a closed loop, then sends the mix at shares
/// of that, in short segments in random order: whole, with each kind thinned to half, and with each left out. Prints
/// what 1,000 requests per second of each kind cost: in p99 of each other kind, in capacity, and in CPU time of the
/// server, with 95 % intervals. Says which kind to move away, or that none can be singled out.
///
/// Takes every option of a run (see keystorm --help) except -n, for acts --duration, and for a mix --rps.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm impact",
    override_usage = "keystorm impact [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]",
    after_help = EXAMPLE,
)]
struct Options {
    /// Price only these acts, in the order of their file (bgsave,del,script), or the kinds of the load itself (mix)
    /// [default: all acts]
    #[arg(long, value_name = "LIST", help_heading = "Operations", value_delimiter = ',')]
    of: Vec<String>,
    /// Read the acts from this TOML file
    #[arg(long, value_name = "FILE", help_heading = "Acts")]
    acts: Option<PathBuf>,
    /// Print the file of acts and do nothing
    #[arg(long, help_heading = "Acts")]
    print_acts: bool,
    /// Rest before each act, and after the last [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Acts", value_parser = seconds)]
    rest: Option<Duration>,
    /// Give up on an act that has not ended after this time [default: 1m]
    #[arg(long, value_name = "TIME", help_heading = "Acts", value_parser = seconds)]
    act_timeout: Option<Duration>,
    /// Count how long users wait beyond this target, such as 'p99<5ms'
    #[arg(long, value_name = "TARGET", help_heading = "Acts", value_parser = Slo::parse)]
    slo: Option<Slo>,
    /// Go ahead with a server that keystorm did not start
    #[arg(long, help_heading = "Acts")]
    yes: bool,
    /// Loads of a mix, in percent of the capacity [default: 50,70,85]
    #[arg(long, value_name = "LIST", help_heading = "Kinds of a mix", value_delimiter = ',',
          value_parser = percent)]
    at: Vec<f64>,
    /// Number of runs of each segment; more make intervals narrower [default: 5]
    #[arg(long, value_name = "TIMES", help_heading = "Kinds of a mix",
          value_parser = count_in(2..=1000))]
    blocks: Option<u32>,
    /// Length of each segment; up to ten times longer if a kind is too rare for a p99 [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Kinds of a mix", value_parser = seconds)]
    duration: Option<Duration>,
    /// Count segments that other programs or the client spoiled like any other
    #[arg(long, help_heading = "Kinds of a mix")]
    count_disturbed: bool,
    #[command(flatten)]
    output: ExperimentOptions,
}

/// Text below the options.
const EXAMPLE: &str = "\
Settings that an act changes are restored when it has ended. Keys that acts wrote are removed at
the end, also after Ctrl-C. On a server that keystorm did not start, acts that destroy data
(maxmemory, flushall, ...) are left out unless --of names them. Exit code 4: this machine was too
busy to price a mix.

Examples:
  What a snapshot and a slow script cost 2,000 requests a second, on a private server:
    $ keystorm impact --spawn --rps 2k --of bgsave,script --rest 2s --slo 'p99<5ms'
  All acts, as a page:
    $ keystorm impact --spawn --rps 5k --html prices.html --json prices.json
  Which requests of a mix make the others wait:
    $ keystorm impact --of mix --spawn --fill -r 1k --at 70 --blocks 2 --duration 100ms --count-disturbed \\
        --mix -- 9 get k:__key__ ';' 1 eval 'for i=1,20000 do end return 1' 0";

const NAME: &str = "keystorm impact";
/// The word that asks for the kinds of the load itself.
const MIX: &str = "mix";
/// Requests per second beside acts where the line does not say; of a mix, each segment replaces it: arrivals belong
/// to a schedule.
const RATE: &str = "1k";
/// The loads that make sense: below, nobody waits; above, waiting has no end.
const LOAD_MIN: f64 = 5.0;
const LOAD_MAX: f64 = 99.0;
/// More kinds would take hours.
const KINDS_MAX: usize = 12;

/// Job of `keystorm impact`.
pub(in crate::commands::impact) struct ImpactJob {
    /// The load, one plan: it is steady beside acts; of a mix, pace and length are each segment's.
    pub(in crate::commands::impact) job: Job,
    /// Operations that are priced.
    pub(in crate::commands::impact) of: ImpactOf,
    /// Places and formats for results.
    pub(in crate::commands::impact) output: ExperimentOutput,
    /// The command line, without secrets.
    pub(in crate::commands::impact) command_line: String,
}

/// Operations that are priced.
pub(in crate::commands::impact) enum ImpactOf {
    /// Acts beside the load.
    Acts(ActsJob),
    /// The kinds of the load itself.
    Mix(MixJob),
}

/// Acts, and how they are played.
pub(in crate::commands::impact) struct ActsJob {
    /// The acts, in their order.
    pub(in crate::commands::impact) acts: Vec<StagedAct>,
    /// Set if the command line names the acts, so that acts that destroy data are meant.
    pub(in crate::commands::impact) named: bool,
    /// Seconds of rest before each act, and after the last.
    pub(in crate::commands::impact) rest_s: f64,
    /// Seconds after which an act is given up on.
    pub(in crate::commands::impact) timeout_s: f64,
    /// Objective beyond which waiting is counted.
    pub(in crate::commands::impact) slo: Option<Slo>,
    /// Set if a server that keystorm did not start may be disturbed.
    pub(in crate::commands::impact) yes: bool,
}

/// An act, and the load that starts it, if one does.
pub(in crate::commands::impact) struct StagedAct {
    /// Act as its file describes it.
    pub(in crate::commands::impact) act: Act,
    /// The plan of its load.
    pub(in crate::commands::impact) load: Option<Plan>,
}

/// The segments of a mix.
pub(in crate::commands::impact) struct MixJob {
    /// The loads, as shares of the capacity: 0.5 for half of it.
    pub(in crate::commands::impact) loads: Vec<f64>,
    /// Number of times that each segment is run.
    pub(in crate::commands::impact) blocks: u32,
    /// Seconds of a segment.
    pub(in crate::commands::impact) seconds: f64,
    /// Set if segments that the machine or the client spoiled count.
    pub(in crate::commands::impact) count_disturbed: bool,
}

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["impact"],
    command: || with_those_of_a_run(command::<Options>(), &["-n"]),
    parse: |args| with_split(args, intent),
};

/// Returns what the options mean.
fn intent(mut options: Options, line: Line, command_line: String) -> Result<Intent, UsageError> {
    if options.print_acts {
        return Ok(Intent::Say(acts::ACTS.to_owned()));
    }
    let output = options.output.clone().settled()?;
    let is_mix = options.of == [MIX];
    let others = if is_mix {
        [
            ("--acts", options.acts.is_some()),
            ("--rest", options.rest.is_some()),
            ("--act-timeout", options.act_timeout.is_some()),
            ("--slo", options.slo.is_some()),
        ]
    } else {
        [
            ("--duration", options.duration.is_some()),
            ("--at", !options.at.is_empty()),
            ("--blocks", options.blocks.is_some()),
            ("--count-disturbed", options.count_disturbed),
        ]
    };
    if let Some((option, _)) = others.iter().find(|(_, is_given)| *is_given) {
        let whose = if is_mix {
            "acts; leave out --of mix"
        } else {
            "the kinds of a mix; add --of mix (acts last as long as they take; see --rest)"
        };
        return Err(UsageError(format!("{option} is an option of {whose}")));
    }
    if line.has("-n") {
        return Err(UsageError("-n: impact runs for a time; see --rest and --duration".to_owned()));
    }
    let (job, of) = if is_mix { of_mix(&mut options, line)? } else { of_acts(&mut options, line)? };
    if output.print_plan {
        return printed(&job.plans);
    }
    let job = ImpactJob { job, of, output, command_line };
    Ok(Intent::carry(move || super::impact(&job)))
}

/// The job of a line, which is to be one plan.
fn one_plan(mut line: Line, yes: bool) -> Result<Job, UsageError> {
    if yes {
        line.options.push(TypedOption::flag("--yes"));
    }
    one_seed(&mut line);
    let job = job(NAME, line.words())?;
    if job.plans.len() == 1 {
        return Ok(job);
    }
    Err(UsageError(format!("impact works with a single test, and these are {}", job.plans.len())))
}

/// A steady load with acts beside it.
fn of_acts(options: &mut Options, mut line: Line) -> Result<(Job, ImpactOf), UsageError> {
    let within = |option, time: Option<Duration>, default, most| {
        let time = time.unwrap_or(Duration::from_secs(default));
        seconds_in(option, time, 0.5..=most).map_err(UsageError)
    };
    let rest_s = within("--rest", options.rest, 5, 3600.0)?;
    let timeout_s = within("--act-timeout", options.act_timeout, 60, 86_400.0)?;
    // Reads of the keys of a cache, all of which are there.
    let names_a_test = names_test(&line);
    let cache = [("-t", "get"), ("-r", "100k"), ("-d", "100")];
    let cache = if names_a_test { &[][..] } else { &cache };
    let usual = [("--rps", RATE), ("--on-error", "count"), ("--reconnect", "yes")];
    usual.iter().chain(cache).for_each(|(name, value)| line.set_default(name, *value));
    if !names_a_test && !line.has("--fill") {
        line.options.push(TypedOption::flag("--fill"));
    }
    line.options.push(TypedOption::new("--duration", "1h"));
    let job = one_plan(line, options.yes)?;
    let slo = options.slo.take();
    slo.iter().try_for_each(|slo| slo.check_plans(&job.plans)).map_err(UsageError)?;
    let family =
        if job.plans[0].protocol.is_memcache() { Family::Memcached } else { Family::Redis };
    let named = std::mem::take(&mut options.of);
    let acts = acts::chosen(acts::read(options.acts.as_deref())?, &named, family)?;
    let acts = acts.into_iter().map(|act| acts::staged(act, &job.plans[0]));
    let acts = acts.collect::<Result<Vec<_>, _>>()?;
    let (named, yes) = (!named.is_empty(), options.yes);
    Ok((job, ImpactOf::Acts(ActsJob { acts, named, rest_s, timeout_s, slo, yes })))
}

/// A mix, each kind of which is left out in turn.
fn of_mix(options: &mut Options, mut line: Line) -> Result<(Job, ImpactOf), UsageError> {
    if line.has("--rps") {
        let text = "--rps: rates follow from the capacity that is measured; see --at";
        return Err(UsageError(text.to_owned()));
    }
    if options.at.is_empty() {
        options.at = vec![50.0, 70.0, 85.0];
    }
    if let Some(load) = options.at.iter().find(|load| !(LOAD_MIN..=LOAD_MAX).contains(*load)) {
        return Err(UsageError(format!(
            "--at {load}: must be between {LOAD_MIN} and {LOAD_MAX} % of the capacity"
        )));
    }
    let duration = options.duration.unwrap_or(Duration::from_secs(1));
    let seconds = seconds_in("--duration", duration, 0.05..=3600.0).map_err(UsageError)?;
    line.options.push(TypedOption::new("--rps", RATE));
    line.options.push(TypedOption::new("--duration", format!("{seconds:.3}")));
    let job = one_plan(line, options.yes)?;
    let operations = job.plans[0].mix.as_ref().map_or(&[][..], |mix| &mix.operations);
    let refused = match operations.len() {
        0 | 1 => Some(
            "--of mix requires a mix of at least two kinds, such as: --mix -r 10k -- 9 get k:__key__ ';' 1 hgetall \
             h:__key__, or a --workload with operations"
                .to_owned(),
        ),
        count if count > KINDS_MAX => {
            Some(format!("--of mix takes at most {KINDS_MAX} kinds, and these are {count}"))
        }
        _ if job.plans[0].mix.as_ref().is_some_and(|mix| mix.pick != Pick::Drawn) => Some(
            "--of mix requires operations that are drawn by weight (order = \"drawn\"): those in turns cannot be left \
             out"
            .to_owned(),
        ),
        _ => None,
    };
    if let Some(why) = refused {
        return Err(UsageError(why));
    }
    let loads = options.at.iter().map(|percent| percent / 100.0).collect();
    let (blocks, count_disturbed) = (options.blocks.unwrap_or(5), options.count_disturbed);
    Ok((job, ImpactOf::Mix(MixJob { loads, blocks, seconds, count_disturbed })))
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
    fn what_makes_no_sense_is_refused_with_what_to_do() {
        for (line, part) in [
            ("--of mix -t get,set", "single test"),
            ("--of mix -t get", "at least two kinds"),
            ("--of mix --mix -- 1 get a", "at least two kinds"),
            ("--of mix --mix --rps 5 -- 1 get a ';' 1 get b", "--rps: rates follow"),
            ("--of mix --mix -n 5 -- 1 get a ';' 1 get b", "-n: impact"),
            ("--of mix --mix --at 120 -- 1 get a ';' 1 get b", "--at 120"),
            ("--of mix --mix --set order=turns -- 1 get a ';' 1 get b", "drawn by weight"),
            ("--of mix --rest 1s --mix -- 1 get a ';' 1 get b", "--rest is an option of acts"),
            ("--of keys --duration 1s", "add --of mix"),
            ("--of bgsav", "bgsave"),
        ] {
            let Err(UsageError(why)) = parsed(line) else { panic!("{line}") };
            assert!(why.contains(part), "{line}: {why}");
        }
    }

    #[test]
    fn loads_are_shares_of_the_capacity() {
        let line = "--of mix --mix --arrivals poisson --at 50,85 -- 3 get a ';' 1 hgetall b";
        let words = shell_words::split(line).unwrap().into_iter().map(OsString::from).collect();
        let read = |mut options: Options, line: Line, _: String| {
            let (job, ImpactOf::Mix(mix)) = of_mix(&mut options, line)? else { panic!() };
            assert_eq!((mix.loads, mix.blocks, mix.seconds), (vec![0.5, 0.85], 5, 1.0));
            assert_eq!(job.plans[0].mix.as_ref().unwrap().operations.len(), 2);
            Ok(Intent::Say(String::new()))
        };
        assert!(with_split(words, read).is_ok());
    }
}
