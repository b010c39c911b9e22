//! The command line of `keystorm suite`: specs, server and earlier results for comparison.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use cli::compare::metric_of;
use cli::experiment::{ExperimentOptions, LOAD_OPTIONS, refuse_address};
use cli::job::{End, Intent, Job, UsageError};
use cli::run::ParsedArgs;
use lab::suite::{Choice, Pattern, priorities};
use report::Metric;
use spec::values::{count_in, seconds, seconds_in};

/// Measures a server by many short specs: its commands by group, encodings, sizes of values, expiry,
/// scripts, transactions. Prints a row for each: rate, latency, CPU per request of server and client,
/// bytes per key, and what limited it.
///
/// DIR and FILE are specs in the layout of redis-benchmarks-specification, as they are; without them
/// keystorm's own suite is run, in under five minutes. Data that several specs only read is loaded once.
/// What a server lacks is reported as not supported.
///
/// An existing server has to be empty; its keys are removed and its settings restored afterwards. Takes the
/// options of a run that name the server: -h, -p, -s, -u, -a, --cluster, --spawn and the like (see keystorm
/// --help).
#[derive(Parser)]
#[command(
    name = "keystorm suite",
    override_usage = "keystorm suite [OPTIONS] [OPTIONS OF THE SERVER] [DIR|FILE...]",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Only specs of these groups of commands: hash,sorted-set
    #[arg(long, value_name = "LIST", help_heading = "Specs", value_delimiter = ',')]
    groups: Vec<String>,
    /// Only specs that test one of these commands: hget,zadd
    #[arg(long, value_name = "LIST", help_heading = "Specs", value_delimiter = ',')]
    commands: Vec<String>,
    /// Only specs of this priority, 1 being the highest: 1, or 1..40
    #[arg(long, value_name = "RANGE", help_heading = "Specs")]
    priority: Option<String>,
    /// Only specs whose names match this regular expression
    #[arg(long = "match", value_name = "REGEX", help_heading = "Specs")]
    pattern: Option<String>,
    /// Only the cross-section of a directory (its core-specs.json), or keystorm's own specs of priority 1
    #[arg(long, help_heading = "Specs")]
    core: bool,
    /// All specs of a directory that has a core-specs.json, instead of that cross-section
    #[arg(long, help_heading = "Specs", conflicts_with = "core")]
    all: bool,
    /// List the specs instead of running them
    #[arg(long, help_heading = "Specs")]
    pub(super) list: bool,
    /// Length of each run, instead of the spec's own --test-time [default: 10s; 3s for keystorm's own specs]
    #[arg(long, value_name = "TIME", help_heading = "Load", value_parser = seconds)]
    pub(super) time: Option<Duration>,
    /// Run all specs this often, each time on a fresh start of the server; a comparison needs 3 or more
    #[arg(long, value_name = "TIMES", help_heading = "Load", default_value = "1",
          value_parser = count_in(1..=1000))]
    pub(super) repeat: u32,
    /// Compare with a suite saved by --json: what changed, after Holm's correction for many specs
    #[arg(long, value_name = "FILE", help_heading = "Comparison")]
    pub(super) against: Option<PathBuf>,
    /// Exit with code 3 if a spec is surely worse by more than this, with 0 only if that is excluded for every
    /// spec, otherwise with 4
    #[arg(long, value_name = "PERCENT", help_heading = "Comparison", requires = "against")]
    fail_on_regression: Option<f64>,
    /// The figure by which suites are compared: throughput, or server-cpu (server CPU per request)
    #[arg(long, value_name = "NAME", help_heading = "Comparison", requires = "against",
          value_parser = metric_of(&[Metric::Throughput, Metric::ServerCpu]), default_value = "throughput")]
    pub(super) metric: Metric,
    /// Write memtier_benchmark's JSON of each spec to this directory, for tools that read it
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub(super) memtier_json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
    /// Directories and files of specs; none for keystorm's own.
    #[arg(skip)]
    pub(super) paths: Vec<PathBuf>,
    /// Choice of the specs that are run.
    #[arg(skip)]
    pub(super) choice: Choice,
    /// A job that names the server.
    #[arg(skip)]
    pub(super) first: Option<Job>,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/suite.txt").trim_ascii_end();

const NAME: &str = "keystorm suite";
const SECONDS_MAX: f64 = 86_400.0;

/// Returns what the options mean.
pub(super) fn intent(
    mut options: Options,
    words: Vec<OsString>,
    load: &ParsedArgs,
    shown: String,
    carry_out: fn(&Options) -> anyhow::Result<End>,
) -> Result<Intent, UsageError> {
    if let Some(option) = LOAD_OPTIONS.iter().find(|option| load.has(**option)) {
        return Err(UsageError(format!("{option}: the specs decide this; --time says how long")));
    }
    options.choice = choice(&options)?;
    options.output.resolve(shown)?;
    if options.output.print_plan {
        return Err(UsageError("--print-plan: use --list, which lists the specs".to_owned()));
    }
    if let Some(time) = options.time {
        seconds_in("--time", time, 0.05..=SECONDS_MAX)?;
    }
    if options.fail_on_regression.is_some_and(|percent| !(0.0..100.0).contains(&percent)) {
        return Err(UsageError("--fail-on-regression: from 0 up to 100 per cent".to_owned()));
    }
    options.paths = words.into_iter().map(PathBuf::from).collect();
    for path in options.paths.iter().filter(|path| !path.exists()) {
        refuse_address(&path.to_string_lossy(), NAME)?;
    }
    let first = load.job(|_| ())?;
    let plan = first.plans.first();
    if plan.is_some_and(|plan| plan.protocol.is_memcache()) {
        return Err(UsageError(
            "specs are commands of Redis; memcached has none of them".to_owned(),
        ));
    }
    options.first = Some(first);
    Ok(Intent::carry(move || carry_out(&options)))
}

impl Options {
    /// Returns whether only a cross-section is run; `None` for the default of the directory.
    pub(super) fn core(&self) -> Option<bool> {
        (self.core || self.all).then_some(self.core)
    }

    /// Returns the share by which a spec may be worse.
    pub(super) fn threshold(&self) -> Option<f64> {
        self.fail_on_regression.map(|percent| percent / 100.0)
    }
}

fn choice(options: &Options) -> Result<Choice, UsageError> {
    let priority = options.priority.as_deref().map(priorities).transpose();
    let priority = priority.map_err(|why| UsageError(format!("--priority {why}")))?;
    let name = options.pattern.as_deref().map(Pattern::new).transpose();
    let name = name.map_err(|why| UsageError(format!("--match: {why}")))?;
    Ok(Choice {
        groups: options.groups.clone(),
        commands: options.commands.clone(),
        priority,
        name,
    })
}
