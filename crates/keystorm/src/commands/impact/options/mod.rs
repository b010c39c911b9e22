//! The command line of `keystorm impact`: acts beside a steady load, or the kinds of a mix.

mod acts;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use cli::experiment::{ExperimentOptions, one_seed};
use cli::job::{End, Intent, Job, UsageError};
use cli::run::ParsedArgs;
use lab::impact::{Act, Family};
use naming::{ON_ERROR, RECONNECT, REQUESTS};
use report::slo::Slo;
use spec::values::{OnErrorArg, Seconds, YesNo, count_in, percent, seconds, seconds_in};
use spec::{KeyRange, Rate, Size};
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
pub(super) struct Options {
    /// Price only these acts, in the order of their file (bgsave,del,script), or the kinds of the load itself (mix)
    /// [default: all acts]
    #[arg(long, value_name = "LIST", help_heading = "Operations", value_delimiter = ',')]
    pub(super) of: Vec<String>,
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
    pub(super) slo: Option<Slo>,
    /// Go ahead with a server that keystorm did not start
    #[arg(long, help_heading = "Acts")]
    pub(super) yes: bool,
    /// Loads of a mix, in percent of the capacity [default: 50,70,85]
    #[arg(long, value_name = "LIST", help_heading = "Kinds of a mix", value_delimiter = ',',
          value_parser = percent)]
    pub(super) at: Vec<f64>,
    /// Number of runs of each segment; more make intervals narrower [default: 5]
    #[arg(long, value_name = "TIMES", help_heading = "Kinds of a mix",
          value_parser = count_in(2..=1000))]
    blocks: Option<u32>,
    /// Length of each segment; up to ten times longer if a kind is too rare for a p99 [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Kinds of a mix", value_parser = seconds)]
    duration: Option<Duration>,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
    /// The acts that are played, in their order.
    #[arg(skip)]
    pub(super) staged: Vec<StagedAct>,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../../help/impact.txt").trim_ascii_end();

const NAME: &str = "keystorm impact";
/// The word that asks for the kinds of the load itself.
const MIX: &str = "mix";
/// Requests per second beside acts where the line does not say; of a mix, each segment replaces it: arrivals belong
/// to a schedule.
const RATE: f64 = 1_000.0;
/// Time after which a steady load ends by itself.
const LENGTH_MAX: Duration = Duration::from_secs(3600);
/// Meaningful loads in per cent of the capacity: below, no request waits; above, waiting has no end.
const LOAD_MIN: f64 = 5.0;
const LOAD_MAX: f64 = 99.0;
/// More kinds would take hours.
const KINDS_MAX: usize = 12;

/// An act, and the plan of the load that starts it, if one does.
#[derive(Debug)]
pub(super) struct StagedAct {
    pub(super) act: Act,
    pub(super) load: Option<Plan>,
}

