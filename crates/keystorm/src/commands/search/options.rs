//! The command line of `keystorm search`: a run's, and the target to keep.

use std::time::Duration;

use clap::Parser;
use cli::experiment::{ExperimentOptions, one_seed};
use cli::job::{End, Intent, Job, UsageError};
use cli::run::ParsedArgs;
use lab::search::Settings;
use naming::{ON_ERROR, RATE, REQUESTS};
use report::slo::Slo;
use spec::values::{OnErrorArg, Seconds, count, count_in, percent, seconds, seconds_in};
use spec::{LoadSpec, Rate};

/// Finds the highest rate that keeps a latency target such as p99<1ms. Sends requests on a schedule
/// that slow replies do not delay, doubles the rate until the target is missed, then halves the gap
/// until it is small enough. Latency here is response time, counted from when each request was due.
/// A rate is kept or missed if all requests of its trials say so with 95 % certainty; otherwise it is
/// undecided. Other programs and the hypervisor make nothing faster, so a target kept beside them is
/// kept; a miss that their delays can explain is not called missed. Search says which rates are kept,
/// which are missed, and what decides between them. Finally, it measures latency at 50 to 110 % of the
/// rate found. Takes every option of a run (see keystorm --help) except -n and --rps, for a single test.
#[derive(Debug, Parser)]
#[command(
    next_help_heading = "Target",
    name = "keystorm search",
    override_usage = "keystorm search --slo TARGET [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Target: p50, p95, p99, p99.9 (or any), mean or max below a time in us, ms or s; errors below a
    /// share. Separate several with commas: 'p99<1ms,p99.9<5ms,errors<0.1%'
    #[arg(long, value_name = "TARGET", value_parser = Slo::parse)]
    pub(super) slo: Slo,
    /// First rate to try, in requests per second [default: half the throughput of a closed loop]
    #[arg(long, value_name = "RATE", value_parser = count)]
    pub(super) start: Option<u64>,
    /// Highest rate to try, in requests per second
    #[arg(long, value_name = "RATE", value_parser = count, default_value = "1G")]
    most: u64,
    /// Stop when the gap to a failing rate is this small, in percent
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    within: f64,
    /// Maximum number of trials per rate; a clear rate needs fewer. Trials that noise or the client itself
    /// can have made miss the target are repeated and not counted
    #[arg(long, value_name = "TIMES", default_value = "5", value_parser = count_in(1..=99))]
    repeat: u32,
    /// Time limit of the search, without the latency curve; then it answers with what it knows
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = seconds)]
    budget: Duration,
    /// Length of each trial; up to ten times longer at rates too low for the target's percentiles
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = seconds)]
    pub(super) duration: Duration,
    /// Skip the latency curve at the end
    #[arg(long)]
    pub(super) no_curve: bool,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/search.txt").trim_ascii_end();

/// Test that is measured unless the command line says.
const TEST: &str = "get";
const SECONDS_MAX: f64 = 86_400.0;

/// A search: where it begins, how close it comes, and the load, at any rate.
pub(super) struct SearchJob {
    pub(super) options: Options,
    pub(super) settings: Settings,
    pub(super) load: ParsedArgs,
}

impl SearchJob {
    /// The most by which a trial may be longer than others, so that its percentiles mean something.
    pub(super) const LONGER_MAX: f64 = 10.0;

    /// Returns the seconds of a trial.
    pub(super) fn seconds(&self) -> f64 {
        self.options.duration.as_secs_f64()
    }

    /// The closed loop that a search begins with, of a trial's length.
    ///
    /// # Errors
    /// Returns an error if the load makes no sense.
    pub(super) fn closed_loop(&self) -> Result<Job, UsageError> {
        // Nothing arrives at a closed loop: it sends when it has an answer.
        self.load.job(|spec| {
            (spec.load.rate, spec.load.arrivals) = (None, None);
            lasting(spec, self.seconds());
        })
    }

    /// A trial at a rate, per second. It lasts long enough for the percentiles of the target.
    ///
    /// # Errors
    /// Returns an error if the load makes no sense.
    pub(super) fn trial(&self, rate_per_s: f64) -> Result<Job, UsageError> {
        let needed_s = self.options.slo.requests_min() as f64 / rate_per_s;
        self.load.job(|spec| {
            spec.load.rate = Some(Rate::constant(thousandths(rate_per_s)));
            lasting(spec, needed_s.clamp(self.seconds(), self.seconds() * Self::LONGER_MAX));
        })
    }
}

fn lasting(spec: &mut LoadSpec, seconds: f64) {
    spec.load.end_after(None, Some(Seconds(Duration::from_secs_f64(thousandths(seconds)))));
}

/// A number with three decimals.
fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Returns what the options mean.
pub(super) fn intent(
    mut options: Options,
    mut load: ParsedArgs,
    command_line: String,
    carry_out: fn(&SearchJob) -> anyhow::Result<End>,
) -> Result<Intent, UsageError> {
    options.output.resolve(command_line)?;
    let Options { slo, start, most, within, repeat, budget, duration, .. } = &options;
    let (start, most, within) = (*start, *most, *within);
    for (option, why) in [
        (REQUESTS, "trials run for a time; see --duration"),
        (RATE, "search finds the rate; see --start and --most"),
    ] {
        if load.has(option) {
            return Err(UsageError(format!("{option}: {why}")));
        }
    }
    let duration = seconds_in("--duration", *duration, 0.01..=SECONDS_MAX);
    let duration = duration.map_err(UsageError)?;
    let budget_s = seconds_in("--budget", *budget, 1.0..=SECONDS_MAX).map_err(UsageError)?;
    if !(0.1..=50.0).contains(&within) {
        return Err(UsageError(format!("--within {within}: must be between 0.1 and 50 %")));
    }
    if most == 0 || start == Some(0) || start.is_some_and(|start| start > most) {
        let text = "--start, --most: rates must be above 0, and --start cannot exceed --most";
        return Err(UsageError(text.to_owned()));
    }
    load.default_tests(TEST);
    one_seed([&mut load]);
    // A target for errors is one for a run that goes on in spite of them.
    if slo.bounds_errors() {
        load.set_default(ON_ERROR, |spec| spec.recording.on_error = Some(OnErrorArg::Count));
    }
    let default = Settings::default();
    // Below that the longest trial has too few requests to tell.
    let least_per_s = slo.requests_min() as f64 / (duration * SearchJob::LONGER_MAX);
    let settings = Settings {
        least_per_s: start
            .map_or(least_per_s, |start| least_per_s.min(start as f64))
            .max(1.0)
            .min(most as f64),
        start_per_s: start.map_or(default.start_per_s, |start| start as f64),
        within: within / 100.0,
        repeats: *repeat,
        most_per_s: (most as f64).min(default.most_per_s),
        budget_s,
    };
    let job = SearchJob { options, settings, load };
    // A setting that no trial can have is an error before the first trial.
    let first = job.trial(job.settings.start_per_s)?;
    if first.plans.len() != 1 {
        let text = format!(
            "search works with a single test, and these are {}; name one with -t",
            first.plans.len()
        );
        return Err(UsageError(text));
    }
    job.options.slo.check_plans(&first.plans).map_err(UsageError)?;
    if job.options.output.print_plan {
        return Intent::plans(&first.plans);
    }
    Ok(Intent::carry(move || carry_out(&job)))
}