/// Returns what the options mean.
pub(super) fn intent(
    mut options: Options,
    mut load: ParsedArgs,
    command_line: String,
    carry_out: fn(&Options, &ParsedArgs, &Job) -> anyhow::Result<End>,
) -> Result<Intent, UsageError> {
    if options.print_acts {
        return Ok(Intent::Say(acts::ACTS.to_owned()));
    }
    options.output.resolve(command_line)?;
    let is_mix = options.is_mix();
    let others = if is_mix {
        vec![
            ("--acts", options.acts.is_some()),
            ("--rest", options.rest.is_some()),
            ("--act-timeout", options.act_timeout.is_some()),
            ("--slo", options.slo.is_some()),
        ]
    } else {
        vec![
            ("--duration", options.duration.is_some()),
            ("--at", !options.at.is_empty()),
            ("--blocks", options.blocks.is_some()),
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
    if load.has(REQUESTS) {
        return Err(UsageError("-n: impact runs for a time; see --rest and --duration".to_owned()));
    }
    let job =
        if is_mix { of_mix(&mut options, &mut load)? } else { of_acts(&mut options, &mut load)? };
    if options.output.print_plan {
        return Intent::plans(&job.plans);
    }
    Ok(Intent::carry(move || carry_out(&options, &load, &job)))
}

impl Options {
    /// Returns whether the kinds of the load itself are priced.
    pub(super) fn is_mix(&self) -> bool {
        self.of == [MIX]
    }

    /// Returns the rest before each act, and after the last.
    pub(super) fn rest(&self) -> Duration {
        self.rest.unwrap_or(Duration::from_secs(5))
    }

    /// Returns the time after which an act is given up on.
    pub(super) fn act_timeout(&self) -> Duration {
        self.act_timeout.unwrap_or(Duration::from_secs(60))
    }

    /// Returns the loads of a mix, as shares of the capacity: 0.5 for half of it.
    pub(super) fn loads(&self) -> Vec<f64> {
        self.at.iter().map(|percent| percent / 100.0).collect()
    }

    /// Returns how often each segment is run.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks.unwrap_or(5)
    }

    /// Returns the seconds of a segment.
    pub(super) fn seconds(&self) -> f64 {
        self.duration.unwrap_or(Duration::from_secs(1)).as_secs_f64()
    }
}

/// The job of a load, which is to be one plan.
fn one_plan(load: &mut ParsedArgs, yes: bool) -> Result<Job, UsageError> {
    load.complete(move |spec| spec.yes |= yes);
    one_seed([&mut *load]);
    let job = load.job(|_| ())?;
    if job.plans.len() == 1 {
        return Ok(job);
    }
    Err(UsageError(format!("impact works with a single test, and these are {}", job.plans.len())))
}

/// A steady load with acts beside it.
fn of_acts(options: &mut Options, load: &mut ParsedArgs) -> Result<Job, UsageError> {
    seconds_in("--rest", options.rest(), 0.5..=3600.0)?;
    seconds_in("--act-timeout", options.act_timeout(), 0.5..=86_400.0)?;
    // Reads of the keys of a cache, all of which are there.
    if !load.names_test() {
        load.complete(|spec| {
            (spec.data.tests, spec.data.fill) = (Some("get".to_owned()), true);
            spec.data.key_range.get_or_insert(KeyRange(100_000));
            spec.data.size.get_or_insert(Size::Fixed(100));
        });
    }
    load.set_default(naming::RATE, |spec| spec.load.rate = Some(Rate::constant(RATE)));
    load.set_default(ON_ERROR, |spec| spec.recording.on_error = Some(OnErrorArg::Count));
    load.set_default(RECONNECT, |spec| spec.load.reconnect = Some(YesNo::Yes));
    load.complete(|spec| spec.load.end_after(None, Some(Seconds(LENGTH_MAX))));
    let job = one_plan(load, options.yes)?;
    options.slo.iter().try_for_each(|slo| slo.check_plans(&job.plans))?;
    let family =
        if job.plans[0].protocol.is_memcache() { Family::Memcached } else { Family::Redis };
    let acts = acts::chosen(acts::read(options.acts.as_deref())?, &options.of, family)?;
    let staged = acts.into_iter().map(|act| acts::staged(act, load.asked()));
    options.staged = staged.collect::<Result<_, _>>()?;
    Ok(job)
}

/// A mix, each kind of which is left out in turn.
fn of_mix(options: &mut Options, load: &mut ParsedArgs) -> Result<Job, UsageError> {
    if load.has(naming::RATE) {
        let rate = naming::RATE;
        let text = format!("{rate}: rates follow from the capacity that is measured; see --at");
        return Err(UsageError(text));
    }
    if options.at.is_empty() {
        options.at = vec![50.0, 70.0, 85.0];
    }
    if let Some(load) = options.at.iter().find(|load| !(LOAD_MIN..=LOAD_MAX).contains(*load)) {
        return Err(UsageError(format!(
            "--at {load}: must be between {LOAD_MIN} and {LOAD_MAX} % of the capacity"
        )));
    }
    let seconds = options.seconds();
    seconds_in("--duration", Duration::from_secs_f64(seconds), 0.05..=3600.0)?;
    load.complete(move |spec| {
        spec.load.rate = Some(Rate::constant(RATE));
        let thousandths = Duration::from_millis((seconds * 1000.0).round() as u64);
        spec.load.end_after(None, Some(Seconds(thousandths)));
    });
    let job = one_plan(load, options.yes)?;
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
    Ok(job)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn parsed(line: &str) -> Result<Intent, UsageError> {
        let words = shell_words::split(line).unwrap().into_iter().map(OsString::from);
        (super::super::FRONT.parse)(words.collect())
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
        let read = |mut options: Options, mut load: ParsedArgs, _: String| {
            let job = of_mix(&mut options, &mut load)?;
            let (loads, blocks) = (options.loads(), options.blocks());
            assert_eq!((loads, blocks, options.seconds()), (vec![0.5, 0.85], 5, 1.0));
            assert_eq!(job.plans[0].mix.as_ref().unwrap().operations.len(), 2);
            Ok(Intent::Say(String::new()))
        };
        assert!(cli::experiment::with_load(words, read).is_ok());
    }
}
